"""What pooled tests are made of, for thousands of questions whose tables differ in shape.

All that is known of one end x of a question (x, y, *Z) depends on x and Z alone, and the strata on
Z alone: each is worked out once for all questions that share it. Columns of Z are filled up with
levels that hold no row and no noise, so that few shapes are left. They change nothing: sums over
strata are products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.located import Located, alike, keys
from privet.evidence.tables import TableEvidence
from privet.independence.strata import (
    diagonal,
    kronecker,
    multinomial,
    shares_of,
    well_above,
)

# Numbers in one block of work, so that memory stays bounded whatever the size of the tables.
BLOCK_NUMBERS = 2_000_000
# To so many levels the columns of Z are filled up: more shapes cost time, and so do empty levels,
# more than that in large tables.
ROOM = np.array([2, 3, 4, 6])


@dataclass(frozen=True)
class Parts:
    """Of questions with as many levels of x and of y: departures, their covariances by sampling
    and by noise, and degrees of freedom."""

    d: Floats  # (replicas, questions, m)
    sampling: Floats  # (replicas, questions, m, m)
    noise: Floats  # the same, or one for all where there is none
    freedom: Integers  # (replicas, questions)


@dataclass(frozen=True)
class _Strata:
    """Of some Z: totals, which are informative, designs, and the noise that strata share."""

    total: Floats  # (replicas, Z, strata)
    informative: Bools
    design: Floats  # (Z, strata, strata)
    noise: Floats  # (Z, strata, strata)

    @staticmethod
    def of(located: Located, sets: Indices, at: Indices, shape: tuple[int, ...]) -> _Strata:
        """Of those at these places."""
        values, variances = located.padded(at, shape)
        columns = zip(sets[at].T, shape, strict=True)
        designs = [located.evidence.all_designs[column, :k, :k] for column, k in columns]
        design = reduce(kronecker, designs, np.ones((1, 1, 1)))
        noise = np.zeros((len(at), 1, 1))  # for all strata, if there is none
        if not located.evidence.exact:
            noise = _spread(design, variances.reshape(len(at), -1))
        total = (design @ values.reshape(-1, len(at), design.shape[1], 1))[..., 0]
        return _Strata(total, well_above(total, np.sqrt(diagonal(noise))), design, noise)


@dataclass(frozen=True)
class _Ends:
    """One end of some questions, of so many levels, in all strata of its Z.

    Of the products row col / N_z, ``left`` and ``right`` are factors, whichever end this is; and so
    is ``sampling`` of the sampling covariance. ``free`` is the first column of L_z B, ``within``
    the product of the others with themselves, ``noise`` the covariance of two strata for components
    that hold this end, and ``seen`` counts the levels that there are."""

    left: Floats  # (replicas, ends, 2 strata, levels)
    right: Floats
    sampling: Floats  # (replicas, ends, strata, (levels - 1)²)
    free: Floats  # (replicas, ends, strata, levels - 1)
    seen: Integers  # (replicas, ends)
    within: Floats  # (ends, levels - 1, levels - 1)
    noise: Floats  # (ends, strata, strata)
    shares: Floats  # (replicas, ends, strata, levels)

    @staticmethod
    def of(
        values: Floats, noise: Floats | None, inverse: Floats, strata: _Strata, z: Indices
    ) -> _Ends:
        """From the components of (x, *Z), the variances of those that hold x (None: there is no
        noise), the inverse designs of x, and the places of Z."""
        design, total, informative = strata.design[z], strata.total[:, z], strata.informative[:, z]
        own = strata.noise[z] if noise is None else _spread(design, noise)
        margin = design @ values.swapaxes(2, 3) @ inverse.swapaxes(1, 2)
        shares = shares_of(margin, total, informative, strata.noise[z], own, inverse)
        shares *= np.any(design, axis=2, keepdims=True)  # none where there is no stratum
        sure, rest = informative[..., None], inverse[:, :-1, 1:]
        total = total[..., None]
        both = multinomial(shares, np.sqrt(np.maximum(total, 0.0)))
        left = [np.where(sure, margin / np.where(sure, total, 1.0), shares), margin * ~sure]
        return _Ends(
            left=np.concatenate(left, axis=2),
            right=np.concatenate([margin - np.where(sure, 0.0, total * shares), shares], axis=2),
            sampling=both.reshape(*both.shape[:3], -1),
            free=inverse[:, None, :-1, 0] - shares[..., :-1],
            seen=(shares > 1e-9).any(axis=2).sum(axis=2),
            within=rest @ rest.swapaxes(1, 2),
            noise=own,
            shares=shares,
        )


def parts(evidence: TableEvidence, questions: Indices) -> Iterator[tuple[Indices, Parts]]:
    """Of questions (x, y, *Z) with as many members of Z: places of some of them, all of which have
    as many levels of x and of y, and their parts."""
    levels = np.array(evidence.cardinalities)
    filled = ROOM[np.minimum(ROOM.searchsorted(levels), len(ROOM) - 1)]
    room = np.minimum(np.maximum(levels, filled), levels.max())
    questions = _ordered(levels, questions)
    shapes = room[questions[:, 2:]]
    ends = levels[questions[:, :2]]
    order = np.lexsort(np.hstack([ends, shapes]).T)  # so that few shapes are in each block
    numbers = _numbers(ends, shapes.prod(axis=1))[order] * int(np.prod(evidence.replicas))
    cuts = np.flatnonzero(np.diff(np.cumsum(numbers) // BLOCK_NUMBERS)) + 1
    for block in np.split(order, cuts) if len(order) else ():
        for places, found in _of_block(evidence, questions[block], shapes[block]):
            yield block[places], found


def _ordered(levels: Integers, questions: Indices) -> Indices:
    """x and y, and the members of Z, by number of levels: the answer is the same, shapes fewer."""
    by = levels[questions] * len(levels) + questions
    order = np.hstack([np.argsort(by[:, :2], axis=1), np.argsort(by[:, 2:], axis=1) + 2])
    return np.take_along_axis(questions, order, axis=1)


def _numbers(ends: Integers, strata: Integers) -> Integers:
    """About how many are worked with for each question and replica."""
    free = (ends - 1).prod(axis=1)
    out: Integers = 8 * (free + 1) ** 2 + strata * (free + (ends + 2).prod(axis=1) + 2 * strata)
    return out


def _of_block(
    evidence: TableEvidence, questions: Indices, shapes: Indices
) -> Iterator[tuple[Indices, Parts]]:
    """The parts of questions that are worked out at once."""
    columns, size = range(2, questions.shape[1]), len(evidence.names)
    sets, z = _unique(questions[:, 2:], size)
    ends, end = _unique(np.concatenate([questions[:, [i, *columns]] for i in (0, 1)]), size)
    x, y = np.split(end, 2)
    given = np.empty(len(ends), dtype=np.intp)
    given[end] = np.tile(z, 2)
    of_sets, of_ends = Located.of(evidence, sets), Located.of(evidence, ends)
    pairs = _Pairs.of(evidence, questions[:, :2])
    levels = np.array(evidence.cardinalities)[questions[:, :2]]
    place, inner = np.empty(len(sets), dtype=np.intp), np.empty(len(ends), dtype=np.intp)
    for chosen in alike(shapes):
        shape = tuple(shapes[chosen[0]].tolist())
        at = np.unique(z[chosen])
        place[at] = np.arange(len(at))
        strata, known = _Strata.of(of_sets, sets, at, shape), {}
        both = np.unique(np.concatenate([x[chosen], y[chosen]]))
        for own in alike(np.array(evidence.cardinalities)[ends[both, :1]]):
            at = both[own]
            k, inner[at] = evidence.cardinalities[int(ends[at[0], 0])], np.arange(len(at))
            values, variances = of_ends.padded(at, (k, *shape))
            values = values.reshape(-1, len(at), k, strata.design.shape[1])
            inverse = evidence.all_designs[ends[at, 0], :k, :k]
            noise = None if evidence.exact else variances[:, 1].reshape(len(at), -1)
            known[k] = _Ends.of(values, noise, inverse, strata, place[given[at]])
        for own in alike(levels[chosen]):
            at = chosen[own]
            first, second = (known[k] for k in levels[at[0]].tolist())
            table, noise = pairs.at(at)
            common = None if evidence.exact else (noise, strata.noise[place[z[at]]])
            found = _joined(table, first, inner[x[at]], second, inner[y[at]], common)
            if evidence.feigned is not None and not len(columns):
                shares = first.shares[:, inner[x[at]], 0], second.shares[:, inner[y[at]], 0]
                found = _without(found, evidence, questions[at], shares)
            yield at, found


@dataclass(frozen=True)
class _Pairs:
    """The tables of the pairs (x, y) of some questions, shape by shape, and the noise of their
    components; ``number`` and ``inner`` tell which shape and which of its pairs a question has."""

    tables: list[tuple[Floats, Floats]]
    number: Indices
    inner: Indices

    @staticmethod
    def of(evidence: TableEvidence, pairs: Indices) -> _Pairs:
        unique, where = _unique(pairs, len(evidence.names))
        located = Located.of(evidence, unique)
        tables: list[tuple[Floats, Floats]] = []
        number, inner = np.empty((2, len(unique)), dtype=np.intp)
        levels = np.array(evidence.cardinalities)
        for at in alike(levels[unique]):
            number[at], inner[at] = len(tables), np.arange(len(at))
            shape = tuple(levels[unique[at[0]]].tolist())
            values, variances = located.padded(at, shape)
            first, second = (
                evidence.all_designs[column, :k, :k]
                for column, k in zip(unique[at].T, shape, strict=True)
            )
            table = first @ values.reshape(-1, len(at), *shape) @ second.swapaxes(1, 2)
            tables.append((table, variances[:, 1, 1]))
        return _Pairs(tables, number[where], inner[where])

    def at(self, questions: Indices) -> tuple[Floats, Floats]:
        """Of questions that all have one shape."""
        tables, noise = self.tables[self.number[questions[0]]]
        return tables[:, self.inner[questions]], noise[self.inner[questions]]


def _joined(
    table: Floats,
    x: _Ends,
    i: Indices,
    y: _Ends,
    j: Indices,
    noises: tuple[Floats, Floats] | None,
) -> Parts:
    """The parts of questions, from the tables of (x, y) and the ends at ``i`` and ``j``. ``noises``
    are those of the components of (x, y) and of the strata; None where there are none."""
    d = (table - x.left[:, i].swapaxes(2, 3) @ y.right[:, j])[..., :-1, :-1]
    copies, tests, a, b = d.shape
    m = a * b
    sampling = x.sampling[:, i].swapaxes(2, 3) @ y.sampling[:, j]
    sampling = sampling.reshape(copies, tests, a, a, b, b).swapaxes(3, 4)
    noise = np.zeros((1, 1, m, m))
    if noises is not None:
        of_pair, of_strata = noises
        free_x, free_y, within_x, within_y = x.free[:, i], y.free[:, j], x.within[i], y.within[j]
        across = of_pair[:, None, None] * within_y + _turned(free_y, x.noise[i])
        noise = _kron(within_x, across)
        noise += _kron(_turned(free_x, y.noise[j]), within_y)
        free = free_x[..., :, None] * free_y[..., None, :]
        noise += _turned(free.reshape(*free.shape[:3], m), of_strata)
    freedom = (x.seen[:, i] - 1) * (y.seen[:, j] - 1)
    return Parts(d.reshape(copies, tests, m), sampling.reshape(copies, tests, m, m), noise, freedom)


def _without(
    parts: Parts, evidence: TableEvidence, pairs: Indices, shares: tuple[Floats, Floats]
) -> Parts:
    """The parts of pairs without what weights feign between independent columns, and with the doubt
    about that; from the shares (replicas x pairs x levels) of both ends."""
    feigned, bent = evidence.feigned, list[Floats]()
    assert feigned is not None
    for ends, own in zip(pairs.T, shares, strict=True):
        bends = feigned.bends[ends, : own.shape[-1]]
        bent.append((own * (bends - (own * bends).sum(axis=-1, keepdims=True)))[..., :-1])
    rows = np.maximum(np.atleast_1d(evidence.rows), 0.0)[:, None, None]
    v = rows * (bent[0][..., :, None] * bent[1][..., None, :]).reshape(parts.d.shape)
    doubt = feigned.doubt**2 * v[..., :, None] * v[..., None, :]
    return replace(parts, d=parts.d - feigned.curvature * v, noise=parts.noise + doubt)


def _kron(a: Floats, b: Floats) -> Floats:
    out = a[..., :, None, :, None] * b[..., None, :, None, :]
    m = a.shape[-1] * b.shape[-1]
    return out.reshape(*out.shape[:-4], m, m)


def _turned(vectors: Floats, covariance: Floats) -> Floats:
    """The covariance, of strata, seen in so many directions."""
    out: Floats = vectors.swapaxes(-1, -2) @ (covariance @ vectors)
    return out


def _spread(design: Floats, variances: Floats) -> Floats:
    """The covariance of strata whose components have these variances."""
    out: Floats = (design * variances[:, None, :]) @ design.swapaxes(1, 2)
    return out


def _unique(sets: Indices, size: int) -> tuple[Indices, Indices]:
    """Each row once, and where each is among these."""
    _, first, where = np.unique(keys(sets, size), return_index=True, return_inverse=True)
    return sets[first], where.ravel()
