"""Random causal models: discrete networks and linear-Gaussian ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError
from privet.graph.graph import Graph
from privet.networks.network import BLOCK, MOST_LEVELS, Network
from privet.schema.column import Column
from privet.schema.model import Schema

MOST_NODES = 1000
MOST_PARENTS = 5  # so that a table has at most (levels ** 5) rows
CONCENTRATION = 0.5  # of the Dirichlet law of a table's rows: below 1, so that effects show
REACH = 4.0  # standard deviations within which the schema of a Gaussian model looks


def random_network(
    nodes: int,
    *,
    density: float,
    levels: tuple[int, int] = (2, 5),
    rng: np.random.Generator,
) -> Network:
    """A network on a random DAG with `density` = 2|E| / (p (p - 1)) in expectation.

    Each pair is joined with that probability, along a random order of the nodes. A node that
    drew more than 5 parents keeps 5 of them at random, so dense graphs have fewer edges.
    Numbers of levels are uniform in the range; rows of tables are Dirichlet(1/2).
    """
    low, high = levels
    if not 2 <= low <= high <= MOST_LEVELS:
        raise DataError(
            f"levels from {low} to {high}; give a range like 2-5, "
            f"from at least 2 to at most {MOST_LEVELS}"
        )
    arrows = _random_arrows(nodes, density, rng)
    for node in range(nodes):
        chosen = np.flatnonzero(arrows[:, node])
        if len(chosen) > MOST_PARENTS:
            arrows[rng.permutation(chosen)[MOST_PARENTS:], node] = False
    names = _names(nodes)
    sizes = [int(size) for size in rng.integers(low, high + 1, nodes)]
    parents = [[int(parent) for parent in np.flatnonzero(arrows[:, i])] for i in range(nodes)]
    tables = [
        rng.dirichlet([CONCENTRATION] * sizes[i], size=prod(sizes[parent] for parent in parents[i]))
        for i in range(nodes)
    ]
    return Network(
        name="random",
        names=names,
        levels={name: _levels(size) for name, size in zip(names, sizes, strict=True)},
        parents={names[i]: tuple(names[parent] for parent in parents[i]) for i in range(nodes)},
        tables=dict(zip(names, tables, strict=True)),
        source="random",
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearGaussian:
    """x_j = sum_i weights[i, j] x_i + e_j, with independent Gaussian e_j.

    Scaled so that every variable has mean 0 and variance 1 in the population: otherwise
    variances grow along the arrows and give the order away.
    """

    name: str
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    noise: NDArray[np.float64]  # standard deviations of the e_j
    means: NDArray[np.float64] | None = None  # of the e_j; by default 0

    @cached_property
    def _total(self) -> NDArray[np.float64]:
        """Total effects of the e_i on the x_j, times the noise: x = z @ total, z standard."""
        effects = np.linalg.inv(np.eye(len(self.names)) - self.weights)
        return np.asarray(self.noise[:, None] * effects)

    def covariance(self) -> NDArray[np.float64]:
        """The exact covariance matrix, which is the correlation matrix."""
        return np.asarray(self._total.T @ self._total)

    def graph(self) -> Graph:
        return Graph.from_matrix(self.names, self.weights != 0, "dag")

    def schema(self, name: str | None = None, **public: Any) -> Schema:
        """Bounds of 4 standard deviations, which the simulator makes public, in 4 bins."""
        columns = (Column(name=n, kind="numeric", bounds=(-REACH, REACH)) for n in self.names)
        return Schema(name=name or self.name, columns=tuple(columns), **public)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
        """Independent rows, one array per variable."""
        blocks = list(self.blocks(rows, rng))
        empty = np.empty(0)
        return {n: np.concatenate([empty, *(block[n] for block in blocks)]) for n in self.names}

    def blocks(
        self, rows: int, rng: np.random.Generator
    ) -> Iterator[dict[str, NDArray[np.float64]]]:
        """The rows of `sample`, some at a time."""
        for start in range(0, rows, BLOCK):
            drawn = rng.standard_normal((min(BLOCK, rows - start), len(self.names))) @ self._total
            if self.means is not None:
                drawn += self.means / self.noise @ self._total
            yield dict(zip(self.names, drawn.T, strict=True))


def random_linear_gaussian(
    nodes: int, *, density: float, rng: np.random.Generator
) -> LinearGaussian:
    """A random DAG whose pairs are joined with probability `density`.

    Before the scaling, noise has variance 1 and weights are uniform in ±[0.5, 1.5].
    """
    arrows = _random_arrows(nodes, density, rng)
    sizes, signs = rng.uniform(0.5, 1.5, arrows.shape), rng.choice([-1.0, 1.0], arrows.shape)
    raw = np.where(arrows, sizes * signs, 0.0)
    weights, noise = standardised(raw, np.ones(nodes))
    return LinearGaussian(name="random", names=_names(nodes), weights=weights, noise=noise)


def standardised(
    weights: NDArray[np.float64], noise: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same model in units in which each variable has variance 1."""
    effects = np.linalg.inv(np.eye(len(noise)) - weights)
    deviation = np.sqrt(((noise[:, None] * effects) ** 2).sum(axis=0))
    return weights * deviation[:, None] / deviation[None, :], noise / deviation


def _random_arrows(nodes: int, density: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A[i, j]: i --> j. Every pair is joined with probability `density`, along a random order."""
    if not isinstance(nodes, int) or isinstance(nodes, bool) or not 2 <= nodes <= MOST_NODES:
        raise DataError(f"{nodes!r} nodes; give a whole number from 2 to {MOST_NODES}")
    if not 0 <= density <= 1:
        raise DataError(
            f"density {density!r}; give the share of pairs that are joined, from 0 to 1"
        )
    forward = np.triu(rng.random((nodes, nodes)) < density, k=1)
    rank = rng.permutation(nodes)
    return np.asarray(forward[np.ix_(rank, rank)])


def _names(nodes: int) -> tuple[str, ...]:
    digits = len(str(nodes))
    return tuple(f"x{i:0{digits}}" for i in range(1, nodes + 1))


def _levels(size: int) -> tuple[str, ...]:
    return tuple(str(level) for level in range(size))
