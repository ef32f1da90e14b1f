"""PERI and its rivals on rows of sites in memory: exact, and not private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from privet.arrays import Bools, Floats
from privet.evidence.moments import MomentEvidence
from privet.graph.meek import cpdag
from privet.methods.searches.causal_order import causal_order
from privet.scores.gaussian import gaussian_aic, gaussian_bic
from privet.scores.spline_mdl import SplineMoments, spline_mdl
from privet.search.constraints import Constraints
from privet.search.direct_lingam import direct_lingam
from privet.search.notears_admm import notears_admm
from privet.search.peri import Noise, alone, peri, union
from privet.search.protocols import Locals
from privet.search.regret import Objective, Scored
from privet.search.rfcd import rfcd

NUMBER = 8  # bytes


@dataclass(frozen=True, kw_only=True)
class Found:
    """A class, the DAG if the method has one, and what all sites together sent."""

    matrix: Bools
    dag: Bools | None = None
    iterations: int | None = None
    bytes_up: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """Rows of the sites, the part of them that is asked at a time, and noise on regrets."""

    sites: Sequence[Floats]
    share: float
    rng: np.random.Generator
    noise: Noise | None

    @property
    def free(self) -> Constraints:
        anything = ~np.eye(self.sites[0].shape[1], dtype=bool)
        return Constraints(anything, anything, np.zeros_like(anything))

    def parties(self, score: str) -> list[Scored]:
        return [Scored(SCORES[score](site)) for site in self.sites]


def _moments(numbers: Floats) -> MomentEvidence:
    size = numbers.shape[1]
    return MomentEvidence(
        names=tuple(f"x{i}" for i in range(size)),
        rows=len(numbers),
        covariance=np.cov(numbers.T, bias=True),
        metric=np.eye(size),
        noise=0.0,
    )


SCORES: dict[str, Callable[[Floats], Locals]] = {
    "MDL": lambda numbers: spline_mdl(SplineMoments.of(numbers)),
    "BIC": lambda numbers: gaussian_bic(_moments(numbers)).local,
    "AIC": lambda numbers: gaussian_aic(_moments(numbers)).local,
}


def _peri(asked: Asked, score: str, objective: Objective) -> Found:
    found = peri(
        asked.parties(score),
        asked.free,
        objective=objective,
        share=asked.share,
        rng=asked.rng,
        noise=asked.noise,
    )
    return Found(
        matrix=found.matrix, iterations=found.iterations, bytes_up=NUMBER * sum(found.numbers)
    )


def _rfcd(asked: Asked, score: str) -> Found:
    found = rfcd(asked.parties(score), asked.free)
    return Found(
        matrix=cpdag(found.dag),
        dag=found.dag,
        iterations=found.iterations,
        bytes_up=NUMBER * sum(found.numbers),
    )


def _union(asked: Asked, score: str) -> Found:
    size = asked.sites[0].shape[1]
    sent = len(asked.sites) * -(-(size**2) // 8)
    return Found(matrix=union(asked.parties(score), asked.free), iterations=1, bytes_up=sent)


def _pooled(asked: Asked, score: str) -> Found:
    """All rows in one place, standardised site by site."""
    whole = np.concatenate(asked.sites)
    return Found(matrix=alone(Scored(SCORES[score](whole)), asked.free))


def _admm(asked: Asked) -> Found:
    covariances = [np.cov(site.T, bias=True) for site in asked.sites]
    found, rounds = notears_admm(covariances, asked.free)
    sent = NUMBER * rounds * len(covariances) * len(found.arrows) ** 2
    return Found(matrix=cpdag(found.arrows), dag=found.arrows, iterations=rounds, bytes_up=sent)


def _lingam(asked: Asked) -> Found:
    size = asked.sites[0].shape[1]
    order = causal_order(list(asked.sites), (np.zeros((size, size), dtype=bool),))
    correlations = np.stack([np.corrcoef(site.T) for site in asked.sites])
    found = direct_lingam(order, [len(site) for site in asked.sites], correlations, asked.free)
    return Found(matrix=cpdag(found.arrows), dag=found.arrows)


METHODS: dict[str, Callable[[Asked], Found]] = {
    **{f"PERI-{s}": partial(_peri, score=s, objective="worst") for s in SCORES},
    **{f"SUM-{s}": partial(_peri, score=s, objective="sum") for s in ("MDL", "BIC")},
    "RFCD-M": partial(_rfcd, score="MDL"),
    "RFCD-B": partial(_rfcd, score="BIC"),
    **{f"union-{s}": partial(_union, score=s) for s in ("MDL", "BIC")},
    "NT-ADMM": _admm,
    "LINGAM": _lingam,
    **{f"pooled-{s}": partial(_pooled, score=s) for s in ("MDL", "BIC")},
}


def found_by(
    method: str,
    sites: Sequence[Floats],
    *,
    share: float = 1.0,
    seed: int = 0,
    noise: tuple[float, int] | None = None,
) -> Found:
    """``noise`` is the scale of Laplace noise on each regret, and its seed."""
    draw = None
    if noise is not None:
        rng = np.random.default_rng([noise[1], 1])
        draw = partial(_laplace, rng, noise[0])
    asked = Asked(sites=sites, share=share, rng=np.random.default_rng(seed), noise=draw)
    return METHODS[method](asked)


def _laplace(rng: np.random.Generator, scale: float, count: int) -> Floats:
    return rng.laplace(scale=scale, size=count)
