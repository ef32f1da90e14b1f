"""Noise-aware chi-square tests on evidence, thousands at a time.

To test x ⊥ y | Z, tables are put together from components. In stratum z with total N, margins
row and col and shares p and q, let

    D_z = N_z(x, y) - row col / N_z              (last row and column dropped)
    S_z = N_z (diag p - pp') ⊗ (diag q - qq')    its sampling covariance under independence
    L_z = (I - p1') ⊗ (I - q1')                  its linearisation

*Full* test: all D_z stacked, with covariance blockdiag(S_z) + L Σ L', Σ the covariance of the
noise in the table; strata whose total is not well above its own noise are left out. Without
noise it is Pearson's test. *Pooled* test: Σ_z D_z, with (r-1)(c-1) degrees of freedom whatever
Z is. It needs the pair (x, y) and the margins (x, Z) and (y, Z) only.

Σ is never formed. A table is B c, B the tensor product of the columns' inverse designs and c
the components, and 1'B picks the total. So L_z B is ``B[:-1]`` with p taken off its first
column, and each of the four kinds of components (with x and y, with x, with y, with neither)
gives one product of small matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.special import chdtrc

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.prior import EFFECTS
from privet.evidence.tables import TableEvidence
from privet.independence.strata import Strata, kronecker, outer, shared_noise, strata_design

# Numbers in one block of work, so that memory stays bounded whatever the size of the tables.
BLOCK_NUMBERS = 2_000_000
# Variance of doubt about each count, for Bayes factors: counts are whole, so where a hundredth
# of a row is expected, one row is not yet proof.
GRAIN = 0.25
BLANK = np.array([0.0, 0.0, 1.0, 0.0])  # a test without information


@dataclass(frozen=True)
class Tested:
    """Many tests (on the last axis; a stack of replicas has one before it): statistic, degrees
    of freedom (0: no information), p-value, and log Bayes factor for dependence."""

    statistic: Floats
    freedom: Floats
    p_value: Floats
    log_bayes: Floats


@dataclass(frozen=True)
class Terms:
    """What a test is made of, many at a time: departures of ``k`` strata (one, if these were
    pooled) with ``m`` numbers each, the sampling covariance of each stratum, the covariance of the
    noise, and the rows in each stratum. Terms of several sites add up."""

    d: Floats  # (tests, k m)
    sampling: Floats  # (tests, k, m, m)
    noise: Floats  # (tests, k m, k m)
    rows: Floats  # (tests, k)
    freedom: Integers

    def test(self, grain: Floats) -> Floats:
        weighed = self.sampling * np.maximum(self.rows, 0.0)[:, :, None, None]
        covariance = block_diagonal(self.sampling) + self.noise
        return _chi_square(self.d, covariance, block_diagonal(weighed), self.freedom, grain)


def pooled(evidence: TableEvidence, questions: Indices) -> Tested:
    """Pooled tests of questions (x, y, *Z), all with as many members of Z."""
    return Tested(*in_groups(evidence, questions, _pooled, BLANK))


def full(evidence: TableEvidence, questions: Indices) -> Tested:
    """Full tests of questions (x, y, *Z); all components of each set must have been measured."""
    return Tested(*in_groups(evidence, questions, _full, BLANK))


def jointly(
    sites: Sequence[TableEvidence],
    questions: Indices,
    asked: Bools,
    *,
    strata: bool,
) -> list[Tested]:
    """Each site's own tests, and last those for one effect that all share, with the sites as strata
    that are pooled (as Cochran, Mantel and Haenszel have it). They are pooled tests over Z, or full
    ones with ``strata``. ``asked``: which sites (rows) add to which questions."""
    test = partial(_jointly, sites, asked, strata)
    blank = np.tile(BLANK, len(sites) + 1)
    answers = in_groups(sites[0], questions, test, blank, numbered=True)
    return [Tested(*each) for each in np.split(answers, len(sites) + 1)]


def pooled_counted(
    evidence: TableEvidence,
    questions: Indices,
    tables: Callable[[Indices], Sequence[Integers]],
    drawn: tuple[int, np.random.Generator] | None = None,
) -> Tested:
    """Pooled tests on exact evidence of pairs and counted tables of (x, Z) and (y, Z), whatever
    the size of Z. ``drawn``: so many replicas, whose departures have fresh sampling noise."""
    test = partial(_pooled_counted, tables, drawn)
    copies = () if drawn is None else (drawn[0],)
    return Tested(*in_groups(evidence, questions, test, BLANK, replicas=copies))


def effects(evidence: TableEvidence, pairs: Indices) -> Floats:
    """Squared effect φ² of pairs, without the part that noise and sampling add."""
    out: Floats = in_groups(evidence, pairs, _effects, np.zeros(1))[0]
    return out


def in_groups(
    evidence: TableEvidence,
    questions: Indices,
    test: Callable[..., Floats],
    blank: Floats,
    replicas: tuple[int, ...] | None = None,
    numbered: bool = False,
) -> Floats:
    """The results of a test (rows) for all questions, worked out shape by shape. One that is
    ``numbered`` is also told which questions these are."""
    replicas = evidence.replicas if replicas is None else replicas
    out = np.zeros((len(blank), *replicas, len(questions)))
    out.T[:] = blank
    questions = _canonical(evidence, questions)
    for chosen in _groups(evidence, questions):
        answers = test(evidence, questions[chosen], *([chosen] if numbered else []))
        out[..., chosen] = answers.reshape(len(blank), *replicas, len(chosen))
    return out


def _canonical(evidence: TableEvidence, questions: Indices) -> Indices:
    """x and y, and the members of Z, by number of levels: the answer is the same, shapes fewer."""
    kind = evidence.kind
    pair = np.argsort(kind[questions[:, :2]], axis=1, kind="stable")
    given = np.argsort(kind[questions[:, 2:]], axis=1, kind="stable") + 2
    return np.take_along_axis(questions, np.hstack([pair, given]), axis=1)


def _groups(evidence: TableEvidence, questions: Indices) -> Iterator[Indices]:
    """Questions whose tables have the same shape, in blocks of bounded size."""
    if not len(questions):
        return
    kind = evidence.kind
    group = np.zeros(len(questions), dtype=np.int64)
    for column in kind[questions].T:
        group = group * (kind.max() + 1) + column
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        k = np.array(evidence.cardinalities)[questions[members[0]]]
        per_test = int(np.prod(k)) * int((k[0] - 1) * (k[1] - 1) * np.prod(k[2:]))
        step = max(1, BLOCK_NUMBERS // (per_test * int(np.prod(evidence.replicas))))
        for start in range(0, len(members), step):
            yield members[start : start + step]


def _pooled(evidence: TableEvidence, questions: Indices) -> Floats:
    return pooled_terms(evidence, questions).test(_grain_of(evidence, questions, strata=False))


def _full(evidence: TableEvidence, questions: Indices) -> Floats:
    return _full_terms(evidence, questions).test(_grain_of(evidence, questions, strata=True))


def _jointly(
    sites: Sequence[TableEvidence],
    asked: Bools,
    strata: bool,
    first: TableEvidence,
    questions: Indices,
    at: Indices,
) -> Floats:
    """The tests of each site, and those of the terms of all added up, for each replica."""
    terms_of, copies = _full_terms if strata else pooled_terms, int(np.prod(first.replicas))
    grain, tests = _grain_of(first, questions, strata), copies * len(questions)
    out = np.tile(BLANK[:, None], (len(sites) + 1, 1, tests))
    total: Terms | None = None
    for site, known, own in zip(sites, asked[:, at], out, strict=False):
        chosen = np.flatnonzero(known)
        if len(chosen):
            places = (np.arange(copies)[:, None] * len(questions) + chosen).ravel()
            terms = terms_of(site, questions[chosen])
            own[:, places] = terms.test(grain)
            total = added(total, terms, places, tests)
    if total is not None:
        out[-1] = total.test(grain)
    return out


def added(total: Terms | None, terms: Terms, at: Indices, tests: int) -> Terms:
    """The terms of some more tests, at their places among all."""
    if total is None:
        parts = (terms.d, terms.sampling, terms.noise, terms.rows)
        blank = [np.zeros((tests, *part.shape[1:])) for part in parts]
        total = Terms(blank[0], blank[1], blank[2], blank[3], np.zeros(tests, dtype=np.int64))
    total.d[at] += terms.d
    total.sampling[at] += terms.sampling
    total.noise[at] += terms.noise
    total.rows[at] += terms.rows
    total.freedom[at] = np.maximum(total.freedom[at], terms.freedom)
    return total


def _grain_of(evidence: TableEvidence, questions: Indices, strata: bool) -> Floats:
    k = np.array(evidence.cardinalities)[questions[0]]
    return _grain(int(k[0]) - 1, int(k[1]) - 1, int(k[2:].prod()) if strata else 1)


def _pooled_counted(
    tables: Callable[[Indices], Sequence[Integers]],
    drawn: tuple[int, np.random.Generator] | None,
    evidence: TableEvidence,
    questions: Indices,
) -> Floats:
    margins = []
    for end in (0, 1):
        counts = np.stack(tables(np.delete(questions, 1 - end, axis=1))).astype(float)
        margins.append(counts.reshape(*counts.shape[:2], -1).transpose(0, 2, 1))
    strata = Strata.counted(*margins)
    d = (evidence.tables(questions[:, :2]) - strata.products().sum(axis=1))[:, :-1, :-1]
    tests, rows, cols = d.shape
    sampling, freedom = _sampling(strata, rows * cols)
    d = d.reshape(tests, -1)
    if drawn is not None:
        copies, rng = drawn
        noise = rng.normal(size=(copies, *d.shape))
        noise = np.einsum("tij,rtj->rti", np.linalg.cholesky(ridged(sampling)), noise)
        d = (d + noise).reshape(copies * tests, -1)
        sampling, freedom = np.tile(sampling, (copies, 1, 1)), np.tile(freedom, copies)
    weighed = evidence.rows_of(1)[0] * sampling
    return _chi_square(d, sampling, weighed, freedom, _grain(rows, cols))


def _sampling(strata: Strata, size: int) -> tuple[Floats, Integers]:
    """The sampling covariance of pooled departures, and their degrees of freedom."""
    rows, cols = strata.sampling()
    sampling = np.einsum("tzab,tzcd->tacbd", rows, cols).reshape(-1, size, size)
    sides = (strata.x, strata.y)
    seen_x, seen_y = ((side.shares > 1e-9).any(axis=1).sum(axis=1) - 1 for side in sides)
    return sampling, seen_x * seen_y


def _effects(evidence: TableEvidence, pairs: Indices) -> Floats:
    d, sampling, noise, _ = _pooled_parts(evidence, pairs)
    covariance = ridged(sampling + noise)
    stacked = np.concatenate([d[..., None], covariance], axis=2)
    solved = np.linalg.solve(ridged(sampling + 1e-9 * noise), stacked)
    squared = np.einsum("ti,ti->t", d, solved[..., 0]) - np.einsum("tii->t", solved[..., 1:])
    out: Floats = np.maximum(squared / evidence.rows_of(len(d)), 1e-9)[None]
    return out


def _pooled_parts(
    evidence: TableEvidence, questions: Indices
) -> tuple[Floats, Floats, Floats, Integers]:
    """Departures, their sampling and noise covariances, and degrees of freedom."""
    coefficients, variances = evidence.coefficients(questions, apart=True)
    strata = Strata.of(evidence, questions, coefficients, variances)
    x, y = strata.x, strata.y
    inverses = [evidence.inverses(questions[:, end]) for end in (0, 1)]
    pair = coefficients.reshape(*coefficients.shape[:3], -1)[..., 0]
    table = inverses[0] @ pair @ inverses[1].transpose(0, 2, 1)
    d = (table - strata.products().sum(axis=1))[:, :-1, :-1]
    tests, m = len(d), d.shape[1] * d.shape[2]
    sampling, freedom = _sampling(strata, m)
    noise = np.zeros((1, m, m))
    if not evidence.exact:
        noise = variances[0, 1][:, None, None] * kronecker(x.within, y.within)
        noise += kronecker(x.within, y.free.transpose(0, 2, 1) @ x.noise @ y.free)
        noise += kronecker(x.free.transpose(0, 2, 1) @ y.noise @ x.free, y.within)
        free = outer(x.free, y.free).reshape(tests, -1, m)
        noise += free.transpose(0, 2, 1) @ strata.noise @ free
    return d.reshape(tests, m), sampling, noise, freedom


def pooled_terms(evidence: TableEvidence, questions: Indices) -> Terms:
    d, sampling, noise, freedom = _pooled_parts(evidence, questions)
    rows = evidence.rows_of(len(d))[:, None]
    return Terms(d, sampling[:, None], noise, rows, freedom)


def _full_terms(evidence: TableEvidence, questions: Indices) -> Terms:
    coefficients, variances = evidence.coefficients(questions)
    strata = Strata.of(evidence, questions, coefficients, variances)
    x, y, keep = strata.x, strata.y, strata.informative
    z_inverse, factors = strata_design(evidence, questions[:, 2:])
    first, second = (evidence.inverses(questions[:, end])[:, None] for end in (0, 1))
    flat = coefficients.reshape(*coefficients.shape[:3], -1)
    flat = flat @ z_inverse.transpose(0, 2, 1)[:, None]
    table = first @ flat.transpose(0, 3, 1, 2) @ second.transpose(0, 1, 3, 2)
    d = (table - strata.products())[:, :, :-1, :-1]
    tests, k, m = len(d), d.shape[1], d.shape[2] * d.shape[3]
    both = shared_noise(evidence, factors, variances)((0, 1))
    # axes: test, stratum, numbers of x and of y, the other stratum, its numbers of x and of y
    xx = x.within[:, None, :, None, None, :, None]
    yy = y.within[:, None, None, :, None, None, :]
    noise = both[:, :, None, None, :, None, None] * (xx * yy)
    across_y = x.noise[:, :, None, :, None] * _across(y.free)
    noise += across_y[:, :, None, :, :, None] * xx
    across_x = y.noise[:, :, None, :, None] * _across(x.free)
    noise += across_x[:, :, :, None, :, :, None] * yy
    free = outer(x.free, y.free).reshape(tests, k, m)
    noise = noise.reshape(tests, k, m, k, m) + strata.noise[:, :, None, :, None] * _across(free)
    noise *= (keep[:, :, None] & keep[:, None, :])[:, :, None, :, None]
    rows, cols = strata.sampling()
    blocks = np.einsum("tzab,tzcd->tzacbd", rows, cols).reshape(tests, k, m, m)
    blocks *= keep[:, :, None, None]
    flat_noise = noise.reshape(tests, k * m, k * m)
    at = np.arange(k * m)
    flat_noise[:, at, at] += np.repeat(~keep, m, axis=1)  # left out: no departure, unit variance
    seen = ((x.shares > 1e-9).sum(axis=2) - 1) * ((y.shares > 1e-9).sum(axis=2) - 1)
    return Terms(
        d=(d * keep[:, :, None, None]).reshape(tests, k * m),
        sampling=blocks,
        noise=flat_noise,
        rows=strata.total,
        freedom=(seen * keep).sum(axis=1),
    )


@lru_cache(maxsize=4096)
def _grain(rows: int, cols: int, strata: int = 1) -> Floats:
    """Covariance of half a row of doubt in each cell, the same for every choice of the level that
    is dropped. Counts are whole: without it, one row where a hundredth is expected is proof."""
    centred = [np.eye(size) - 1 / (size + 1) for size in (rows, cols)]
    out: Floats = GRAIN * np.kron(np.eye(strata), np.kron(*centred))
    return out


def _across(vectors: Floats) -> Floats:
    """Products of each stratum's vector with each other stratum's."""
    return vectors[:, :, :, None, None] * vectors[:, None, None, :, :]


def block_diagonal(blocks: Floats) -> Floats:
    tests, k, m, _ = blocks.shape
    out = np.zeros((tests, k, m, k, m))
    at = np.arange(k)
    out[:, at, :, at] = blocks.transpose(1, 0, 2, 3)
    return out.reshape(tests, k * m, k * m)


def _chi_square(
    d: Floats, covariance: Floats, weighed: Floats, freedom: Integers, grain: Floats
) -> Floats:
    """T = d' C^-1 d, its p-value, and a Bayes factor.

    The Bayes factor compares d ~ N(0, C) with d ~ N(0, C + τ² W), W the sampling covariance
    weighed by the rows, averaged over τ: its mean under independence is 1, so "dependent where
    it exceeds 1/α" errs with probability at most α (Markov's inequality).
    """
    covariance = ridged(covariance)
    calm = covariance + grain
    grown = [calm + effect**2 * weighed for effect in EFFECTS]
    (statistic, base, *squared), (_, calm_size, *sizes) = _squared_lengths(
        d, np.stack([covariance, calm, *grown])
    )
    p_value = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
    terms = [
        0.5 * (base - length + calm_size - size)
        for length, size in zip(squared, sizes, strict=True)
    ]
    log_bayes = np.logaddexp.reduce(terms) - np.log(len(EFFECTS))
    return np.stack([statistic, freedom.astype(float), p_value, log_bayes])


def ridged(covariance: Floats) -> Floats:
    """A hair's breadth more on the diagonal, so that empty levels can be inverted."""
    m = covariance.shape[1]
    ridge = 1e-9 * np.einsum("tmm->t", covariance) / m + 1e-9
    out: Floats = covariance + ridge[:, None, None] * np.eye(m)
    return out


def _squared_lengths(d: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """d' C^-1 d and log|C| for several C of each test, from one Cholesky factor of each C
    bordered by d.

    The last row of the factor is (C^(1/2))^-1 d whatever stands in the corner, as long as the
    bordered matrix is positive definite.
    """
    m = d.shape[1]
    bordered = np.empty((*covariances.shape[:2], m + 1, m + 1))
    bordered[..., :m, :m] = covariances
    bordered[..., m, :m] = bordered[..., :m, m] = d
    bordered[..., m, m] = np.inf
    root = np.linalg.cholesky(bordered)
    diagonal = np.diagonal(root, axis1=-2, axis2=-1)[..., :m]
    return (root[..., m, :m] ** 2).sum(axis=-1), 2 * np.log(diagonal).sum(axis=-1)
