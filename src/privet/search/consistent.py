"""Separators that the skeleton itself denies are no explanation: their pairs are looked at again.

If two columns are not joined in a DAG, the parents of one separate them. PC forms separators of
columns that are joined to an end when it asks; in the end some of them are not. One such answer by
accident, and an edge is gone. So each pair whose separator is not among the neighbours of one
end [Li, Cabeli, Sella, Isambert 2019: consistent separating sets] is asked for once more, given
neighbours alone, and joined if nothing explains it. One missing edge makes many pairs seem
dependent: those that are the surest of both ends are joined, and then the others are asked again.

Where the parents of a column are no more than are given, perfect answers change nothing.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.skeleton import Ask, Separators, Skeleton, about, nearest, surest


def consistent(
    start: Skeleton, ask: Ask, strength: Floats, max_order: int, widest: int
) -> Skeleton:
    """With the edges that only separators beside the skeleton have explained; the same object if
    there are none."""
    adjacent, separators = start.adjacent.copy(), dict(start.separators)
    while len(pairs := _unsound(adjacent, separators)):
        told = _unexplained(pairs, adjacent, ask, strength, max_order, widest)
        restored = np.argwhere(np.triu(surest(told))).tolist()
        if not restored:
            break
        for x, y in restored:
            adjacent[x, y] = adjacent[y, x] = True
            del separators[x, y]
    return Skeleton(adjacent, separators) if len(separators) < len(start.separators) else start


def _unsound(adjacent: Bools, separators: Separators) -> Indices:
    """The pairs whose separator is not among the neighbours of one end, in order."""
    found = [
        pair
        for pair, given in separators.items()
        if given and not any(adjacent[end, list(given)].all() for end in pair)
    ]
    return np.array(sorted(found), dtype=np.intp).reshape(-1, 2)


def _unexplained(
    pairs: Indices,
    adjacent: Bools,
    ask: Ask,
    strength: Floats,
    max_order: int,
    widest: int,
) -> Floats:
    """The lowest margin of each pair that no neighbours of one end explain; 0 for all others."""
    lowest, told = np.full(adjacent.shape, np.inf), np.zeros(adjacent.shape)
    for order in range(max_order + 1):
        near = nearest(adjacent, strength, None if order < 2 else widest)
        for questions in about(pairs, near, order):
            np.minimum.at(lowest, (questions[:, 0], questions[:, 1]), ask(questions))
        pairs = pairs[lowest[pairs[:, 0], pairs[:, 1]] >= 0]
    x, y = pairs.T
    told[x, y] = told[y, x] = lowest[x, y]
    return told
