"""Additive-noise models on the rows: regress either column on the other with one half, and hold
the residuals of the other half against the cause [Kusner et al. 2016, with proved bounds].

Both halves are protected. That takes a stiff regression, whose residuals say much less than those
of a good one: at every budget the table says more. Orders of residuals (Spearman, Kendall) have no
bound at all for people in the training half, and interquartile ranges none by themselves: they are
released where a noisy test has found them stable (``stable``), for a delta, or not at all. Ranges
come from quartiles by selection, too, which need no delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import log, sqrt

import numpy as np

from privet.pairs import as_published, quartiles, screen, stable
from privet.pairs.flips import by_four_noises, by_one_noise, by_two_noises, normal, within
from privet.pairs.options import Choices
from privet.pairs.quartiles import QUARTERS, Quartiles
from privet.pairs.stable import PER_RANK, forgotten
from privet.pairs.way import Orientation, Pair, Way, answer
from privet.privacy.queries.additive_noise import RANKS, Anm, AnmScores
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import check_pair
from privet.privacy.queries.residuals import (
    LEAST_IQR,
    OF,
    REACH,
    UNIT,
    IqrStability,
    LogIqr,
    Of,
    QuartileRanks,
)
from privet.privacy.queries.ridge import FINE, public_bandwidth
from privet.privacy.queries.tested import RankStability
from privet.schema.model import Schema
from privet.trust.curator import Curator

SCORES = {
    "sqrt-hsic": "root of HSIC of cause and residual",
    "hsic": "HSIC of cause and residual",
    "kendall": "Kendall's rank correlation of cause and residual",
    "spearman": "Spearman's rank correlation of cause and residual",
}
LOOK = Fraction(1, 10)  # of what a pair may spend, to see that its columns vary and depend
CITE = "Kusner et al. 2016"
FAILED = "no answer: it was not found stable"
WHY_FAILED = (
    "a noisy test did not find that one record can change little about this score, so it was not "
    "released; more rows or a larger epsilon may help, and another method may need neither"
)


SMOOTH = (
    "the regression is smoothed until one person can change little about it, and so leaves much of "
    "the effect in the residuals: the direction is often wrong, however small the probability that "
    "noise has turned it, and how often is not known"
)


def check_scores(score: str, schema: Schema, pair: Pair, choices: Choices) -> None:
    check_pair(pair.x, pair.y, None, None, schema)
    if choices.bandwidth is not None:
        public_bandwidth(choices.bandwidth)
    _query(score, pair, choices, exact=False).check(schema)


def check_quartiles(schema: Schema, pair: Pair, choices: Choices) -> None:
    check_pair(pair.x, pair.y, None, None, schema)
    _model(pair, choices, exact=False).check(schema)


def _model(pair: Pair, choices: Choices, *, exact: bool) -> Anm:
    """Public settings: those for both halves protected, or those that tell directions best."""
    usual = as_published.RIDGE if exact and choices.protect != "training" else Anm.ridge
    return Anm(
        x=pair.x,
        y=pair.y,
        ridge=usual if choices.ridge is None else choices.ridge,
        x_range=pair.x_range,
        y_range=pair.y_range,
    )


def _query(score: str, pair: Pair, choices: Choices, *, exact: bool) -> AnmScores:
    kernel = as_published.KERNEL if exact else AnmScores.kernel
    if choices.bandwidth is not None:
        kernel = public_bandwidth(choices.bandwidth)
    ranks = score in RANKS and choices.protect == "training"
    return AnmScores(
        model=_model(pair, choices, exact=exact),
        score=score,
        release="sign" if choices.release == "sign" else "scores",
        protect=choices.protect,
        kernel=kernel,
        pairs=0 if ranks else None,
    )


def measure_scores(
    score: str, curator: Curator, pair: Pair, choices: Choices, share: Fraction
) -> tuple[Release, ...]:
    query = _query(score, pair, choices, exact=not curator.private)
    coarse = screen.ask(curator, pair, share * LOOK)
    if score in RANKS and curator.private:
        return coarse, *stable.ranks(curator, query, share * (1 - LOOK))
    return coarse, forgotten(curator.release(query, share * (1 - LOOK)))


def publish_scores(
    score: str, curator: Curator, pair: Pair, choices: Choices, epsilon: float, delta: float
) -> tuple[Release, ...]:
    query = _query(score, pair, choices, exact=True)
    exact = screen.ask(curator, pair, Fraction(1))
    return exact, *as_published.scores(_noisy(curator, choices), query, epsilon, delta)


def _noisy(curator: Curator, choices: Choices) -> as_published.Noisy:
    return as_published.Noisy(curator=curator, rng=np.random.default_rng(choices.seed))


def holds_scores(score: str, releases: tuple[Release, ...]) -> bool:
    failed = any(isinstance(release.query, RankStability) for release in releases)
    return _score(score, releases) is not None or (failed and score in RANKS)


def judge_scores(
    score: str, schema: Schema, pair: Pair, releases: tuple[Release, ...], choices: Choices
) -> Orientation:
    reason, notes = _seen(releases, schema, choices)
    release = _score(score, releases)
    if release is None:
        return _unanswered(pair, notes)
    query = release.asked(AnmScores)
    unit, most = query.unit(schema), query.most(schema)
    values = [float(value) * unit for value in release.values]
    deviation = sqrt(release.variance) * unit
    if len(values) == 1:
        flipped = by_one_noise(within(values[0], most), deviation, release.mechanism)
        return answer(pair, values[0], flipped=flipped, reason=reason, notes=notes)
    forward, backward = -values[0], -values[1]
    gap = within(forward - backward, most)
    flipped = by_two_noises(gap, deviation, release.mechanism)
    return answer(
        pair,
        forward - backward,
        flipped=flipped,
        reason=reason,
        notes=notes,
        forward=forward,
        backward=backward,
    )


def _seen(
    releases: tuple[Release, ...], schema: Schema, choices: Choices
) -> tuple[str, tuple[str, ...]]:
    """A reason against any answer, or none; and warnings, of a smooth regression as well."""
    reason, notes = screen.seen(releases, schema, choices)
    models = (getattr(release.query, "model", None) for release in releases)
    smooth = any(isinstance(model, Anm) and model.ridge > as_published.RIDGE for model in models)
    return reason, (SMOOTH, *notes) if smooth else notes


def _score(score: str, releases: tuple[Release, ...]) -> Release | None:
    for release in releases:
        if isinstance(release.query, AnmScores) and release.query.score == score:
            return release
    return None


def _unanswered(pair: Pair, notes: tuple[str, ...]) -> Orientation:
    return Orientation(
        a=pair.x,
        b=pair.y,
        direction="undecided",
        difference=None,
        reason=FAILED,
        notes=(*notes, WHY_FAILED),
    )


def measure_quartiles(
    curator: Curator, pair: Pair, choices: Choices, share: Fraction
) -> tuple[Release, ...]:
    """Eight selections; without privacy, four ranges."""
    if not curator.private:
        return _exact_ranges(curator, pair, choices)
    coarse = screen.ask(curator, pair, share * LOOK)
    model = _model(pair, choices, exact=False)
    asked = [QuartileRanks(model=model, of=of, quarter=q) for of in OF for q in QUARTERS]
    price = share * (1 - LOOK) / len(asked)
    grid = QuartileRanks.edges()
    edges = [int(grid[curator.select(query, price)]) for query in asked]
    epsilon = curator.selection_epsilon(price)
    scale = 2 * curator.schema.rows_per_person / epsilon
    mechanism = f"Select(epsilon={epsilon:.6g})"
    return coarse, forgotten(quartiles.as_release(model, edges, 2 * scale**2, mechanism))


def measure_ranges(
    curator: Curator, pair: Pair, choices: Choices, share: Fraction
) -> tuple[Release, ...]:
    """Four ranges, each after a test; without privacy, without."""
    if not curator.private:
        return _exact_ranges(curator, pair, choices)
    coarse = screen.ask(curator, pair, share * LOOK)
    model = _model(pair, choices, exact=False)
    return coarse, *stable.ranges(curator, model, share * (1 - LOOK))


def _exact_ranges(curator: Curator, pair: Pair, choices: Choices) -> tuple[Release, ...]:
    model = _model(pair, choices, exact=True)
    found = (forgotten(curator.exact(LogIqr(model=model, of=of))) for of in OF)
    return screen.ask(curator, pair, Fraction(1)), *found


def publish_quartiles(
    curator: Curator, pair: Pair, choices: Choices, epsilon: float, delta: float
) -> tuple[Release, ...]:
    model = _model(pair, choices, exact=True)
    noisy, protect = _noisy(curator, choices), choices.protect
    exact = screen.ask(curator, pair, Fraction(1))
    return exact, *as_published.ranges(noisy, model, protect, epsilon, delta)


def holds_quartiles(releases: tuple[Release, ...]) -> bool:
    return any(isinstance(r.query, Quartiles | LogIqr | IqrStability) for r in releases)


def judge_quartiles(
    schema: Schema, pair: Pair, releases: tuple[Release, ...], choices: Choices
) -> Orientation:
    """log IQR(cause) + log IQR(residual) is smaller in the causal direction."""
    reason, notes = _seen(releases, schema, choices)
    selected = next((r for r in releases if isinstance(r.query, Quartiles)), None)
    logs = dict(_logs(releases)) if selected is None else _selected_logs(selected)
    if len(logs) < len(OF):
        return _unanswered(pair, notes)
    forward = -logs["x"] - logs["y given x"]
    backward = -logs["y"] - logs["x given y"]
    difference = forward - backward
    if selected is not None:
        flipped = normal(difference, _deviation(selected, schema))
    else:
        one = next(r for r in releases if isinstance(r.query, LogIqr))
        gap = within(difference, 2 * log(2 * REACH / LEAST_IQR))
        flipped = by_four_noises(gap, sqrt(one.variance) / UNIT, one.mechanism)
    return answer(
        pair,
        difference,
        flipped=flipped,
        reason=reason,
        notes=notes,
        forward=forward,
        backward=backward,
    )


def _logs(releases: tuple[Release, ...]) -> Iterator[tuple[Of, float]]:
    for release in releases:
        if isinstance(release.query, LogIqr):
            yield release.query.of, float(release.values[0]) / UNIT


def _selected_logs(found: Release) -> dict[Of, float]:
    widths = quartiles.ranges(found)
    return {of: log(max(width, LEAST_IQR) / FINE) for of, width in widths.items()}


def _deviation(found: Release, schema: Schema) -> float:
    """Of the difference, if columns and residuals are bell-shaped: a quartile that is some ranks
    off is so much off in width, and, of residuals, so often η besides."""
    model = found.asked(Quartiles).model
    m = max(model.test_rows(schema), 1)
    eta, total = model.eta(schema) / FINE, 0.0
    for of, width in quartiles.ranges(found).items():
        steps = eta / (max(width, LEAST_IQR) / FINE) if "given" in of else 0.0
        total += 2 * found.variance * (PER_RANK / m + steps) ** 2
    return sqrt(total)


USES = frozenset({"ridge", "find_bounds", "release"})
WAYS = (
    *(
        Way(
            name=f"anm-{score}",
            summary=f"additive-noise model: {summary}",
            cite=CITE,
            private=True,
            needs_rows=True,
            tested=score in RANKS,
            evidence=f"scores of anm-{score}",
            check=partial(check_scores, score),
            measure=partial(measure_scores, score),
            holds=partial(holds_scores, score),
            judge=partial(judge_scores, score),
            uses=USES | {"protect", "bandwidth"},
            published=partial(publish_scores, score),
        )
        for score, summary in SCORES.items()
    ),
    Way(
        name="anm-iqr",
        summary="additive-noise model: interquartile ranges of cause and residual",
        cite=CITE,
        private=True,
        needs_rows=True,
        accounting="zcdp",
        evidence="quartiles of residuals",
        check=check_quartiles,
        measure=measure_quartiles,
        holds=holds_quartiles,
        judge=judge_quartiles,
        uses=USES | {"protect"},
        published=publish_quartiles,
    ),
    Way(
        name="anm-iqr-tested",
        summary="additive-noise model: interquartile ranges, if a noisy test finds them stable",
        cite=CITE,
        private=True,
        needs_rows=True,
        tested=True,
        evidence="interquartile ranges of residuals",
        check=check_quartiles,
        measure=measure_ranges,
        holds=holds_quartiles,
        judge=judge_quartiles,
        uses=USES,
    ),
)
