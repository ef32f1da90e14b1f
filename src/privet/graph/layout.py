"""Where the nodes of a picture go: layers along the arrows, few crossings, straight long edges.

The method of Sugiyama, Tagawa and Toda (1981): rank the nodes, put a bend point into every layer
that an edge passes, order each layer by the mean place of the neighbours, then choose the
coordinates by least squares. No chance is involved: the same graph gives the same picture.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from privet.arrays import Floats

BOX_HEIGHT = 30.0
LAYER_STEP = 92.0
NODE_GAP = 28.0
BEND_WIDTH = 4.0
SWEEPS = 8  # in vain, before an order is given up
STARTS = 12
WORK = 30_000  # boxes and bends in all sweeps: large pictures have fewer of these
SETTLINGS = 12
SHELF_RATIO = 1.6

Point = tuple[float, float]
Arrow = tuple[int, int]
Neighbours = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Centres of the nodes, bend points of the edges from top to bottom, and the whole size."""

    centres: dict[int, Point]
    bends: dict[Arrow, list[Point]]
    width: float
    height: float


def place(
    widths: Sequence[float], arrows: Sequence[Arrow], tiers: Sequence[Sequence[int]] = ()
) -> Layout:
    """Lay out nodes of these widths; the arrows (upper, lower) must run in no circle, nor from a
    tier to one before it. The nodes of a tier lie above those of the next."""
    if tiers:
        return _Part(list(range(len(widths))), widths, list(arrows), tiers).layout()
    parts = []
    for members in _components(len(widths), arrows):
        inside = [arrow for arrow in arrows if arrow[0] in members]
        parts.append(_Part(sorted(members), widths, inside).layout())
    return _shelve(sorted(parts, key=lambda part: -len(part.centres)))


def _components(count: int, arrows: Sequence[Arrow]) -> list[set[int]]:
    near: Neighbours = [[] for _ in range(count)]
    for a, b in arrows:
        near[a].append(b)
        near[b].append(a)
    found: list[set[int]] = []
    seen: set[int] = set()
    for start in range(count):
        if start not in seen:
            part, todo = {start}, [start]
            while todo:
                for node in near[todo.pop()]:
                    if node not in part:
                        part.add(node)
                        todo.append(node)
            seen |= part
            found.append(part)
    return found


def _shelve(parts: list[Layout]) -> Layout:
    """Put the parts side by side on shelves of about the same width."""
    area = sum((part.width + NODE_GAP) * (part.height + NODE_GAP) for part in parts)
    limit = max([(area * SHELF_RATIO) ** 0.5, *(part.width for part in parts)], default=0.0)
    centres: dict[int, Point] = {}
    bends: dict[Arrow, list[Point]] = {}
    x = y = shelf = width = 0.0
    for part in parts:
        if x and x + part.width > limit:
            x, y, shelf = 0.0, y + shelf + NODE_GAP, 0.0
        centres |= {node: (x + px, y + py) for node, (px, py) in part.centres.items()}
        bends |= {arrow: [(x + px, y + py) for px, py in at] for arrow, at in part.bends.items()}
        shelf, width = max(shelf, part.height), max(width, x + part.width)
        x += part.width + NODE_GAP
    return Layout(centres=centres, bends=bends, width=width, height=y + shelf)


class _Part:
    """One connected part; nodes get new numbers 0, 1, …, and bend points follow them."""

    def __init__(
        self,
        members: list[int],
        widths: Sequence[float],
        arrows: list[Arrow],
        tiers: Sequence[Sequence[int]] = (),
    ) -> None:
        self.members = members
        self.arrows = arrows
        at = {node: i for i, node in enumerate(members)}
        inside = [(at[a], at[b]) for a, b in arrows]
        self.rank = _ranks(len(members), inside, tiers)
        self.width = [widths[node] for node in members]
        self.above: Neighbours = [[] for _ in members]
        self.below: Neighbours = [[] for _ in members]
        self.chains = [self._thread(a, b) for a, b in inside]
        self.layers = self._first_order()

    def _thread(self, a: int, b: int) -> list[int]:
        """Join a and b by bend points, one in every layer between them."""
        chain = list(range(len(self.rank), len(self.rank) + self.rank[b] - self.rank[a] - 1))
        for step, _bend in enumerate(chain, start=1):
            self.rank.append(self.rank[a] + step)
            self.width.append(BEND_WIDTH)
            self.above.append([])
            self.below.append([])
        for upper, lower in zip([a, *chain], [*chain, b], strict=True):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        return chain

    def _first_order(self) -> list[list[int]]:
        """Depth first, so that near nodes start near each other."""
        layers: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]
        seen: set[int] = set()
        for first in range(len(self.members)):
            todo = [first]
            while todo:
                node = todo.pop()
                if node not in seen:
                    seen.add(node)
                    layers[self.rank[node]].append(node)
                    todo += reversed(self.above[node] + self.below[node])
        return layers

    def layout(self) -> Layout:
        self._untangle()
        x = self._coordinates()
        left = min(x[v] - self.width[v] / 2 for v in range(len(x)))
        right = max(x[v] + self.width[v] / 2 for v in range(len(x)))
        spot = [(x[v] - left, BOX_HEIGHT / 2 + LAYER_STEP * self.rank[v]) for v in range(len(x))]
        return Layout(
            centres={node: spot[i] for i, node in enumerate(self.members)},
            bends={
                arrow: [spot[v] for v in chain]
                for arrow, chain in zip(self.arrows, self.chains, strict=True)
            },
            width=right - left,
            height=BOX_HEIGHT + LAYER_STEP * max(self.rank),
        )

    def _untangle(self) -> None:
        """Sweep down and up from several orders, and keep the one with the fewest crossings."""
        best, fewest = self.layers, self._crossings(self.layers)
        left = max(2, WORK // len(self.rank))
        for start in range(STARTS):
            layers = self._start(start)
            least, patience = self._crossings(layers), SWEEPS
            while patience and fewest and left:
                left -= 1
                if patience > SWEEPS // 2:  # later ones sift alone
                    self._order(layers, down=patience % 2 == 0)
                for at in range(len(layers)):
                    self._sift(layers, at)
                crossings = self._crossings(layers)
                patience = SWEEPS if crossings < least else patience - 1
                least = min(least, crossings)
                if crossings < fewest:
                    best, fewest = [list(layer) for layer in layers], crossings
        self.layers = best

    def _start(self, number: int) -> list[list[int]]:
        """The first order, then shuffled ones, always the same."""
        rng = Random(number)
        return [rng.sample(layer, len(layer)) if number else list(layer) for layer in self.layers]

    def _order(self, layers: list[list[int]], down: bool) -> None:
        """Sweep once over the layers: each is ordered by the one beside it."""
        near = self.above if down else self.below
        for at in range(1, len(layers)) if down else reversed(range(len(layers) - 1)):
            _sort(layers[at], layers[at - 1 if down else at + 1], near)

    def _sift(self, layers: list[list[int]], at: int) -> None:
        """Move each node of a layer to the place in it where it crosses least."""
        layer = layers[at]
        crossed = np.zeros((len(layer), len(layer)))
        for beside, near in ((at - 1, self.above), (at + 1, self.below)):
            if 0 <= beside < len(layers):
                crossed += _crossed(layer, layers[beside], near)
        order = list(range(len(layer)))
        for node in range(len(layer)):
            rest = [other for other in order if other != node]
            steps = crossed[rest, node] - crossed[node, rest]
            order = rest
            order.insert(int(np.argmin(np.concatenate([[0.0], np.cumsum(steps)]))), node)
        layers[at] = [layer[i] for i in order]

    def _crossings(self, layers: list[list[int]]) -> int:
        total = 0
        for upper, lower in pairwise(layers):
            place = {node: i for i, node in enumerate(lower)}
            ends: list[int] = []
            for node in upper:
                targets = [place[other] for other in self.below[node]]
                total += sum(len(ends) - bisect_right(ends, end) for end in targets)
                for end in targets:
                    insort(ends, end)
        return total

    def _coordinates(self) -> list[float]:
        """Each layer in turn goes as near to its neighbours as the order and widths allow."""
        x = [0.0] * len(self.rank)
        for layer in self.layers:
            self._settle(layer, [0.0] * len(layer), [1.0] * len(layer), x)
        sides = [self.above, self.below] * SETTLINGS
        for side in sides:
            down = side is self.above
            for layer in self.layers if down else reversed(self.layers):
                self._pull(layer, [side], x)
        for layer in self.layers:
            self._pull(layer, [self.above, self.below], x)
        return x

    def _pull(self, layer: list[int], sides: list[Neighbours], x: list[float]) -> None:
        wanted, weights = [], []
        for node in layer:
            pulls = [(x[o], self._stiffness(node, o)) for side in sides for o in side[node]]
            total = sum(weight for _at, weight in pulls)
            wanted.append(sum(at * w for at, w in pulls) / total if pulls else x[node])
            weights.append(total if pulls else 0.1)
        self._settle(layer, wanted, weights, x)

    def _stiffness(self, a: int, b: int) -> float:
        """Long edges are pulled straight harder than short ones."""
        bends = (a >= len(self.members)) + (b >= len(self.members))
        return (1.0, 2.0, 8.0)[bends]

    def _settle(
        self, layer: list[int], wanted: list[float], weights: list[float], x: list[float]
    ) -> None:
        """Least squares from the wanted places, in order and without overlap."""
        offsets = [0.0]
        for left, right in pairwise(layer):
            apart = (self.width[left] + self.width[right]) / 2 + NODE_GAP
            offsets.append(offsets[-1] + apart)
        free = [want - offset for want, offset in zip(wanted, offsets, strict=True)]
        for node, at, offset in zip(layer, _increasing(free, weights), offsets, strict=True):
            x[node] = at + offset


def _ranks(count: int, arrows: list[Arrow], tiers: Sequence[Sequence[int]]) -> list[int]:
    """The layers that make the edges shortest in sum, each arrow going down by at least one, and
    each tier by at least one from the tier before it.

    A linear programme whose corners are whole numbers [Gansner et al. 1993, section 2]. Between
    two tiers there is a floor, below the one and above the other.
    """
    if not arrows and not tiers:
        return [0] * count
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    floors = [
        (node, floor) if tier == at else (floor, node)
        for at, floor in enumerate(range(count, count + len(tiers) - 1))
        for tier in (at, at + 1)
        for node in tiers[tier]
    ]
    steps = [(a, b, 1.0) for a, b in arrows] + [(a, b, float(b >= count)) for a, b in floors]
    falls = np.zeros((len(steps), count + max(len(tiers) - 1, 0)))
    for row, (a, b, _) in enumerate(steps):
        falls[row, a], falls[row, b] = -1.0, 1.0
    found = linprog(
        falls[: len(arrows)].sum(axis=0) + 1e-3,
        A_ub=csr_array(-falls),
        b_ub=-np.array([least for _, _, least in steps]),
        bounds=(0, falls.shape[1]),
        method="highs-ds",
    )
    ranks = [round(rank) for rank in found.x[:count]]
    return [rank - min(ranks) for rank in ranks]


def _sort(layer: list[int], beside: list[int], near: Neighbours) -> None:
    """Order a layer by the mean place of the neighbours in the layer beside it."""
    place = {node: i for i, node in enumerate(beside)}
    here = {node: i for i, node in enumerate(layer)}
    scale = len(beside) / max(len(layer), 1)

    def mean(node: int) -> float:
        at = [place[other] for other in near[node]]
        return sum(at) / len(at) if at else here[node] * scale

    layer.sort(key=mean)


def _crossed(layer: list[int], beside: list[int], near: Neighbours) -> Floats:
    """Crossings of the edges to the layer beside, for each pair (left, right) of a layer."""
    place = {node: i for i, node in enumerate(beside)}
    ends = np.zeros((len(layer), len(beside)))
    for i, node in enumerate(layer):
        for other in near[node]:
            ends[i, place[other]] += 1
    before = np.cumsum(ends, axis=1) - ends
    found: Floats = ends @ before.T
    return found


def _increasing(wanted: list[float], weights: list[float]) -> list[float]:
    """The nondecreasing numbers nearest to the wanted ones (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            before = blocks.pop()
            total = before[1] + block[1]
            mean = (before[0] * before[1] + block[0] * block[1]) / total
            block = (mean, total, before[2] + block[2])
        blocks.append(block)
    return [value for value, _weight, count in blocks for _ in range(count)]
