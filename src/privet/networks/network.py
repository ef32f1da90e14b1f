"""Discrete Bayesian networks: known causal graphs to draw rows from.

The benchmark networks are data files beside this one. Their rows are simulated, so they are
nobody's secret and numpy's generator may draw them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import resources
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, GraphError
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.schema.column import Column, did_you_mean
from privet.schema.model import Schema

BLOCK = 1 << 16  # rows drawn at a time: small enough for the processor's cache
MOST_LEVELS = 255  # codes are bytes

Codes = dict[str, NDArray[np.uint8]]
Factor = tuple[tuple[str, ...], NDArray[np.float64]]  # the variables of its axes, and a table


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A DAG over `names` with a table of conditional probabilities per node.

    `tables[v]` has one row per combination of the levels of `parents[v]`, the first parent
    changing slowest, and one column per level of v.
    """

    name: str
    names: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, NDArray[np.float64]]
    source: str = ""

    def __post_init__(self) -> None:
        for node in self.names:
            rows = prod(len(self.levels[parent]) for parent in self.parents[node])
            shape, table = (rows, len(self.levels[node])), self.tables[node]
            if table.shape != shape or not 1 <= shape[1] <= MOST_LEVELS:
                raise DataError(
                    f"the table of {node!r} in network {self.name!r} has shape {table.shape}; "
                    f"give one row per combination of its parents' levels: {shape}"
                )
            if not (table >= 0).all() or not np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9):
                raise DataError(
                    f"a row of the table of {node!r} in network {self.name!r} is no distribution; "
                    f"give probabilities that sum to 1"
                )
        self.order  # noqa: B018

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, causes before effects."""
        try:
            return tuple(TopologicalSorter({n: self.parents[n] for n in self.names}).static_order())
        except CycleError as error:
            raise GraphError(
                f"network {self.name!r} runs in a circle through {error.args[1][0]!r}; "
                f"remove one of the arrows"
            ) from None

    def graph(self) -> Graph:
        edges = (Edge(parent, node, "-->") for node in self.names for parent in self.parents[node])
        return Graph("dag", self.names, tuple(edges))

    def schema(self, name: str | None = None, **public: Any) -> Schema:
        """What is public about rows drawn from this network; `public` goes to Schema as it is."""
        columns = (Column(name=n, kind="categorical", levels=self.levels[n]) for n in self.names)
        return Schema(name=name or self.name, columns=tuple(columns), **public)

    def sample(self, rows: int, rng: np.random.Generator) -> Codes:
        """Independent rows as level numbers, one array per node."""
        codes = {node: np.empty(rows, dtype=np.uint8) for node in self.names}
        done = 0
        for block in self.blocks(rows, rng):
            size = len(block[self.names[0]])
            for node, drawn in block.items():
                codes[node][done : done + size] = drawn
            done += size
        return codes

    def blocks(self, rows: int, rng: np.random.Generator) -> Iterator[Codes]:
        """The rows of `sample`, some at a time, for tables that should not fill the memory."""
        for start in range(0, rows, BLOCK):
            yield self._draw(min(BLOCK, rows - start), rng)

    def _draw(self, size: int, rng: np.random.Generator) -> Codes:
        """Ancestral sampling: each node given its parents, by inverting its distribution."""
        codes: Codes = {}
        for node in self.order:
            uniform = rng.random(size)
            drawn = np.zeros(size, dtype=np.uint8)
            row = self._row(node, codes)
            for steps in self._steps[node]:
                drawn += uniform >= (steps[0] if row is None else steps.take(row))
            codes[node] = drawn
        return {node: codes[node] for node in self.names}

    def _row(self, node: str, codes: Codes) -> NDArray[np.intp] | None:
        """Which row of the node's table applies; None if there is only one."""
        row: NDArray[np.intp] | None = None
        for parent in self.parents[node]:
            code = codes[parent].astype(np.intp)
            row = code if row is None else row * len(self.levels[parent]) + code
        return row

    @cached_property
    def _steps(self) -> dict[str, list[NDArray[np.float64]]]:
        """Per node and level but the last: the probability of this level or an earlier one.

        It is 1 once no later level is possible, so that rounding never draws the impossible.
        """
        steps = {}
        for node, table in self.tables.items():
            upto = np.cumsum(table, axis=1)
            later = np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:]
            upto[:, :-1][later == 0] = 1
            steps[node] = [np.ascontiguousarray(column) for column in upto.T[:-1]]
        return steps

    def marginal(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """The exact joint probabilities of some columns, one axis per column.

        Variable elimination: of the causes of the columns, the one that joins the smallest
        table is summed out first.
        """
        needed = self._ancestors(columns)
        factors = [self._factor(node) for node in needed]
        hidden = [node for node in needed if node not in columns]
        while hidden:
            scopes = {node: _scope(factors, node) for node in hidden}
            node = min(hidden, key=lambda n: prod(len(self.levels[m]) for m in scopes[n]))
            touched = [factor for factor in factors if node in factor[0]]
            rest = tuple(member for member in scopes[node] if member != node)
            factors = [factor for factor in factors if node not in factor[0]]
            factors.append((rest, _product(touched, rest)))
            hidden.remove(node)
        return _product(factors, tuple(columns))

    def _factor(self, node: str) -> Factor:
        family = (*self.parents[node], node)
        shape = [len(self.levels[member]) for member in family]
        return family, self.tables[node].reshape(shape)

    def _ancestors(self, columns: Sequence[str]) -> list[str]:
        """The columns and all their causes, in the order of the nodes."""
        for column in columns:
            if column not in self.levels:
                raise DataError(
                    f"network {self.name!r} has no variable {column!r}; "
                    f"use one of its names{did_you_mean(column, self.names)}"
                )
        found: set[str] = set()
        ahead = list(columns)
        while ahead:
            node = ahead.pop()
            if node not in found:
                found.add(node)
                ahead += self.parents[node]
        return [node for node in self.names if node in found]


def _scope(factors: Sequence[Factor], node: str) -> tuple[str, ...]:
    """All variables that share a factor with the node."""
    return tuple(dict.fromkeys(m for family, _ in factors if node in family for m in family))


def _product(factors: Sequence[Factor], kept: tuple[str, ...]) -> NDArray[np.float64]:
    """The product of the factors, summed over all variables but those kept."""
    at: dict[str, int] = {}
    operands: list[Any] = []
    for family, table in factors:
        operands += [table, [at.setdefault(member, len(at)) for member in family]]
    return np.asarray(np.einsum(*operands, [at[member] for member in kept]), dtype=np.float64)


def available() -> tuple[str, ...]:
    """The benchmark networks, small ones first."""
    files = (file for file in _folder().iterdir() if file.name.endswith(".json"))
    sizes = {file.name.removesuffix(".json"): len(file.read_bytes()) for file in files}
    return tuple(sorted(sizes, key=lambda name: (sizes[name], name)))


def load(name: str) -> Network:
    """A benchmark network by name."""
    names = available()
    if name not in names:
        raise DataError(
            f"there is no network {name!r}{did_you_mean(name, names)}; "
            f"choose one of {', '.join(names)}"
        )
    data = json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8"))
    tables = data["tables"]
    return Network(
        name=name,
        names=tuple(data["variables"]),
        levels={node: tuple(levels) for node, levels in data["variables"].items()},
        parents={node: tuple(table["parents"]) for node, table in tables.items()},
        tables={node: np.array(table["probabilities"], float) for node, table in tables.items()},
        source=data["source"],
    )


def _folder() -> resources.abc.Traversable:
    return resources.files("privet.networks")
