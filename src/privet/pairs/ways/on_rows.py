"""Published algorithms on the rows themselves, without privacy."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from privet.pairs.options import Choices
from privet.pairs.way import Orientation, Pair, Way, answer
from privet.pairs.ways.noisy_table import check
from privet.pairs.ways.row_scores import UNIT, PairScores
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.trust.curator import Curator

ALGORITHMS = {
    "anm": ("additive-noise model: Gaussian process, then HSIC", "Hoyer et al. 2009"),
    "reci": ("errors of cubic regressions", "Blöbaum et al. 2018"),
    "reci-cube": ("errors of regressions on the cube alone", "Kalainathan, Goudet, Dutta 2020"),
    "igci": ("entropy by 1-spacing, uniform reference", "Janzing et al. 2012"),
    "igci-gaussian": ("entropy by 1-spacing, Gaussian reference", "Janzing et al. 2012"),
    "igci-slope": ("mean log slope, uniform reference", "Daniušis et al. 2010"),
    "igci-slope-gaussian": ("mean log slope, Gaussian reference", "Daniušis et al. 2010"),
    "cds": ("conditional distributions differ in place, not in shape", "Fonollosa 2019"),
}
REASON = "it looks at single rows, and no bound on what one of them can change is known"


def measure(
    algorithm: str, curator: Curator, pair: Pair, choices: Choices, share: Fraction
) -> tuple[Release, ...]:
    return (curator.exact(PairScores(x=pair.x, y=pair.y, algorithm=algorithm)),)


def holds(algorithm: str, releases: tuple[Release, ...]) -> bool:
    return _found(algorithm, releases) is not None


def judge(
    algorithm: str, schema: Schema, pair: Pair, releases: tuple[Release, ...], choices: Choices
) -> Orientation:
    release = _found(algorithm, releases)
    assert release is not None  # as ``holds`` has said
    forward, backward = (float(value) / UNIT for value in release.values)
    return answer(pair, forward - backward, flipped=0.0, forward=forward, backward=backward)


def _found(algorithm: str, releases: tuple[Release, ...]) -> Release | None:
    for release in releases:
        if isinstance(release.query, PairScores) and release.query.algorithm == algorithm:
            return release
    return None


WAYS = tuple(
    Way(
        name=name,
        summary=summary,
        cite=cite,
        private=False,
        reason=REASON,
        evidence=f"scores of {name}",
        check=check,
        measure=partial(measure, name),
        holds=partial(holds, name),
        judge=partial(judge, name),
        uses=frozenset({"release"}),
    )
    for name, (summary, cite) in ALGORITHMS.items()
)
