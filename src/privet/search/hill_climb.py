"""Hill climbing over DAGs: add, delete or turn one arrow at a time, with a memory against circles.

The evidence speaks through gains alone: by how much one more parent helps a child beside its
other parents. Gains from noisy evidence need not be differences of any one score, so a walk
along ever better arrows could run in a circle for ever. It ends by construction: no DAG is
visited twice, and the number of moves is bounded by the number of candidate arrows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.bits import bits_of, members
from privet.graph.meek import cpdag, extension, meek, vstructures
from privet.search.constraints import Constraints
from privet.search.protocols import Gains

# x, y and S, the members of S as the bits of one whole number.
Question = tuple[int, int, int]

# Differences below this (in nats) are rounding, not evidence.
TINY = 1e-6
# "Never worth it" as a number that can be added up.
HOPELESS = -1e12
# Moves for each candidate arrow after which even contradictory gains must have settled.
PATIENCE = 5


class Remembered:
    """Gains that are asked for once, in one batch per width; sets are whole numbers (bits)."""

    def __init__(self, gains: Gains) -> None:
        self._gains = gains
        self._known: dict[Question, float] = {}
        self._told: list[tuple[Indices, Floats]] = []

    def answers(self, questions: Indices) -> Floats:
        """Of rows (x, y, *S) of one width, x < y, to somebody who asks for none twice."""
        if self._known:
            keys = _keys(questions)
            self.learn(keys)
            return np.array([self.gain(*key) for key in keys])
        found = np.maximum(self._gains(questions), HOPELESS)
        self._told.append((questions, found))
        return found

    def settle(self) -> None:
        """What was told so far is known to others too; mostly nobody else asks."""
        for questions, found in self._told:
            self._known.update(zip(_keys(questions), found.tolist(), strict=True))
        self._told = []

    def learn(self, questions: Iterable[Question]) -> None:
        self.settle()
        by_width: dict[int, dict[Question, None]] = {}
        for x, y, given in questions:
            question = (x, y, given) if x < y else (y, x, given)
            if question not in self._known:
                by_width.setdefault(given.bit_count(), {})[question] = None
        for width, asked in sorted(by_width.items()):
            rows = [(x, y, *members(given)) for x, y, given in asked]
            answers = self._gains(np.array(rows, dtype=np.intp).reshape(-1, width + 2))
            self._known.update(zip(asked, np.maximum(answers, HOPELESS).tolist(), strict=True))

    def gain(self, x: int, y: int, given: int) -> float:
        return self._known[(x, y, given) if x < y else (y, x, given)]

    def pairs(self, among: Bools) -> Floats:
        """The gains of pairs with nothing given; 0 for the others and where nothing is known."""
        found = np.argwhere(np.triu(among | among.T))
        self.learn((x, y, 0) for x, y in found.tolist())
        out = np.zeros(among.shape)
        for x, y in found.tolist():
            gain = self.gain(x, y, 0)
            out[x, y] = out[y, x] = gain if np.isfinite(gain) else 0.0
        return out


def _keys(questions: Indices) -> list[Question]:
    return [(x, y, sum([1 << v for v in given])) for x, y, *given in questions.tolist()]


def closed(A: Bools, constraints: Constraints) -> Bools | None:
    """A CPDAG with the arrows that knowledge decides and all that follows from them.

    None if no DAG of the class honours knowledge.
    """
    allowed = constraints.allowed
    if (A & ~A.T & ~allowed).any() or (A & ~allowed & ~allowed.T).any():
        return None
    fixed = A & A.T & ~allowed.T
    if not fixed.any():
        return A
    known = meek(A, fixed)
    if vstructures(known) != vstructures(A) or extension(known) is None:
        return None
    return known


def known_class(dag: Bools, constraints: Constraints) -> Bools:
    """The CPDAG of a DAG that honours knowledge, with what knowledge decides."""
    known = closed(cpdag(dag), constraints)
    assert known is not None, "the DAG itself honours knowledge"
    return known


def climb(
    gains: Gains,
    constraints: Constraints,
    candidates: Bools,
    *,
    tabu: int = 10,
    start: Bools | None = None,
) -> Bools:
    """The best DAG on the way over arrows between candidate pairs (symmetric).

    It takes the best move, be it downhill, and gives up after more than ``tabu`` moves without a
    new best; best is the largest sum of gains. It sets out from the required arrows, or from
    ``start``, which must honour knowledge. Ties (x --> y and y --> x are alike while neither has
    a parent) go to the column with more association in all, not to the first: names do not
    matter.
    """
    candidates = (candidates | constraints.required) & constraints.possible
    association = Remembered(gains).pairs(candidates).sum(axis=0)
    order = np.argsort(-association, kind="stable")
    inner = np.ix_(order, order)
    required = constraints.required & constraints.allowed
    dag = (required if start is None else start)[inner]
    walk = _Walk(
        Remembered(lambda questions: gains(order[questions])),
        (candidates & constraints.allowed)[inner],
        required[inner],
        dag.copy(),
    )
    out = np.zeros_like(candidates)
    out[inner] = walk.best(tabu)
    return out


@dataclass
class _Walk:
    """A DAG on its way; ``worth[x, y]`` is what x adds to the other parents of y."""

    memory: Remembered
    allowed: Bools
    required: Bools
    dag: Bools

    def best(self, tabu: int) -> Bools:
        self.worth = np.full(self.dag.shape, np.inf)
        self._weigh(range(len(self.dag)))
        seen, best, value, highest, idle = {self._key(self.dag)}, self.dag.copy(), 0.0, 0.0, 0
        for _ in range(PATIENCE * int(self.allowed.sum())):
            step = self._step(seen)
            if step is None or idle > tabu:
                break
            gain, self.dag, children = step
            seen.add(self._key(self.dag))
            self._weigh(children)
            value, idle = value + gain, idle + 1
            if value > highest + TINY:
                best, highest, idle = self.dag.copy(), value, 0
        return best

    @staticmethod
    def _key(dag: Bools) -> bytes:
        return np.packbits(dag).tobytes()

    def _weigh(self, children: Iterable[int]) -> None:
        """Ask what each candidate adds to each of these children, all at once."""
        asked = []
        for y in children:
            parents = bits_of(self.dag[:, y])
            arrows = np.flatnonzero(self.allowed[:, y]).tolist()
            asked += [(x, y, parents & ~(1 << x)) for x in arrows]
        self.memory.learn(asked)
        for x, y, given in asked:
            self.worth[x, y] = self.memory.gain(x, y, given)

    def _step(self, seen: set[bytes]) -> tuple[float, Bools, list[int]] | None:
        """The best move to a DAG not seen before: its gain, the DAG, the children it touched."""
        values = self._values()
        for at in np.argsort(-values, axis=None, kind="stable").tolist():
            kind, x, y = (int(i) for i in np.unravel_index(at, values.shape))
            if values[kind, x, y] == -np.inf:
                return None
            dag = self.dag.copy()
            dag[x, y] = kind == 0
            dag[y, x] = kind == 2
            if self._key(dag) not in seen:
                return float(values[kind, x, y]), dag, [y] if kind < 2 else [x, y]
        return None

    def _values(self) -> Floats:
        """What adding, deleting and turning x --> y are worth; -inf where that cannot be."""
        dag, worth = self.dag, self.worth
        reach = reachable(dag)
        around = (dag.astype(np.float32) @ reach.astype(np.float32)) > 0
        able = np.isfinite(worth)
        free = dag & ~self.required & able
        values = np.full((3, *dag.shape), -np.inf)
        add = self.allowed & able & ~dag & ~dag.T & ~reach.T
        turn = free & self.allowed.T & able.T & ~around
        values[0][add] = worth[add]
        values[1][free] = -worth[free]
        values[2][turn] = worth.T[turn] - worth[turn]
        return values


def reachable(dag: Bools) -> Bools:
    """Whether a directed path leads from i to j."""
    reach = dag.copy()
    for _ in range(len(dag).bit_length()):
        paths = reach.astype(np.float32)
        reach |= (paths @ paths) > 0
    return reach
