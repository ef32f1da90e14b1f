"""One graph from the rows of several sites, as papers find it: PERI and what it is compared with.

Each site is asked for exact statistics of its own rows, and what the published protocol sends is
counted. Nothing here is private, with a paper's noise or without: what is private is the search
on evidence that sites have released (``methods/searches/peri.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from privet.arrays import Bools, Floats
from privet.errors import MethodError
from privet.graph.edge import Kind
from privet.graph.meek import cpdag
from privet.methods.literature.as_published import peri as noisy
from privet.methods.literature.as_published.group_order import group_order
from privet.methods.literature.as_published.site_scores import SCORES, local_scores, moments
from privet.schema.column import did_you_mean
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.direct_lingam import direct_lingam
from privet.search.hill_climb import reachable
from privet.search.notears_admm import notears_admm
from privet.search.peri import alone, peri, union
from privet.search.regret import Objective, Scored
from privet.search.rfcd import BEAM, rfcd
from privet.trust.curator import Curator

NUMBER = 8  # bytes


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is asked of a rival; ``epsilon`` is what a paper would claim for its noise."""

    score: str
    objective: Objective = "worst"
    share: float = 1.0
    seed: int = 0
    epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What all sites together send, and what is sent to them."""

    iterations: int
    messages: int
    numbers: int
    bytes_up: int
    bytes_down: int


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A CPDAG or DAG; without traffic where rows themselves would have to leave."""

    matrix: Bools
    traffic: Traffic | None


Run = Callable[[Sequence[Curator], Constraints, Choices], Agreement]


@dataclass(frozen=True, kw_only=True)
class Rival:
    name: str
    summary: str
    cite: str
    graph: Kind
    run: Run
    uses: frozenset[str] = frozenset()
    numbers_only: bool = False

    def score(self, schema: Schema, asked: str | None) -> str:
        """The score that is meant, or a refusal."""
        scores = SCORES if schema.has_moments and self.name != "pooled" else SCORES[1:]
        if asked is not None and asked not in scores:
            raise MethodError(
                f"⟦score⟧ is {asked!r}, but {self.name} has {' and '.join(scores)} for these "
                f"columns{' (mdl needs numeric ones)' * (not schema.has_moments)}; use one of these"
            )
        return scores[0] if asked is None else asked

    def check(self, schema: Schema) -> None:
        if self.numbers_only and not schema.has_moments:
            raise MethodError(
                f"{self.name} serves numeric columns without a level for missing cells, but schema "
                f"{schema.name!r} has others; use peri or ges-union, or leave these out"
            )


def _graph_bytes(size: int) -> int:
    return ceil(size * size / 8)


def _parties(curators: Sequence[Curator], score: str) -> list[Scored]:
    return [Scored(local_scores([curator], score)) for curator in curators]


def _peri(curators: Sequence[Curator], known: Constraints, asked: Choices) -> Agreement:
    noise = None if asked.epsilon is None else noisy.noise(asked.epsilon, asked.seed)
    found = peri(
        _parties(curators, asked.score),
        known,
        objective=asked.objective,
        share=asked.share,
        rng=np.random.default_rng(asked.seed),
        noise=noise,
    )
    messages, numbers = sum(found.messages), sum(found.numbers)
    down = messages * _graph_bytes(len(found.matrix))
    return Agreement(
        matrix=found.matrix,
        traffic=Traffic(
            iterations=found.iterations,
            messages=messages,
            numbers=numbers,
            bytes_up=NUMBER * numbers,
            bytes_down=down,
        ),
    )


def _union(curators: Sequence[Curator], known: Constraints, asked: Choices) -> Agreement:
    """A union need not be the class of any DAG. Arrows that run in a circle become lines."""
    matrix = union(_parties(curators, asked.score), known)
    arrows = matrix & ~matrix.T
    matrix = matrix | (arrows & reachable(arrows).T).T
    d, size = len(curators), len(matrix)
    sent = d * _graph_bytes(size)
    return Agreement(
        matrix=matrix,
        traffic=Traffic(iterations=1, messages=d, numbers=0, bytes_up=sent, bytes_down=0),
    )


def _rfcd(curators: Sequence[Curator], known: Constraints, asked: Choices) -> Agreement:
    found = rfcd(_parties(curators, asked.score), known)
    numbers, messages = sum(found.numbers), found.iterations * len(curators)
    return Agreement(
        matrix=cpdag(found.dag),
        traffic=Traffic(
            iterations=found.iterations,
            messages=messages,
            numbers=numbers,
            bytes_up=NUMBER * numbers,
            bytes_down=messages * BEAM * _graph_bytes(len(found.dag)),
        ),
    )


def _admm(curators: Sequence[Curator], known: Constraints, _asked: Choices) -> Agreement:
    """On correlations: the arrows of NOTEARS rest on scales, which sites do not share."""
    found, rounds = notears_admm([_correlation(curator) for curator in curators], known)
    messages, size = rounds * len(curators), len(found.arrows)
    numbers = messages * size**2
    sent = NUMBER * numbers
    return Agreement(
        matrix=found.arrows,
        traffic=Traffic(
            iterations=rounds, messages=messages, numbers=numbers, bytes_up=sent, bytes_down=sent
        ),
    )


def _lingam(curators: Sequence[Curator], known: Constraints, _asked: Choices) -> Agreement:
    """Each site sends its doubts about the columns that are left, then its correlations."""
    order, rows = group_order(curators)
    correlations = np.stack([_correlation(curator) for curator in curators])
    found = direct_lingam(order, rows, correlations, known)
    d, size = len(curators), len(order)
    numbers = d * (size * (size + 1) // 2 + size * (size - 1) // 2)
    return Agreement(
        matrix=found.arrows,
        traffic=Traffic(
            iterations=size,
            messages=d * (size + 1),
            numbers=numbers,
            bytes_up=NUMBER * numbers,
            bytes_down=d * size,
        ),
    )


def _correlation(curator: Curator) -> Floats:
    covariance = moments([curator]).covariance
    scale = 1 / np.sqrt(np.diag(covariance))
    return np.asarray(covariance * np.outer(scale, scale))


def _pooled(curators: Sequence[Curator], known: Constraints, asked: Choices) -> Agreement:
    return Agreement(matrix=alone(Scored(local_scores(curators, asked.score)), known), traffic=None)


MIAN = "Mian, Kaltenpoth, Kamp, Vreeken 2023"
RIVALS = (
    Rival(
        name="peri",
        summary="the class with the smallest worst regret, or the smallest sum",
        cite=MIAN,
        graph="cpdag",
        run=_peri,
        uses=frozenset({"score", "objective", "share"}),
    ),
    Rival(
        name="ges-union",
        summary="every edge that some site finds by itself",
        cite=f"Chickering 2002, as in {MIAN}",
        graph="cpdag",
        run=_union,
        uses=frozenset({"score"}),
    ),
    Rival(
        name="rfcd",
        summary="the worst regret by a beam over DAGs (RFCD-M with mdl, RFCD-B with bic)",
        cite="Mian, Kaltenpoth, Kamp 2022",
        graph="cpdag",
        run=_rfcd,
        uses=frozenset({"score"}),
    ),
    Rival(
        name="notears-admm",
        summary="linear NOTEARS, all sites drawn to one acyclic matrix",
        cite="Ng, Zhang 2022",
        graph="dag",
        run=_admm,
        numbers_only=True,
    ),
    Rival(
        name="direct-lingam",
        summary="one causal order for all sites, by errors that are not Gaussian",
        cite="Shimizu 2012",
        graph="dag",
        run=_lingam,
        numbers_only=True,
    ),
    Rival(
        name="pooled",
        summary="GES on all rows, as if nothing kept them apart",
        cite="Chickering 2002",
        graph="cpdag",
        run=_pooled,
        uses=frozenset({"score"}),
    ),
)


def get(name: str) -> Rival:
    for rival in RIVALS:
        if rival.name == name:
            return rival
    names = [rival.name for rival in RIVALS]
    raise MethodError(
        f"there is no {name!r}{did_you_mean(name, names)} over the rows of several sites; choose "
        f"one of {', '.join(names)}"
    )
