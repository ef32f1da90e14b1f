"""Columns that another column gives away, from released pairs: free, and before any search.

How well y is guessed from x is told by Goodman and Kruskal's lambda (1954): of the rows that the
commonest level of y misses, the share that is guessed right once x is known. A rare level that x
does not know of lowers it as much as a common one does. It is a weighed sum of noisy cells, so the
law of its noise is known. Noise may also have chosen the best guess, which flatters it: where the
first and the second guess are not well apart, what noise can gain is taken off.

Numbers say the same if their correlation is nearly 1 or -1. Noise does not bring it there: it makes
directions of the covariance short, and those are raised again (``moments.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Floats, Indices
from privet.evidence.counts import Counts, PairCounts, pairs_by_shape
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence

NEARLY = 0.95  # of the misses are guessed right
LEAST = 0.8  # and so many even if noise is SURELY deviations off
SURELY = 3.0
CORRELATED = 0.995  # of numbers
FEWEST = 0.01  # of the rows: a column whose commonest level has all others cannot be judged


@dataclass(frozen=True, kw_only=True)
class Guess:
    """``column`` is known once ``given`` is: a ``share`` of what its commonest level misses is
    guessed right, and at least ``least`` if noise has helped. Of numbers, both are the correlation
    without its sign."""

    given: str
    column: str
    share: float
    least: float


def correlated(sites: Sequence[MomentEvidence]) -> tuple[Guess, ...]:
    """All columns of numbers that are nearly a multiple of another one, at every site."""
    names, sizes = sites[0].names, []
    for site in sites:
        deviations = np.sqrt(np.maximum(np.diag(site.covariance), 1e-300))
        sizes.append(np.abs(site.covariance / np.outer(deviations, deviations)))
    size = np.min(sizes, axis=0) * ~np.eye(len(names), dtype=bool)
    return tuple(
        Guess(given=names[i], column=names[j], share=float(size[i, j]), least=float(size[i, j]))
        for i, j in np.argwhere(size >= CORRELATED)
    )


def counted(names: tuple[str, ...], pairs: PairCounts) -> tuple[Guess, ...]:
    """All columns that are nearly a function of another one, where there is no noise."""
    starts, own, rows = pairs.starts, np.diag(pairs.matrix), float(pairs.rows)
    best = np.maximum.reduceat(pairs.matrix, starts, axis=1)
    errors = rows - np.add.reduceat(best, starts, axis=0)  # [given, column]
    misses = rows - np.maximum.reduceat(own, starts)
    near = errors < 2 * (1 - NEARLY) * misses
    if near.sum() == (misses > 0).sum():  # each tells only itself
        return ()
    share, least = _of_misses(errors, misses, rows, pairs.levels[:, None])
    both = (share >= NEARLY) & (least >= LEAST) & ~np.eye(len(names), dtype=bool)
    return tuple(
        Guess(given=names[x], column=names[y], share=float(share[x, y]), least=float(least[x, y]))
        for x, y in zip(*(at.tolist() for at in np.nonzero(both)), strict=True)
    )


def guesses(sites: Sequence[TableEvidence]) -> tuple[Guess, ...]:
    """The same where there may be noise."""
    if 2 not in sites[0].layers:
        return ()
    names, found = sites[0].names, []
    for pairs in pairs_by_shape(sites[0]):
        tables = np.sum([site.tables(pairs) for site in sites], axis=0)
        for given, column in ((0, 1), (1, 0)):
            near = pairs[_shares(tables, column + 1, 0.0)[0] >= NEARLY]
            if not len(near):  # of the others nobody asks how sure that is
                continue
            counts = Counts.of(sites, near)
            share, least = _shares(counts.tables, column + 1, _doubt(counts, column + 1))
            for at in np.flatnonzero(least >= LEAST):
                x, y = (names[i] for i in near[at, [given, column]])
                sizes = float(min(share[at], 1.0)), float(min(least[at], 1.0))
                found.append(Guess(given=x, column=y, share=sizes[0], least=sizes[1]))
    place = names.index
    return tuple(sorted(found, key=lambda one: (place(one.given), place(one.column))))


def copies(
    found: Iterable[Guess], names: Sequence[str], kept: Collection[str] = ()
) -> dict[str, str]:
    """Each column that says the same as an earlier one, both ways, and that one. Those in ``kept``
    count as the earliest, and are no copies."""
    each = {(one.given, one.column) for one in found}
    if not each:
        return {}
    both = {(one, other) for one, other in each if (other, one) in each}
    alike, out = {one for one, _ in both}, dict[str, str]()
    order, originals = sorted(names, key=lambda name: name not in kept), list[str]()
    for name in order:
        same = [one for one in originals if (one, name) in both] if name in alike else []
        if same and name not in kept:
            out[name] = same[0]
        else:
            originals.append(name)
    return out


def _shares(tables: Floats, axis: int, doubt: Floats | float) -> tuple[Floats, Floats]:
    """Of each pair, the share of misses that the other column guesses right, and what is left of
    it if noise (so much ``doubt``), and one unlucky row in each level, were against it."""
    rows = tables.sum(axis=(1, 2))
    misses = rows - tables.sum(axis=3 - axis).max(axis=1)
    errors = rows - tables.max(axis=axis).sum(axis=1)
    return _of_misses(errors, misses, rows, doubt + tables.shape[3 - axis])


def _doubt(counts: Counts, axis: int) -> Floats | float:
    """How many errors noise may have hidden."""
    if not counts.laws:
        return 0.0
    tables = counts.tables
    best = np.expand_dims(tables.argmax(axis=axis), axis)
    wrong = np.ones_like(tables)
    np.put_along_axis(wrong, best, 0.0, axis=axis)
    each = counts.deviations(1 - wrong) / np.sqrt(tables.shape[3 - axis])  # of one guessed cell
    return np.asarray(SURELY * counts.deviations(wrong) + _flattered(tables, each[:, None], axis))


def _of_misses(
    errors: Floats, misses: Floats, rows: Floats | float, unlucky: Floats | Indices
) -> tuple[Floats, Floats]:
    enough = misses > np.maximum(FEWEST * rows, 1.0)
    safe = np.where(enough, misses, 1.0)
    share = np.where(enough, 1 - errors / safe, 0.0)
    return share, np.where(enough, 1 - (errors + unlucky) / safe, 0.0)


def _flattered(tables: Floats, noise: Floats, axis: int) -> Floats:
    """What noise may have gained by the choice of guesses that are hardly better than others."""
    ranked = np.sort(tables, axis=axis)
    first, second = (np.take(ranked, at, axis=axis) for at in (-1, -2))
    unsure = first - second < SURELY * np.sqrt(2) * noise
    return np.asarray((unsure * noise * np.sqrt(2 * np.log(tables.shape[axis]))).sum(axis=1))
