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

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.table_replicas import PairNoise
from privet.evidence.tables import TableEvidence
from privet.independence import compiled
from privet.independence import pooled as pooled_parts
from privet.independence.strata import Strata, shared_noise, strata_design
from privet.independence.terms import Terms, added, grain
from privet.independence.threads import in_one_thread

# Numbers in one block of work, so that memory stays bounded whatever the size of the tables.
BLOCK_NUMBERS = 2_000_000

Count = Callable[[Indices], Sequence[Integers]]  # the tables of sets of columns


@dataclass(frozen=True)
class Tested:
    """Many tests (on the last axis; a stack of replicas has one before it): statistic, degrees
    of freedom (0: no information), p-value, and log Bayes factor for dependence."""

    statistic: Floats
    freedom: Floats
    p_value: Floats
    log_bayes: Floats


def pooled(evidence: TableEvidence, questions: Indices) -> Tested:
    """Pooled tests of questions (x, y, *Z), all with as many members of Z."""
    return jointly([evidence], questions, strata=False)[0]


def full(evidence: TableEvidence, questions: Indices) -> Tested:
    """Full tests of questions (x, y, *Z); all components of each set must have been measured."""
    return jointly([evidence], questions, strata=True)[0]


def factors(evidence: TableEvidence, questions: Indices, *, strata: bool) -> tuple[Floats, Floats]:
    """Degrees of freedom and log Bayes factors alone, of pooled tests or, with ``strata``, of full
    ones."""
    out = np.zeros((2, *evidence.replicas, len(questions)))
    quick = compiled.served(evidence, questions, strata=strata)
    if quick.any():
        out[..., quick] = compiled.factors(evidence, questions[quick], strata=strata)
    if not quick.all():
        _factors_in_arrays(evidence, questions, np.flatnonzero(~quick), strata, out)
    return out[0], out[1]


@in_one_thread
def _factors_in_arrays(
    evidence: TableEvidence, questions: Indices, some: Indices, strata: bool, out: Floats
) -> None:
    for places, (terms,) in terms_of([evidence], questions[some], strata=strata):
        out[..., some[places]] = terms.factors().reshape(2, *evidence.replicas, -1)


@in_one_thread
def jointly(
    sites: Sequence[TableEvidence],
    questions: Indices,
    asked: Bools | None = None,
    *,
    strata: bool,
) -> list[Tested]:
    """Each site's own tests, and last those for one effect that all share, with the sites as strata
    that are pooled (as Cochran, Mantel and Haenszel have it). They are pooled tests over Z, or full
    ones with ``strata``. ``asked``: which sites (rows) add to which questions."""
    replicas = sites[0].replicas
    out = np.zeros((len(sites) + 1, 4, *replicas, len(questions)))
    out[:, 2] = 1.0  # without information
    for places, terms in terms_of(sites, questions, asked, strata=strata):
        for own, each in zip(out, [*terms, added(terms)], strict=True):
            own[..., places] = each.test().reshape(4, *replicas, -1)
    return [Tested(*each) for each in out]


@in_one_thread
def pooled_counted(
    evidence: TableEvidence,
    questions: Indices,
    tables: Count,
    noise: PairNoise | None = None,
) -> Tested:
    """Pooled tests on exact evidence of pairs and counted tables of (x, Z) and (y, Z), whatever
    the size of Z; of replicas whose departures have this ``noise``, if it is given."""
    copies = () if noise is None else (noise.copies,)
    out = np.zeros((4, *copies, len(questions)))
    questions = canonical(evidence, questions)
    for chosen in _groups(evidence, questions):
        answers = _pooled_counted(tables, noise, evidence, questions[chosen])
        out[..., chosen] = answers.reshape(4, *copies, len(chosen))
    return Tested(*out)


def gauges(evidence: TableEvidence, questions: Indices, *, sizes: bool = False) -> Floats:
    """Of pooled tests: degrees of freedom, the statistic T, and how many of its numbers the
    sampling covariance S fills: the trace of C^-1 S, C the covariance. Or, for ``sizes``, d' S^-1 d
    and what noise and sampling make of it: the trace of S^-1 C."""
    out = np.zeros((3, *evidence.replicas, len(questions)))
    quick = compiled.served(evidence, questions, strata=False)
    if quick.any():
        out[..., quick] = compiled.gauges(evidence, questions[quick], sizes=sizes)
    if not quick.all():
        _gauges_in_arrays(evidence, questions, np.flatnonzero(~quick), sizes, out)
    return out


@in_one_thread
def _gauges_in_arrays(
    evidence: TableEvidence, questions: Indices, some: Indices, sizes: bool, out: Floats
) -> None:
    for places, (terms,) in terms_of([evidence], questions[some], strata=False):
        square, other = terms.covariance(), terms.sampling[:, 0]
        if sizes:
            square, other = _ridged(other + 1e-9 * terms.noise), square
        solved = np.linalg.solve(square, np.concatenate([terms.d[..., None], other], axis=2))
        statistic = np.einsum("ti,ti->t", terms.d, solved[..., 0])
        found = np.stack([terms.freedom, statistic, np.einsum("tii->t", solved[..., 1:])])
        out[..., some[places]] = found.reshape(3, *evidence.replicas, -1)


def effects(evidence: TableEvidence, pairs: Indices) -> Floats:
    """Squared effect φ² of pairs, without the part that noise and sampling add."""
    _, statistic, added = gauges(evidence, pairs, sizes=True)
    rows = np.maximum(np.asarray(evidence.rows), 1.0)[..., None]
    return np.asarray(np.maximum((statistic - added) / rows, 1e-9))


def terms_of(
    sites: Sequence[TableEvidence],
    questions: Indices,
    asked: Bools | None = None,
    *,
    strata: bool,
) -> Iterator[tuple[Indices, list[Terms]]]:
    """Places of some questions that are worked out together, and the terms of each site, with
    nothing known where it is not ``asked``; in these, all questions of the first replica come
    first. Questions that no site is asked are left out."""
    some = np.arange(len(questions))
    if asked is not None:
        some = np.flatnonzero(asked.any(axis=0))
        questions, asked = questions[some], asked[:, some]
    if not len(questions):
        return
    make = _full_by_shape if strata else _pooled_by_shape
    for found in zip(*(make(site, questions) for site in sites), strict=True):
        places = found[0][0]
        terms = [each for _, each in found]
        if asked is not None and not asked.all():
            copies = int(np.prod(sites[0].replicas))
            known = np.tile(asked[:, places], copies)
            terms = [each.known(where) for each, where in zip(terms, known, strict=True)]
        yield some[places], terms


def _pooled_by_shape(
    evidence: TableEvidence, questions: Indices
) -> Iterator[tuple[Indices, Terms]]:
    levels = np.array(evidence.cardinalities)
    for places, found in pooled_parts.parts(evidence, questions):
        tests, m = found.freedom.size, found.d.shape[-1]
        rows, cols = sorted(levels[questions[places[0], :2]].tolist())
        yield (
            places,
            Terms(
                d=found.d.reshape(tests, m),
                sampling=found.sampling.reshape(tests, 1, m, m),
                noise=np.broadcast_to(found.noise.reshape(-1, m, m), (tests, m, m)),
                rows=evidence.rows_of(tests)[:, None],
                freedom=found.freedom.reshape(tests),
                grain=grain(rows - 1, cols - 1),
            ),
        )


def _full_by_shape(evidence: TableEvidence, questions: Indices) -> Iterator[tuple[Indices, Terms]]:
    questions = canonical(evidence, questions)
    for chosen in _groups(evidence, questions):
        yield chosen, _full_terms(evidence, questions[chosen])


def canonical(evidence: TableEvidence, questions: Indices) -> Indices:
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


def _pooled_counted(
    tables: Count,
    noise: PairNoise | None,
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
    if noise is not None:
        roots, units = np.linalg.cholesky(_ridged(sampling)), noise.units(questions[:, :2])
        d = (d + np.einsum("tij,rtj->rti", roots, units)).reshape(noise.copies * tests, -1)
        sampling = np.tile(sampling, (noise.copies, 1, 1))
        freedom = np.tile(freedom, noise.copies)
    terms = Terms(
        d=d,
        sampling=sampling[:, None],
        noise=np.zeros((len(d), 1, 1)),
        rows=np.broadcast_to(evidence.rows_of(1), (len(d), 1)),
        freedom=freedom,
        grain=grain(rows, cols),
    )
    return terms.test()


def _sampling(strata: Strata, size: int) -> tuple[Floats, Integers]:
    """The sampling covariance of pooled departures, and their degrees of freedom."""
    rows, cols = strata.sampling()
    sampling = np.einsum("tzab,tzcd->tacbd", rows, cols).reshape(-1, size, size)
    sides = (strata.x, strata.y)
    seen_x, seen_y = ((side.shares > 1e-9).any(axis=1).sum(axis=1) - 1 for side in sides)
    return sampling, seen_x * seen_y


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
    noise = _full_noise(strata, shared_noise(evidence, factors, variances)((0, 1)))
    rows, cols = strata.sampling()
    blocks = np.einsum("tzab,tzcd->tzacbd", rows, cols).reshape(tests, k, m, m)
    blocks *= keep[:, :, None, None]
    at = np.arange(k * m)
    noise[:, at, at] += np.repeat(~keep, m, axis=1)  # left out: no departure, unit variance
    seen = ((x.shares > 1e-9).sum(axis=2) - 1) * ((y.shares > 1e-9).sum(axis=2) - 1)
    return Terms(
        d=(d * keep[:, :, None, None]).reshape(tests, k * m),
        sampling=blocks,
        noise=noise,
        rows=strata.total,
        freedom=(seen * keep).sum(axis=1),
        grain=grain(d.shape[2], d.shape[3], k),
    )


def _full_noise(strata: Strata, both: Floats) -> Floats:
    """The covariance of the noise of all departures, zero for strata that are left out.

    All but x is worked out first, since that is small: with x comes the noise of components that
    hold x, and beside it that of those that do not.
    """
    x, y, keep = strata.x, strata.y, strata.informative
    x_noise, common, both, y_noise = (
        (each * (keep[:, :, None] & keep[:, None, :]))[:, :, None, :, None]
        for each in (x.noise, strata.noise, both, y.noise)
    )
    # axes: test, stratum, numbers of y, the other stratum, its numbers of y
    within, free = y.within[:, None, :, None, :], _across(y.free)
    with_x, without = both * within + x_noise * free, y_noise * within + common * free
    tests, k, a = x.free.shape
    size = k * a * y.free.shape[2]
    out = with_x[:, :, None, :, :, None] * x.within[:, None, :, None, None, :, None]
    out += without[:, :, None, :, :, None] * _across(x.free)[:, :, :, None, :, :, None]
    return out.reshape(tests, size, size)


def _across(vectors: Floats) -> Floats:
    """Products of each stratum's vector with each other stratum's."""
    return vectors[:, :, :, None, None] * vectors[:, None, None, :, :]


def _ridged(covariance: Floats) -> Floats:
    """A hair's breadth more on the diagonal, so that empty levels can be inverted."""
    m = covariance.shape[1]
    ridge = 1e-9 * np.einsum("tmm->t", covariance) / m + 1e-9
    out: Floats = covariance + ridge[:, None, None] * np.eye(m)
    return out
