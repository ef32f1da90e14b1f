"""FCI and RFCI: what can be told about causes when some of them may be hidden.

The skeleton is pruned as in PC. Hidden causes may leave edges that no neighbours separate, so FCI
goes on with the nodes that might [possible d-sep; Spirtes 2001]. RFCI (``faster``) leaves such
edges and instead checks the tests on which marks rest [Colombo et al. 2012]: it may join more
pairs than FCI, and asks far fewer questions. The marks then follow by Zhang's rules. No selection
of rows is assumed.

A triple i - k - j is a collider if k is not in what separates i and j. With noisy answers one
such test is a weak ground. So independence is weighed with k given against without, each with
the best of many sets (as in ``search/pc.py``, and the separator found), and each node gets the
arrowheads that its triples together like.

Knowledge. A forbidden arrow a --> b says that a is no cause of b: an edge between them has an
arrowhead at a. This does not part the two, not even if both directions are forbidden, since a
hidden cause may join them. A required arrow stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.fci_rules import CIRCLE, HEAD, NONE, TAIL, Marks, Path, closure, written
from privet.search.colliders import unshielded
from privet.search.constraints import Constraints
from privet.search.pc import HEAVIEST_TRIPLE, WIDEST, log_odds
from privet.search.protocols import Judge
from privet.search.skeleton import Skeleton, complete, prune, separated, strongest

Question = tuple[int, ...]
Doubt = tuple[int, int, tuple[int, ...]]
"""An edge x - y, x < y, and the nodes of which some may separate the two."""


@dataclass(frozen=True)
class Found:
    """The marks of a PAG, and what separated the pairs that are not joined."""

    marks: Marks
    separators: dict[tuple[int, int], tuple[int, ...]]


def fci(
    judge: Judge,
    constraints: Constraints,
    *,
    max_order: int,
    faster: bool = False,
    widest: int = WIDEST,
) -> Found:
    """The PAG that the judge's answers give; ``faster`` is RFCI.

    Separators have up to ``max_order`` members; those of two and more are formed from the
    ``widest`` strongest candidates. An infinite answer removes no edge.
    """
    search = _Search(judge, constraints, judge.strengths(), max_order, widest)
    found = search.skeleton()
    if faster:
        return _rfci(search, found)
    far = possible_d_sep(search.colliders(found))
    found = search.without_far_separated(found, far)
    marks = closure(search.colliders(found), lambda paths: search.path_weights(found, paths))
    return Found(marks, found.separators)


def _rfci(search: _Search, found: Skeleton) -> Found:
    """Orient, and begin again whenever an edge that a mark rests on proves to be none."""
    while True:
        found = sound = search.with_sound_triples(found)

        def weigh(paths: Sequence[Path]) -> Floats:
            nonlocal found
            found = search.with_sound_paths(found, paths)
            weights = search.path_weights(found, paths)
            gone = [not all(found.adjacent[x, y] for x, y in pairwise(path)) for path in paths]
            return np.where(gone, np.nan, weights)

        marks = closure(search.colliders(sound), weigh)
        if found is sound:
            return Found(marks, found.separators)


@dataclass(frozen=True)
class _Search:
    """The steps that the two searches share."""

    judge: Judge
    constraints: Constraints
    strength: Floats
    max_order: int
    widest: int

    def skeleton(self) -> Skeleton:
        """As in PC, but pairs that knowledge lets no arrow join are kept, and asked about."""
        found = complete(len(self.strength))
        for order in range(self.max_order + 1):
            found = prune(
                found,
                order,
                self.judge.margins,
                strength=self.strength,
                required=self.constraints.required,
                widest=self._widest(order),
            )
        return found

    def _widest(self, order: int) -> int | None:
        return None if order < 2 else self.widest

    def without_far_separated(self, found: Skeleton, far: Bools) -> Skeleton:
        """The edges that no possible d-sep set of x or of y separates."""
        near = found.adjacent
        for order in range(1, self.max_order + 1):
            pools = [
                strongest(row, strength, self._widest(order))
                for row, strength in zip(far, self.strength, strict=True)
            ]
            questions = [
                (x, y, *given)
                for x, y in self._open_edges(found)
                for given in _subsets((pools[x], pools[y]), order, without=(x, y))
                if not (near[x, list(given)].all() or near[y, list(given)].all())
            ]
            found = self._without_independent(found, questions)
        return found

    def _open_edges(self, found: Skeleton) -> list[tuple[int, int]]:
        pairs = np.argwhere(np.triu(found.adjacent & ~self.constraints.required))
        return [(x, y) for x, y in pairs.tolist()]

    def _without_independent(self, found: Skeleton, questions: Sequence[Question]) -> Skeleton:
        """The edges that none of these questions, all of one width, shows to be independent."""
        asked = np.array(questions, dtype=np.intp)
        return separated(found, asked, self.judge.margins, self.strength)

    def with_sound_triples(self, found: Skeleton) -> Skeleton:
        """RFCI: in an unshielded i - k - j both edges must stand given what separates i and j."""
        while True:
            doubts = sorted(
                {
                    _doubt(end, k, found.separators[i, j])
                    for i, k, j in unshielded(found.adjacent).tolist()
                    for end in (i, j)
                }
            )
            answers = _asked(self.judge.margins, [(x, y, *pool) for x, y, pool in doubts])
            doubts = [doubt for doubt, answer in zip(doubts, answers, strict=True) if answer < 0]
            after = self._without_doubtful(found, doubts)
            if after is found:
                return found
            found = after

    def with_sound_paths(self, found: Skeleton, paths: Sequence[Path]) -> Skeleton:
        """RFCI: on a discriminating path no edge may vanish given part of what separates its
        ends."""
        doubts = {
            _doubt(*edge, found.separators[_ends(path)])
            for path in paths
            for edge in pairwise(path)
        }
        return self._without_doubtful(found, sorted(doubts))

    def _without_doubtful(self, found: Skeleton, doubts: Sequence[Doubt]) -> Skeleton:
        """Without the edges that part of the pool separates, smallest parts first."""
        for order in range(1 + max((len(pool) for *_, pool in doubts), default=-1)):
            open_ = set(self._open_edges(found))
            questions = {
                (x, y, *given)
                for x, y, pool in doubts
                if (x, y) in open_
                for given in combinations(pool, order)
            }
            found = self._without_independent(found, sorted(questions))
        return found

    def colliders(self, found: Skeleton) -> Marks:
        """Circles, but for what knowledge and unshielded colliders say."""
        marks = self._known(found.adjacent)
        triples = unshielded(found.adjacent)
        heads = _liked_heads(marks, triples, self._weights(found, triples))
        return written(marks, heads, np.zeros_like(heads))

    def _known(self, adjacent: Bools) -> Marks:
        marks = np.where(adjacent, CIRCLE, NONE).astype(np.int8)
        no_cause = ~self.constraints.allowed.T  # [i, j]: j --> i is forbidden
        marks[adjacent & no_cause] = HEAD
        marks[self.constraints.required & ~no_cause] = TAIL
        return marks

    def path_weights(self, found: Skeleton, paths: Sequence[Path]) -> Floats:
        """How much speaks for a collider at the last node but one of discriminating paths."""
        ends = [_ends(path) for path in paths]
        triples = [(i, path[-2], j) for (i, j), path in zip(ends, paths, strict=True)]
        return self._weights(found, np.array(triples, dtype=np.intp).reshape(-1, 3))

    def _weights(self, found: Skeleton, triples: Indices) -> Floats:
        """The log odds of a collider, as in ``search/pc.py``, for triples (i, k, j), i < j; the
        separator found decides where the evidence is the same with k and without.

        Perfect answers are the same only where an edge i - k is false, as RFCI allows; then what
        was found by a smallest separator holds, and the others say nothing.
        """
        without, given = self._lowest(found, triples).T
        known = np.isfinite(without) & np.isfinite(given)
        weights = np.zeros(len(triples))
        more = given[known] - without[known]
        # a hair's breadth of the whole difference tells bounded ones apart, whatever the numbering
        tie = 1e-6 * more / (1 + np.abs(more))
        weights[known] = np.clip(more, -HEAVIEST_TRIPLE, HEAVIEST_TRIPLE) + tie
        outside = [k not in found.separators[i, j] for i, k, j in triples.tolist()]
        weights[known & (given == without) & np.array(outside, dtype=bool)] = HEAVIEST_TRIPLE
        return np.asarray(weights + log_odds(weights[known]))

    def _lowest(self, found: Skeleton, triples: Indices) -> Floats:
        """The lowest margins of i and j without k and with it, beside nothing, one neighbour of
        i or j, or the separator found."""
        questions: list[Question] = []
        places: list[tuple[int, int]] = []
        for at, (i, k, j) in enumerate(triples.tolist()):
            near = np.flatnonzero(found.adjacent[i] | found.adjacent[j]).tolist()
            separator = tuple(z for z in found.separators[i, j] if z != k)
            beside = {(), separator, *((z,) for z in near if z not in (i, j, k))}
            for others in beside:
                questions += [(i, j, *others), (i, j, *sorted((*others, k)))]
                places += [(at, 0), (at, 1)]
        lowest = np.full((len(triples), 2), np.inf)
        row, side = np.array(places, dtype=np.intp).reshape(-1, 2).T
        np.minimum.at(lowest, (row, side), _asked(self.judge.margins, questions))
        return lowest


def _doubt(x: int, y: int, pool: Iterable[int]) -> Doubt:
    return min(x, y), max(x, y), tuple(z for z in pool if z not in (x, y))


def _ends(path: Path) -> tuple[int, int]:
    return min(path[0], path[-1]), max(path[0], path[-1])


def _asked(ask: Callable[[Indices], Floats], questions: Sequence[Question]) -> Floats:
    """Answers to questions of any width; those of one width are asked together, and once."""
    answers: dict[Question, float] = {}
    for width in sorted({len(question) for question in questions}):
        batch = sorted({question for question in questions if len(question) == width})
        told = ask(np.array(batch, dtype=np.intp))
        answers.update(zip(batch, told.tolist(), strict=True))
    return np.array([answers[question] for question in questions])


def _subsets(
    pools: Iterable[Sequence[int]], order: int, *, without: tuple[int, int]
) -> list[tuple[int, ...]]:
    return sorted(
        {
            given
            for pool in pools
            for given in combinations([z for z in pool if z not in without], order)
        }
    )


def _liked_heads(marks: Marks, triples: Indices, weights: Floats) -> Bools:
    """The arrowheads [i, k] of colliders: taken surest first, unless the other colliders that
    come with one weigh more against it than it for itself."""
    heads: Bools = marks == HEAD
    weight = {}
    for (i, k, j), w in zip(triples.tolist(), weights.tolist(), strict=True):
        weight[i, k, j] = weight[j, k, i] = w
    order = np.argsort(-weights, kind="stable")
    for i, k, j in triples[order[weights[order] > 0]].tolist():
        if TAIL in (marks[i, k], marks[j, k]):
            continue
        new = [end for end in (i, j) if not heads[end, k]]
        old = np.flatnonzero(heads[:, k]).tolist()
        pairs = [(end, other) for end in new for other in old]
        if len(new) == 2:
            pairs.append((i, j))
        if sum(weight.get((end, k, other), 0.0) for end, other in pairs) > 0:
            heads[new, k] = True
    return heads


def possible_d_sep(marks: Marks) -> Bools:
    """[x, v]: a path from x to v on which each inner node is a collider or in a triangle.

    Walks are followed instead of paths, which may find more nodes but misses none.
    """
    joined, heads = marks != NONE, marks == HEAD
    reached: Bools = joined.copy()
    for x in range(len(marks)):
        todo = [(x, near) for near in np.flatnonzero(joined[x]).tolist()]
        seen = set(todo)
        while todo:
            before, node = todo.pop()
            passed = joined[before] | heads[:, node] if heads[before, node] else joined[before]
            for near in np.flatnonzero(joined[node] & passed).tolist():
                if near != x and near != before and (node, near) not in seen:
                    seen.add((node, near))
                    todo.append((node, near))
                    reached[x, near] = True
    return reached
