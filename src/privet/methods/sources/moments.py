"""Second moments of numeric columns: what the moment methods measure.

A tenth of the budget finds where each column lies between its bounds (so bounds that are ten
times too wide do no harm), a fifth the rough shape of the data, and the rest measures second
moments in coordinates in which that shape is round. Of each row only the direction is used, so
no row weighs more than another and the noise is as small as it can be; and as it is the same in
all directions, it adds the same to every partial correlation. Everything after that is free.

Privacy. Each release is Gaussian noise on exact integers with the sensitivity proved in
``proofs/moments.md``; centres and coordinates are functions of earlier releases and public
facts. So the run is an adaptive composition of at most the run's budget, which the ledger's
filter enforces (``proofs/filter.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import comb, log

import numpy as np

from privet.arrays import Bools
from privet.errors import MethodError
from privet.evidence.copies import correlated
from privet.evidence.location import locate
from privet.evidence.moments import (
    FINAL,
    LOCATION,
    SHAPE,
    MomentEvidence,
    standardised,
    uncut,
    whitened,
)
from privet.evidence.plan import moment_effects
from privet.evidence.prior import most_odds
from privet.independence.effects import of_moments
from privet.independence.fisher_z import MomentJudge
from privet.independence.joint import JointMomentJudge
from privet.methods.basis import Ascent, Basis, Replicas, Wide, on_scores, on_tests
from privet.methods.copies import copies_of
from privet.methods.options import Settings
from privet.methods.search import Search, check_order
from privet.methods.sources.source import NUMERIC, TESTS_AND_SCORES, Source, by_site
from privet.privacy.queries.base import Release
from privet.privacy.queries.moments import Locations
from privet.schema.model import Schema
from privet.scores import gaussian
from privet.search.protocols import ClosedForm, Judge
from privet.search.rows import believed
from privet.trust.curator import Curator

MOST_COLUMNS = 1000
NOISY_PRICE = 1.5  # of an edge in BIC, for noise that all edges share [found by experiment]


def check(schema: Schema, settings: Settings) -> None:
    size = len(schema.columns)
    if size > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {size} columns; moments serve up to {MOST_COLUMNS}, because all pairs "
            f"are measured, here {comb(size, 2):,}; leave some columns out of the schema"
        )
    for column in schema.columns:
        if column.missing == "level":
            raise MethodError(
                f'column {column.name!r} has missing = "level", which is no number; moments '
                "need a value or drop as missing policy; change it, or use interaction-pc"
            )
    check_order(settings)


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    names = curator.schema.names
    settings.on_step("locating the columns", 0.0)
    located = curator.release(Locations(columns=names), LOCATION)
    centres, deviations = locate(located, curator.schema)
    settings.on_step("measuring moments", 0.1)
    if located.variance == 0:  # without privacy: nothing to gain from cutting rows
        return located, curator.release(uncut(names, centres, deviations), SHAPE)
    rough = curator.release(standardised(names, centres, deviations), SHAPE)
    settings.on_step("measuring moments where they are round", 0.3)
    return located, rough, curator.release(whitened(rough), FINAL)


def basis(
    schema: Schema, releases: tuple[Release, ...], settings: Settings, search: Search
) -> Basis:
    """Gaussian scores of as many rows as would know as much, and tests that know the noise. Of
    several sites, tests alone: their columns may have different laws, so no score adds up."""
    sites = tuple(MomentEvidence.from_releases(each) for each in by_site(releases))
    found = _on(sites[0], settings) if len(sites) == 1 else _on_sites(sites, settings, search)
    return replace(found, copies=copies_of(schema, correlated(sites)))


def _on_sites(sites: tuple[MomentEvidence, ...], settings: Settings, search: Search) -> Basis:
    if search.needs == "weights":
        raise MethodError(
            f"{search.name} fits weights to one covariance, but this evidence has one for each of "
            f"{len(sites)} sites; use moment-pc, moment-ges or another search that tests"
        )
    size = len(sites[0].names)
    alpha = settings.level(size)

    def stack(count: int, rng: np.random.Generator) -> JointMomentJudge:
        return JointMomentJudge(tuple(site.replicas(count, rng) for site in sites), alpha)

    made = on_tests(JointMomentJudge(sites, alpha), stack, size, _of_each)
    return replace(made, effects=partial(of_moments, sites))


def _of_each(judge: Judge) -> Sequence[Judge]:
    """The judges of the sites that a joint one asks."""
    return judge.judges if isinstance(judge, JointMomentJudge) else (judge,)


def _on(evidence: MomentEvidence, settings: Settings) -> Basis:
    size = len(evidence.names)
    alpha = settings.level(size)
    judge = MomentJudge(evidence, alpha)
    alone = on_scores(judge, _score(evidence, settings))

    def replicas(count: int, rng: np.random.Generator) -> Replicas:
        near, stack = alone.listener.near(size), evidence.replicas(count, rng)
        each = _each(stack, count, settings, near)
        return Replicas(
            judge=MomentJudge(stack, alpha),
            each=each,
            near=near,
            separators=alone.listener.separators,
            wide=(_wide(gaussian.replica(stack, r), alpha) for r in range(count)),
            sharp=not evidence.noise,
        )

    effects = partial(of_moments, [evidence])
    ascent = _ascent(evidence, judge, settings)
    return replace(
        alone,
        replicas=replicas,
        moments=evidence,
        effects=effects,
        ascent=ascent,
        wide=_wide(evidence, alpha),
    )


def _wide(evidence: MomentEvidence, alpha: float) -> Wide:
    judge = MomentJudge(evidence, alpha)
    metric = evidence.scaled_metric if evidence.noise else np.empty((0, 0))
    tests = ClosedForm(evidence.correlations, metric, judge.doubt)
    return Wide(judge, log(1 / alpha), tests)


def _score(evidence: MomentEvidence, settings: Settings, price: float = 1.0) -> gaussian.Gaussian:
    if settings.score == "bge":
        return gaussian.bge(evidence)
    # with noise, tests have a say, which know how often columns are joined
    odds = 1.0 if evidence.noise else most_odds(len(evidence.names))
    return gaussian.gaussian_bic(evidence, settings.penalty * price, odds)


def _ascent(evidence: MomentEvidence, judge: MomentJudge, settings: Settings) -> Ascent:
    """With noise, a score takes it to be the same in all directions, which it is not where columns
    nearly tell each other: there is too much to gain. So nothing is inserted that a test, which
    knows the noise of each direction, finds independent."""
    if not evidence.noise:
        score = _score(evidence, settings)
        return Ascent(score.gains, score.rows, score.formula())
    score = _score(evidence, settings, NOISY_PRICE)
    formula = replace(score.formula(), metric=evidence.scaled_metric, doubt=judge.doubt)
    # tests are about correlations, which the matrix of BGe is not
    known = None if settings.score == "bge" else formula
    return Ascent(score.gains, believed(score.rows, judge.margins), known)


def _each(
    stack: MomentEvidence, count: int, settings: Settings, near: Bools | None
) -> Iterator[Basis]:
    for r in range(count):
        yield replace(_on(gaussian.replica(stack, r), settings), near=near)


SOURCE = Source(
    prefix="moment-",
    phrase="on noisy second moments in round coordinates",
    evidence="moments",
    kinds=NUMERIC,
    private=True,
    needs_delta=True,
    gives=TESTS_AND_SCORES | {"wide", "weights", "sites"},
    check=lambda schema, settings, _search: check(schema, settings),
    measure_for=lambda _search: measure,
    basis=basis,
    kind=lambda _schema, _search: "moments",
    cite="second moments of Dwork, Talwar, Thakurta, Zhang 2014",
    plan=moment_effects,
)
