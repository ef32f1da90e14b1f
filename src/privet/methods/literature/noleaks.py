"""noleaks and curate-score: NOTEARS by noisy gradients, each row's share cut before adding.

NoLeaks [Ma, Ji, Pang, Wang 2022] and the score-based half of CURATE [Bhattacharjee, Tandon 2024],
with a promise that holds. A tenth of the budget finds where the columns lie, a half buys second
moments, and the rest a number of gradients that is fixed in advance: each for the same share
(noleaks), or for more and more (curate-score). The line search, the curvature and the threshold
come from what was bought (``methods/literature/descent.py``) and so cost nothing; no row is taken
for public.

Privacy. Each gradient is Gaussian noise on exact integers with the sensitivity proved in
``proofs/gradient.md``; where it is asked is a function of earlier releases and public facts. So
the run is an adaptive composition of at most the run's budget, which the ledger's filter
enforces (``proofs/filter.md``).

``moment-notears`` asks for second moments once and needs no more. These two are here to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import e, sqrt

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import EvidenceError, MethodError
from privet.evidence.location import locate
from privet.graph.graph import Graph
from privet.methods.literature.as_published import gradient as published
from privet.methods.literature.descent import CONSTANT, descend
from privet.methods.literature.weights import Weights, as_release, read
from privet.methods.method import Finding, Method, Published
from privet.methods.options import Settings
from privet.methods.search import marked
from privet.methods.searches.notears import NOTE
from privet.privacy.queries.base import Release
from privet.privacy.queries.gradient import FINE, Gradient
from privet.privacy.queries.moments import Locations
from privet.privacy.queries.tables import Tables
from privet.schema.column import did_you_mean
from privet.schema.model import Adjacency, Schema
from privet.search.constraints import Constraints
from privet.search.notears import without_circles
from privet.trust.curator import Curator

# Shares of a run's budget: where the columns lie, second moments, and all gradients together.
LOCATION, MOMENTS, GRADIENTS = Fraction(1, 10), Fraction(5, 10), Fraction(4, 10)
STEPS, MOST_STEPS = 5, 1000  # gradients: more of them share one budget and change little
SPARSITY = 0.03  # the noise of each weight is known, so little need be shrunk away beforehand
# The smallest weight that counts: in deviations of the columns, for numbers and if there are
# levels (whose effects are seldom linear, and weak when taken for it), and in those of its noise.
FLOOR, LEVELS_FLOOR, DEVIATIONS = 0.1, 0.03, 2.0
REACH = 64.0  # deviations beyond which a number is clipped; rows are cut by their length anyway
# Longest share of a row, compared with the usual one. Cutting distorts where rare levels matter,
# so it begins as far out as noise of this size in a covariance allows; exact answers are not cut.
CLIP, MOST_CLIP, FAR_CLIP, BEARABLE = 1.0, 16.0, 64.0, 0.005
NARROWEST = 1e-3  # deviation of levels, compared with their range
MOST_COLUMNS = 200
# How budgets grow from the first gradient (t = 0) to the last (t < 1).
SCHEDULES = {
    "additive": lambda t: 1 + t,
    "exponential": lambda t: e**t,
    "multiplicative": lambda t: 10**t,
}
LEVELS = "Levels were taken for equally spaced numbers, in the order in which they are declared."


def schedule(name: str, steps: int) -> tuple[Fraction, ...]:
    """The share of each gradient: increasing, in steps of a fine grid, and 1 in total."""
    grown = [Fraction(round(SCHEDULES[name](i / steps) * 2**20)) for i in range(steps)]
    return tuple(share / sum(grown) for share in grown)


def even(steps: int) -> tuple[Fraction, ...]:
    return (Fraction(1, steps),) * steps


def check(schema: Schema, settings: Settings) -> None:
    if len(schema.columns) > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {len(schema.columns)} columns; noisy gradients serve up to "
            f"{MOST_COLUMNS}, because all pairs are fitted at once; leave some columns out"
        )
    for column in schema.columns:
        if column.missing == "level":
            raise MethodError(
                f'column {column.name!r} has missing = "level", which is no number; gradients '
                "need a value or drop as missing policy; change it, or use interaction-pc"
            )
    if settings.steps is not None and not 1 <= settings.steps <= MOST_STEPS:
        raise MethodError(
            f"⟦steps⟧ is {settings.steps}, but from 1 to {MOST_STEPS} gradients can be asked for; "
            f"{STEPS} are usual"
        )


def check_schedule(schema: Schema, settings: Settings) -> None:
    check(schema, settings)
    if settings.schedule not in SCHEDULES:
        raise MethodError(
            f"⟦schedule⟧ is {settings.schedule!r}{did_you_mean(settings.schedule, SCHEDULES)}; "
            f"choose one of {', '.join(SCHEDULES)}"
        )


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    return _measure(curator, settings, even(settings.steps or STEPS))


def measure_growing(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    return _measure(curator, settings, schedule(settings.schedule, settings.steps or STEPS))


def _measure(
    curator: Curator, settings: Settings, shares: tuple[Fraction, ...]
) -> tuple[Release, ...]:
    schema, size = curator.schema, len(curator.schema.columns)
    settings.on_step("locating the columns", 0.0)
    found = _located(curator)
    cut = _cut(curator, found.rows)
    mechanism = ""

    def ask(step: int, whole: Integers, length: float) -> tuple[Floats, float]:
        nonlocal mechanism
        settings.on_step("following noisy gradients", 0.1 + 0.9 * step / (len(shares) + 1))
        query = Gradient(
            columns=schema.names,
            centres=tuple(found.centres.tolist()),
            reaches=tuple((REACH * found.deviations).tolist()),
            weights=tuple(tuple(row) for row in whole.tolist()),
            clip=cut * length / REACH**2,
            constant=round(CONSTANT * FINE / REACH),
        )
        share = GRADIENTS * shares[step - 1] if step else MOMENTS
        release = curator.release(query, share)
        mechanism, unit = release.mechanism, query.unit * REACH**2 / found.rows
        answer = release.values.reshape(size + 1, size).astype(np.float64) * unit
        return answer, release.variance * unit**2

    # errors are compared in the columns' own units if all have some, as in notears
    scales = found.deviations if schema.has_moments else np.ones(size)
    sparsity = SPARSITY if settings.sparsity is None else settings.sparsity
    constraints = Constraints.of(schema.names, schema.knowledge)
    fitted = descend(
        ask, scales, constraints, sparsity=sparsity, steps=len(shares), rows=found.rows
    )
    query = Weights(
        columns=schema.names,
        scales=tuple(scales.tolist()),
        floor=FLOOR if schema.has_moments else LEVELS_FLOOR,
        steps=len(shares),
        sparsity=sparsity,
    )
    return (as_release(query, fitted.weights, fitted.deviations, mechanism),)


def _cut(curator: Curator, rows: float) -> float:
    if not curator.private:
        return FAR_CLIP
    reach = 1 if curator.schema.adjacency is Adjacency.ADD_REMOVE else 2
    size, moved = len(curator.schema.columns), reach * curator.schema.rows_per_person
    noise = size * moved / (rows * curator.sharpness(MOMENTS + GRADIENTS))
    return min(max(BEARABLE / noise, CLIP), MOST_CLIP)


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where columns lie, and how many rows there are."""

    centres: Floats
    deviations: Floats
    rows: float


def _located(curator: Curator) -> Located:
    """From a histogram of every column: of its numbers, or of its levels."""
    schema = curator.schema
    numeric = tuple(c.name for c in schema.columns if c.kind == "numeric")
    levels = tuple(c.name for c in schema.columns if c.kind != "numeric")
    share = LOCATION / (2 if numeric and levels else 1)
    placed: dict[str, tuple[float, float]] = {}
    counted = 0.0
    if numeric:
        release = curator.release(Locations(columns=numeric), share)
        counted = release.values.sum() / len(numeric)
        ends = (side.tolist() for side in locate(release, schema))
        placed.update(zip(numeric, zip(*ends, strict=True), strict=True))
    if levels:
        release = curator.release(Tables(tuple((name,) for name in levels)), share)
        counted = release.values.sum() / len(levels)
        places = np.cumsum([schema.column(name).cardinality for name in levels])[:-1]
        for name, counts in zip(levels, np.split(release.values, places), strict=True):
            placed[name] = _middle(counts, sqrt(release.variance))
    centres, deviations = np.array([placed[name] for name in schema.names]).T
    rows = float(schema.rows or 1) if schema.rows_are_public else max(float(counted), 1.0)
    return Located(centres=centres, deviations=deviations, rows=rows)


def _middle(counts: Integers, noise: float) -> tuple[float, float]:
    """Mean and deviation of a level's number; a level that noise alone may have filled still
    has some."""
    filled = np.maximum(counts, 0.0) + 1e-9
    shares, levels = filled / filled.sum(), np.arange(len(counts))
    mean = float(shares @ levels)
    variance = float(shares @ (levels - mean) ** 2)
    rare = min(noise / filled.sum(), 0.25)
    return mean, sqrt(max(variance, rare, NARROWEST**2))


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Finding:
    release = next((one for one in releases if isinstance(one.query, Weights)), None)
    if release is None:
        raise EvidenceError(
            "this evidence holds no weights; search it with the method that measured it"
        )
    kind = release.asked(Weights)
    for name in ("steps", "sparsity"):
        if getattr(settings, name) not in (None, getattr(kind, name)):
            raise MethodError(
                f"{name} is {getattr(settings, name)}, but these weights were fitted with "
                f"{getattr(kind, name)}; leave it away, or run the method on the data"
            )
    own, deviations = read(release)
    weights = own * np.array(kind.scales) / np.array(kind.scales)[:, None]
    if settings.threshold is None:
        counts = np.abs(own) > np.maximum(kind.floor, DEVIATIONS * deviations)
    else:
        counts = np.abs(weights) > settings.threshold
    constraints = Constraints.of(schema.names, schema.knowledge)
    arrows = without_circles(np.where(counts, own, 0.0), 0.0, constraints).arrows
    graph = marked(Graph.from_matrix(schema.names, arrows, "dag"), schema.knowledge)
    return Finding(
        graph=graph, tests=kind.steps, notes=(NOTE,) if schema.has_moments else (NOTE, LEVELS)
    )


METHODS = (
    Method(
        name="noleaks",
        summary="NOTEARS by noisy gradients, each with the same share of the budget",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=True,
        cite="Ma, Ji, Pang, Wang 2022",
        evidence="weights",
        check=check,
        measure=measure,
        search=search,
        graph="dag",
        uses=frozenset({"sparsity", "threshold", "steps"}),
        published=Published(measure=published.measure, why=published.WHY),
    ),
    Method(
        name="curate-score",
        summary="NOTEARS by noisy gradients, later ones with more of the budget",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=True,
        cite="Bhattacharjee, Tandon 2024",
        evidence="weights",
        check=check_schedule,
        measure=measure_growing,
        search=search,
        graph="dag",
        uses=frozenset({"sparsity", "threshold", "steps", "schedule"}),
        published=Published(measure=published.measure_growing, why=published.WHY_GROWING),
    ),
)
