"""Searches that were compiled when Privet was installed, if they could be.

``_climb.c`` does what ``eager.py`` does, dozens of times as fast, for gains that have a formula,
``_rounds.c`` what ``ges.py`` does in rounds, for gains by the row, ``_pc.c`` what ``pc.py`` and
``_refine.c`` what ``refine.py`` does, for tests that have one, and ``_orient.c`` what
``colliders.py`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Bools, Floats, Indices, Integers
from privet.graph.bits import bitsets, flags_of
from privet.search.options import Weights
from privet.search.protocols import ClosedForm, Formula
from privet.search.rows import spelled
from privet.search.skeleton import Separators, Skeleton
from privet.search.states import State

try:
    from privet.search import _climb  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    search: Any = None
else:
    search = _climb
try:
    from privet.search import _rounds  # type: ignore[attr-defined]
except ImportError:
    rounds: Any = None
else:
    rounds = _rounds
try:
    from privet.search import _refine  # type: ignore[attr-defined]
except ImportError:
    refine: Any = None
else:
    refine = _refine
try:
    from privet.search import _orient  # type: ignore[attr-defined]
except ImportError:
    orient: Any = None
else:
    orient = _orient
try:
    from privet.search import _pc  # type: ignore[attr-defined]
except ImportError:
    pc: Any = None
else:
    pc = _pc


@dataclass(frozen=True)
class Heard:
    """What was asked in the meantime: how many questions, and as a listener remembers them the
    lowest answer about each pair x < y (nan: none) with what was given (filled up with -1)."""

    count: int
    lowest: Floats
    given: NDArray[np.int32]


def climbed(state: State, weights: Weights, formula: Formula) -> State | None:
    """Where ``eagerly`` leads; None if it is left to that: knowledge has a say, a column has very
    many cliques of neighbours, or some columns nearly tell another."""
    if search is None or not weights.bounds.free:
        return None
    parts = _spelled(state, weights.bounds.possible)
    arrays = (formula.matrix, formula.terms, formula.metric, formula.doubt)
    numbers = [np.ascontiguousarray(each, dtype=np.float64) for each in arrays]
    if not search.climb(parts, *numbers, weights.max_parents):
        return None
    return _state(parts)


def _spelled(state: State, *more: list[int]) -> NDArray[np.uint8]:
    """All sets of a class, and more, as flags: a matrix for each part."""
    size, sets = len(state.lines), [*vars(state).values(), *more]
    return flags_of([*chain(*sets)], size).reshape(len(sets), size, size).view(np.uint8)


def _state(parts: NDArray[np.uint8]) -> State:
    """The class that stands in the first of these."""
    size, count = parts.shape[1], len(fields(State))
    sets = bitsets(parts[:count].view(bool).reshape(-1, size))
    return State(*(sets[size * part : size * (part + 1)] for part in range(count)))


def in_rounds(state: State, weights: Weights, limits: list[int] | None) -> State | None:
    """Where rounds lead, with insertions within ``limits`` if there are any; None if it is left to
    Python: knowledge has a say, gains come one by one, or a column has very many cliques of
    neighbours."""
    known, size = weights.rows, len(state.lines)
    if rounds is None or known.ask is None or not weights.bounds.free:
        return None
    rows = getattr(known.ask, "spelled", None) or spelled(known.ask)

    def gains(questions: bytes, width: int) -> Floats:
        return known.memory.answers(np.frombuffer(questions, dtype=np.int64).reshape(-1, width))

    known.memory.settle()
    more = [] if limits is None else [limits]
    flags = _spelled(state, weights.bounds.possible, bitsets(known.told), *more)
    arrays = flags, np.ascontiguousarray(known.pairs)
    if not rounds.rounds(size, *arrays, rows, gains, limits is not None, weights.max_parents):
        return None
    return _state(flags)


def refined(
    start: Bools, tests: ClosedForm, orders: Indices, rounds: int
) -> tuple[Bools, Floats] | None:
    """The DAG and the margins that ``refine.py`` finds where nothing is known; None if it is left
    to that: some columns nearly tell another."""
    if refine is None:
        return None
    graph = start.astype(np.uint8)
    margins = np.zeros(graph.shape)
    if not refine.refine(graph, margins, *_arrays(tests), orders.astype(np.int64), rounds):
        return None
    return graph.view(bool), np.triu(margins, 1)


def asked(tests: ClosedForm, questions: Indices) -> tuple[Floats, Floats] | None:
    """Atanh of partial correlations and its variances, for questions (x, y, *Z) that are filled up
    with -1; None if that is left to ``independence/fisher_z.py``."""
    out = np.empty((2, len(questions)))
    if refine is None or not refine.ask(out, questions.astype(np.int64), *_arrays(tests)):
        return None
    return out[0], out[1]


def skeleton(
    tests: ClosedForm, strength: Floats, start: Skeleton, max_order: int, mend: bool
) -> tuple[Skeleton, Heard] | None:
    """What ``skeleton`` of ``pc.py`` finds where no edge is required; None if it is left to that:
    some columns nearly tell another."""
    if pc is None:
        return None
    size, joined = len(strength), start.adjacent.astype(np.uint8)
    separators = _listed(start.separators, size, max_order)
    margins, lowest, given = np.zeros((size, size)), *_unheard(size, max_order)
    parts = (lowest, given, joined, separators, margins)
    count = pc.skeleton(*parts, *_arrays(tests), np.ascontiguousarray(strength), mend)
    if count is None:
        return None
    found = Skeleton(joined.view(bool), _separators(separators), margins)
    return found, Heard(count, lowest, given)


def _listed(separators: Separators, size: int, most: int) -> NDArray[np.int32]:
    """For each pair how many columns separated it (-1: nothing did), and which."""
    out = np.full((size, size, most + 1), -1, dtype=np.int32)
    for count in range(most + 1):
        some = [(*pair, *given) for pair, given in separators.items() if len(given) == count]
        x, y, *given = np.array(some, dtype=np.intp).reshape(-1, count + 2).T
        out[x, y, 0] = out[y, x, 0] = count
        for at, each in enumerate(given, 1):
            out[x, y, at] = out[y, x, at] = each
    return out


def _separators(told: NDArray[np.int32]) -> Separators:
    """The same as it was."""
    counts = np.triu(told[:, :, 0] + 1, 1)
    x, y = np.nonzero(counts == 1)  # nearly all, where there are many
    out: Separators = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True), ())
    for count in range(1, told.shape[2]):
        x, y = np.nonzero(counts == count + 1)
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        out.update(zip(pairs, map(tuple, told[x, y, 1 : count + 1].tolist()), strict=True))
    return out


def collider_weights(
    tests: ClosedForm, adjacent: Bools, triples: Indices
) -> tuple[Floats, Heard] | None:
    """What ``collider_weights`` of ``pc.py`` finds; None if it is left to that, as above."""
    if pc is None:
        return None
    weights, (lowest, given) = np.zeros(len(triples)), _unheard(len(adjacent), 2)
    shape = adjacent.view(np.uint8), triples.astype(np.int64)
    count = pc.weigh(lowest, given, weights, *_arrays(tests), *shape)
    return None if count is None else (weights, Heard(count, lowest, given))


def _unheard(size: int, width: int) -> tuple[Floats, NDArray[np.int32]]:
    return np.full((size, size), np.nan), np.full((size, size, width), -1, dtype=np.int32)


def _arrays(tests: ClosedForm) -> list[Floats]:
    metric = tests.metric if tests.metric.size else tests.matrix
    arrays = (tests.matrix, metric, tests.doubt)
    return [np.ascontiguousarray(each, dtype=np.float64) for each in arrays]


def drawn(
    pairs: Indices, slots: Indices, grains: Integers, may_turn: Bools, orders: Indices
) -> Bools | None:
    """The DAG that ``best_dag`` of ``colliders.py`` finds over a skeleton of these pairs; the two
    arrows of each triple are in ``slots``, what they weigh in ``grains``."""
    if orient is None:
        return None
    dag = np.zeros((orders.shape[1],) * 2, dtype=np.uint8)
    whole = (pairs, slots.T, grains)
    numbers = [np.ascontiguousarray(each, dtype=np.int64) for each in whole]
    orient.draw(dag, *numbers, may_turn.view(np.uint8), orders)
    return dag.view(bool)
