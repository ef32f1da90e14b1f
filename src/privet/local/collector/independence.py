"""Tests of independence on what randomised reports say, hundreds at a time.

To test x ⊥ y | Z, let

    δ = p(x, y) - Σ_z p(x, z) p(y, z) / p(z)              (last row and column dropped)

with estimated tables. It vanishes if x and y are independent in every stratum, whatever
p(x, y, z) is, so it needs the tables of (x, y), (x, Z) and (y, Z) only: pairs give all tests with
one column given, triples all with two. To first order a person with answers (x, y, z) moves δ by

    g(x, y, z) = (e_x - p(·|z)) ⊗ (e_y - q(·|z)),

from which the law of the estimates makes the covariance C of δ. The statistic is δ' C^-1 δ, with
(k_x - 1)(k_y - 1) degrees of freedom. Strata that are not well above their own noise are taken
together, since to divide by their share would be to divide by noise. See
proofs/local-evidence.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log, prod

import numpy as np
from scipy.special import chdtrc

from privet.arrays import Bools, Floats, Indices
from privet.evidence.prior import EFFECTS
from privet.local.collector.tables import LocalEvidence

BLOCK_NUMBERS = 2_000_000  # in one block of work, so that memory stays bounded
SURELY = 3.0  # deviations by which the share of a stratum must exceed 0
SMALLEST = 1e-4  # share that a level is given at least, compared with an even one
FEWEST = 50.0  # people without noise that a column must be worth, for errors to be small
GRAIN = 0.25  # variance of doubt about each count, since people are whole


@dataclass(frozen=True)
class Tested:
    """Many tests (on the last axis; a stack of replicas has one before it): statistic, degrees
    of freedom (0: there is no saying), p-value, log Bayes factor for dependence, and the squared
    effect φ² without the part that noise adds."""

    statistic: Floats
    freedom: Floats
    p_value: Floats
    log_bayes: Floats
    effect: Floats


BLANK = np.array([0.0, 0.0, 1.0, 0.0, 1e-9])


def tested(evidence: LocalEvidence, questions: Indices) -> Tested:
    """Tests of questions (x, y, *Z), all with as many members of Z."""
    out = np.zeros((len(BLANK), *evidence.replicas, len(questions)))
    out.T[:] = BLANK
    questions = _canonical(evidence, questions)
    for chosen in _groups(evidence, questions):
        answers = _test(evidence, questions[chosen])
        out[..., chosen] = answers.reshape(len(BLANK), *evidence.replicas, len(chosen))
    return Tested(*out)


def _canonical(evidence: LocalEvidence, questions: Indices) -> Indices:
    """x and y, and the members of Z, by number of levels: the answer is the same, shapes fewer."""
    k = np.array(evidence.sizes)
    pair = np.argsort(k[questions[:, :2]], axis=1, kind="stable")
    given = np.argsort(k[questions[:, 2:]], axis=1, kind="stable") + 2
    return np.take_along_axis(questions, np.hstack([pair, given]), axis=1)


def _groups(evidence: LocalEvidence, questions: Indices) -> Iterator[Indices]:
    """Questions whose tables have the same shape, in blocks of bounded size."""
    if not len(questions):
        return
    shapes = np.array(evidence.sizes)[questions]
    _, group = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1):
        k = shapes[members[0]]
        numbers = prod(k.tolist()) * int((k[0] - 1) * (k[1] - 1)) * 4 * len(k)
        step = max(1, BLOCK_NUMBERS // (numbers * prod(evidence.replicas)))
        for start in range(0, len(members), step):
            yield members[start : start + step]


def _test(evidence: LocalEvidence, questions: Indices) -> Floats:
    """The numbers of ``Tested``, (numbers, tests). Replicas are judged by the covariance of the
    evidence that they are replicas of."""
    basis = evidence.basis or evidence
    pair, x, y = _tables(basis, questions)
    strata = x.sum(axis=1)
    groups = np.ones((len(x), 1, 1), dtype=bool)
    if questions.shape[1] > 2:
        groups = _together(basis, questions[:, 2:], strata)
    delta, x_given, y_given = _departure(pair, x, y, groups)
    given = [evidence.sizes[i] for i in questions[0, 2:]]
    influence, null = _influence(shares(x_given), shares(y_given), shares(strata), given)
    parts = {at: w for at, w in _parts(influence).items() if len(at) < 3 or at[1] != 1}
    covariance = basis.law.covariance(questions, parts, null)
    flat = influence.reshape(*influence.shape[:2], -1)
    sampling = (flat * null.reshape(len(flat), 1, -1)) @ flat.swapaxes(1, 2)
    worth = np.maximum(basis.law.worth(questions[:, :2]), 1e-9)
    grain = GRAIN / np.tile(worth, len(delta) // len(worth)) ** 2
    if basis is not evidence:
        pair, x, y = (
            part.reshape(-1, len(groups), *part.shape[1:]) for part in _tables(evidence, questions)
        )
        delta = _departure(pair, x, y, groups)[0]
    answers = _weighed(delta, covariance, sampling, grain)
    if given:  # one stratum for all: nothing was given
        answers[1, ..., groups.all(axis=(1, 2))] = 0.0
    return answers.reshape(len(BLANK), -1)


def _tables(evidence: LocalEvidence, questions: Indices) -> tuple[Floats, Floats, Floats]:
    """Estimated tables of (x, y), (x, strata) and (y, strata)."""
    pair = evidence.tables(questions[:, :2])
    if questions.shape[1] == 2:
        return pair, pair.sum(axis=2)[:, :, None], pair.sum(axis=1)[:, :, None]
    sides = [evidence.tables(np.delete(questions, end, axis=1)) for end in (1, 0)]
    x, y = (side.reshape(*side.shape[:2], -1) for side in sides)
    return pair, x, y


def _departure(pair: Floats, x: Floats, y: Floats, groups: Bools) -> tuple[Floats, Floats, Floats]:
    """δ, and the shares of x and of y given the (group of the) stratum, as estimated."""
    total = x.sum(axis=-2, keepdims=True) @ groups
    total = np.where(np.abs(total) < 1e-9, 1e-9, total)
    x_given, y_given = (x @ groups) / total, (y @ groups) / total
    delta = pair - x @ y_given.swapaxes(-1, -2)
    return delta[..., :-1, :-1], x_given, y_given


def shares(estimates: Floats) -> Floats:
    """Estimates made into shares along axis 1; none is 0."""
    sure = np.maximum(estimates, SMALLEST / estimates.shape[1])
    out: Floats = sure / sure.sum(axis=1, keepdims=True)
    return out


def _influence(x: Floats, y: Floats, strata: Floats, given: list[int]) -> tuple[Floats, Floats]:
    """g (tests, statistics, *cells) and the distribution under independence (tests, *cells), from
    shares of x and of y in each stratum and those of the strata."""
    a, b = x.shape[1], y.shape[1]
    row = np.eye(a)[None, :-1, :, None] - x[:, :-1, None, :]
    column = np.eye(b)[None, :-1, :, None] - y[:, :-1, None, :]
    g = row[:, :, None, :, None, :] * column[:, None, :, None, :, :]
    null = x[:, :, None, :] * y[:, None, :, :] * strata[:, None, None, :]
    return g.reshape(len(x), (a - 1) * (b - 1), a, b, *given), null.reshape(len(x), a, b, *given)


def _parts(influence: Floats) -> dict[tuple[int, ...], Floats]:
    """The influence function, set by set: centred in the columns of the set, averaged over the
    others."""
    found: dict[tuple[int, ...], Floats] = {(): influence}
    for axis in range(influence.ndim - 2):
        means = {at: w.mean(axis=axis + 2, keepdims=True) for at, w in found.items()}
        found = means | {(*at, axis): w - means[at] for at, w in found.items()}
    del found[()]
    return found


def _together(evidence: LocalEvidence, given: Indices, strata: Floats) -> Bools:
    """Which strata are taken together, (tests, strata, strata): all whose share is not surely
    above 0, and as many of the smallest others as it takes for their common share to be."""
    tests, k = strata.shape
    shape = [evidence.sizes[i] for i in given[0]]
    here = np.broadcast_to(np.eye(k), (tests, k, k)).reshape(tests, k, *shape)
    null = shares(strata).reshape(tests, *shape)
    covariance = evidence.law.covariance(given, _parts(here), null)
    order = np.argsort(strata, axis=1)
    ranked = np.take_along_axis(strata, order, axis=1)
    at = np.arange(tests)[:, None, None]
    covariance = covariance[at, order[:, :, None], order[:, None, :]]
    weak = ranked < SURELY * _deviations(covariance)
    sure = ranked.cumsum(axis=1) >= SURELY * _deviations(covariance.cumsum(axis=1).cumsum(axis=2))
    # the last weak one is in, and whatever it takes beyond it
    beyond = np.arange(k) >= k - 1 - weak[:, ::-1].argmax(axis=1)[:, None]
    enough = sure & beyond
    last = np.where(enough.any(axis=1), enough.argmax(axis=1), k - 1)
    last = np.where(weak.any(axis=1), last, -1)
    inside = np.argsort(order, axis=1) <= last[:, None]
    return (inside[:, :, None] & inside[:, None, :]) | np.eye(k, dtype=bool)


def _deviations(covariance: Floats) -> Floats:
    out: Floats = np.sqrt(np.maximum(np.einsum("tii->ti", covariance), 0.0))
    return out


def _weighed(delta: Floats, covariance: Floats, sampling: Floats, grain: Floats) -> Floats:
    """The numbers of ``Tested``. The Bayes factor compares δ ~ N(0, C) with δ ~ N(0, C + τ² S), S
    the covariance of one person's g, averaged over τ."""
    a, b = delta.shape[-2:]
    m = a * b
    doubt = np.kron(np.eye(a) - 1 / (a + 1), np.eye(b) - 1 / (b + 1))
    covariance = covariance + grain[:, None, None] * doubt
    ridge = 1e-9 * np.einsum("tii->t", covariance) / m + 1e-24
    inverse = np.linalg.inv(np.linalg.cholesky(covariance + ridge[:, None, None] * np.eye(m)))
    values, vectors = np.linalg.eigh(inverse @ sampling @ inverse.swapaxes(1, 2))
    values = np.maximum(values, 1e-300)
    turn = inverse.swapaxes(1, 2) @ vectors
    squared = (delta.reshape(*delta.shape[:-2], 1, m) @ turn)[..., 0, :] ** 2
    grown = np.array(EFFECTS)[:, None, None] ** 2 * values
    terms = [0.5 * (squared * one / (1 + one) - np.log1p(one)).sum(axis=-1) for one in grown]
    statistic = squared.sum(axis=-1)
    effect = np.maximum(((squared - 1) / values).sum(axis=-1), BLANK[4])
    log_bayes = np.logaddexp.reduce(terms) - log(len(EFFECTS))
    freedom = np.full(statistic.shape, float(m))
    return np.stack([statistic, freedom, chdtrc(m, statistic), log_bayes, effect])


@dataclass(frozen=True)
class LocalJudge:
    """Answers questions (x, y, *Z) from reports; on a stack of replicas one row per replica."""

    evidence: LocalEvidence
    alpha: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        """Squared effect φ² of each pair, without what noise adds."""
        evidence = self.evidence.plain or self.evidence
        size = len(evidence.names)
        pairs = np.array(list(combinations(range(size), 2)), dtype=np.intp).reshape(-1, 2)
        out = np.full((*evidence.replicas, size, size), BLANK[4])
        known = pairs[self._known(pairs)]
        effect = tested(evidence, known).effect
        out[..., known[:, 0], known[:, 1]] = out[..., known[:, 1], known[:, 0]] = effect
        return out

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent.

        Without evidence two columns are not joined; but a question with columns given that
        cannot be answered does not speak for independence: its answer is infinite.
        """
        bar = log(1 / self.alpha)
        given = questions.shape[1] > 2
        evidence = self.evidence if given else self.evidence.plain or self.evidence
        out = np.full((*evidence.replicas, len(questions)), np.inf if given else -bar)
        known = self._known(questions)
        found = tested(evidence, questions[known])
        out[..., known] = np.where(found.freedom > 0, found.log_bayes - bar, np.inf)
        return out

    def _known(self, questions: Indices) -> Bools:
        """Whether the tables of (x, y), (x, Z) and (y, Z) can be had, of columns about which
        enough is known for the tests to hold."""
        known: Bools = self._sure[questions].all(axis=1) & self.evidence.known(questions[:, :2])
        if questions.shape[1] > 2:
            for end in (0, 1):
                known &= self.evidence.known(np.delete(questions, end, axis=1))
        return known

    @property
    def _sure(self) -> Bools:
        columns = np.arange(len(self.evidence.names), dtype=np.intp)[:, None]
        return np.asarray(self.evidence.law.worth(columns) >= FEWEST)
