"""Graphs with named nodes and readable edges: DAG, CPDAG and PAG."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from privet.errors import GraphError
from privet.graph import meek

Kind = Literal["dag", "cpdag", "pag"]
Mark = Literal["-->", "---", "<->", "o->", "o-o", "o--"]

KINDS: tuple[str, ...] = get_args(Kind)
MARKS: tuple[str, ...] = get_args(Mark)
SYMMETRIC = frozenset({"---", "<->", "o-o"})
ALLOWED: dict[str, frozenset[str]] = {
    "dag": frozenset({"-->"}),
    "cpdag": frozenset({"-->", "---"}),
    "pag": frozenset(MARKS),
}
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Edge:
    """``source mark target``, read from left to right: Edge("smoke", "cancer", "-->").

    ``confidence`` is the probability of the edge, ``arrow_confidence`` that of its mark. An edge
    that ``lean``s to one of its ends would have an arrow there, but too little speaks for it; then
    ``arrow_confidence`` is that of this arrow.
    """

    source: str
    target: str
    mark: Mark
    confidence: float | None = None
    arrow_confidence: float | None = None
    origin: str | None = None
    lean: str | None = None

    def __post_init__(self) -> None:
        if self.mark not in MARKS:
            raise GraphError(
                f"the edge between {self.source!r} and {self.target!r} has mark {self.mark!r}; "
                f"use one of {' '.join(MARKS)} (turn the edge round for <--, <-o, --o)"
            )
        for what in ("confidence", "arrow_confidence"):
            value = getattr(self, what)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise GraphError(f"{self}: {what} is {value!r}; give a number from 0 to 1")
            if not 0 <= value <= 1:
                raise GraphError(f"{self}: {what} is {value}; give a number from 0 to 1")
            object.__setattr__(self, what, float(value))
        if self.lean is not None and self.lean not in (self.source, self.target):
            raise GraphError(f"{self}: it leans to {self.lean!r}, which is none of its ends")

    @property
    def reversed(self) -> Edge:
        """The same edge told from its other end; only for marks that read the same both ways."""
        return replace(self, source=self.target, target=self.source)

    def __str__(self) -> str:
        return f"{self.source} {self.mark} {self.target}"


@dataclass(frozen=True)
class Graph:
    """A graph that is what it says: checked when it is made, equal when it means the same.

    Edges are kept in the order of the nodes, and symmetric edges start at the earlier node.
    ``undecided`` are pairs that are not joined though nothing rules out that they should be.
    """

    kind: Kind
    nodes: tuple[str, ...]
    edges: tuple[Edge, ...] = ()
    undecided: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        nodes = tuple(self.nodes)
        if self.kind not in KINDS:
            raise GraphError(f"graph kind {self.kind!r} is unknown; use one of {', '.join(KINDS)}")
        _check_nodes(nodes)
        at = {name: i for i, name in enumerate(nodes)}
        for edge in self.edges:
            _check_edge(edge, self.kind, at)
        told = [_canonical(edge, at) for edge in self.edges]
        edges = tuple(sorted(told, key=lambda edge: (at[edge.source], at[edge.target])))
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "undecided", _undecided(self.undecided, at, edges))
        if len(self._by_pair) < len(edges):
            raise GraphError(f"{_repeated(edges)} are joined by two edges; keep one of them")
        if not meek.is_acyclic(self._arrows()):
            raise GraphError(
                f"the arrows of this {self.kind} run in a circle; remove or turn round one of them"
            )

    @cached_property
    def _by_pair(self) -> dict[frozenset[str], Edge]:
        return {frozenset((edge.source, edge.target)): edge for edge in self.edges}

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.nodes)}

    def _arrows(self) -> NDArray[np.bool_]:
        A = np.zeros((len(self.nodes), len(self.nodes)), dtype=np.bool_)
        for edge in self.edges:
            if edge.mark == "-->":
                A[self._at[edge.source], self._at[edge.target]] = True
        return A

    def edge(self, a: str, b: str) -> Edge | None:
        """The edge between a and b, as it is kept (it may start at either), or None."""
        for name in (a, b):
            if name not in self._at:
                raise GraphError(f"{name!r} is not a node of this graph; see graph.nodes")
        return self._by_pair.get(frozenset((a, b)))

    def adjacent(self, a: str, b: str) -> bool:
        return self.edge(a, b) is not None

    def parents(self, node: str) -> tuple[str, ...]:
        """The nodes with an arrow a --> node."""
        if node not in self._at:
            raise GraphError(f"{node!r} is not a node of this graph; see graph.nodes")
        return tuple(e.source for e in self.edges if e.target == node and e.mark == "-->")

    def skeleton(self) -> frozenset[frozenset[str]]:
        """The joined pairs."""
        return frozenset(self._by_pair)

    def arcs(self) -> frozenset[tuple[str, str]]:
        """The arrows as pairs (cause, effect); an undirected edge counts as two."""
        self._need_no_pag("arcs")
        lines = {(e.target, e.source) for e in self.edges if e.mark == "---"}
        return frozenset(lines | {(e.source, e.target) for e in self.edges})

    def matrix(self) -> NDArray[np.bool_]:
        """A[i, j] and not A[j, i] is i --> j; both is i --- j."""
        self._need_no_pag("matrix")
        A = self._arrows()
        for edge in self.edges:
            if edge.mark == "---":
                i, j = self._at[edge.source], self._at[edge.target]
                A[i, j] = A[j, i] = True
        return A

    @staticmethod
    def from_matrix(names: Sequence[str], A: NDArray[np.bool_], kind: Kind) -> Graph:
        """The graph of a boolean matrix in the convention of ``matrix``."""
        A = np.asarray(A)
        if A.shape != (len(names), len(names)):
            raise GraphError(
                f"the matrix has shape {A.shape}, but {len(names)} names need a square one "
                f"of side {len(names)}; give one name per row and column"
            )
        A = A.astype(np.bool_)
        edges = [
            Edge(names[i], names[j], "---" if A[j, i] else "-->")
            for i, j in np.argwhere(A)
            if i <= j or not A[j, i]
        ]
        return Graph(kind, tuple(names), tuple(edges))

    def cpdag(self) -> Graph:
        """The CPDAG of a DAG; a CPDAG is its own. Edges keep their confidence."""
        if self.kind == "dag":
            return self._with_arrows(meek.cpdag(self.matrix()), "cpdag")
        self._need_no_pag("cpdag")
        return self

    def pag(self, hidden: Sequence[str] = ()) -> Graph:
        """What a search that allows for hidden causes can find of a DAG or CPDAG at best, if the
        nodes in ``hidden`` are not seen; a PAG is its own."""
        from privet.graph.pag import to_graph, true_pag

        for name in hidden:
            if name not in self._at:
                raise GraphError(f"{name!r} is not a node of this graph; see graph.nodes")
        if self.kind == "pag":
            if hidden:
                raise GraphError("nodes of a PAG cannot be hidden afterwards; start from the DAG")
            return self
        marks = true_pag(self.extension().matrix(), [self._at[name] for name in hidden])
        return to_graph(marks, [name for name in self.nodes if name not in hidden])

    def extension(self) -> Graph:
        """One DAG of the class that a CPDAG stands for; a DAG is its own."""
        if self.kind == "dag":
            return self
        dag = meek.extension(self.matrix())
        if dag is None:
            raise GraphError(
                "no DAG has just the arrows and colliders of this graph, so it is not a valid "
                "CPDAG; turn round or undirect an arrow"
            )
        return self._with_arrows(dag, "dag")

    def _with_arrows(self, A: NDArray[np.bool_], kind: Kind) -> Graph:
        """The same edges with other marks; an arrow's confidence goes where the arrow goes."""
        plain = Graph.from_matrix(self.nodes, A, kind)
        return Graph(kind, self.nodes, tuple(self._remembered(edge) for edge in plain.edges))

    def _remembered(self, edge: Edge) -> Edge:
        old = cast(Edge, self.edge(edge.source, edge.target))
        same = (old.source, old.mark) == (edge.source, edge.mark)
        sure = old.arrow_confidence if same else None
        return replace(edge, confidence=old.confidence, arrow_confidence=sure, origin=old.origin)

    def relabel(self, names: Mapping[str, str]) -> Graph:
        """The same graph with other names; names that are not mentioned stay."""

        def named(name: str) -> str:
            return names.get(name, name)

        edges = (
            replace(
                e,
                source=named(e.source),
                target=named(e.target),
                lean=None if e.lean is None else named(e.lean),
            )
            for e in self.edges
        )
        undecided = tuple((named(a), named(b)) for a, b in self.undecided)
        return Graph(self.kind, tuple(map(named, self.nodes)), tuple(edges), undecided)

    def _need_no_pag(self, what: str) -> None:
        if self.kind == "pag":
            raise GraphError(
                f"{what}() needs arrows and undirected edges only, but this graph is a PAG; "
                "read graph.edges, or graph.skeleton() for the joined pairs"
            )

    def __str__(self) -> str:
        """One edge per line."""
        return "\n".join(str(edge) for edge in self.edges)


def _check_nodes(nodes: tuple[str, ...]) -> None:
    for name in nodes:
        if not isinstance(name, str) or not name or _HALF_CHARACTER.search(name):
            raise GraphError(
                f"node name {name!r} is not allowed; use a text that is not empty and is "
                "valid Unicode"
            )
    if len(set(nodes)) < len(nodes):
        twice = next(name for name in nodes if nodes.count(name) > 1)
        raise GraphError(f"node {twice!r} is listed more than once; node names must differ")


def _check_edge(edge: Edge, kind: Kind, at: Mapping[str, int]) -> None:
    for name in (edge.source, edge.target):
        if name not in at:
            raise GraphError(f"edge {edge} needs the node {name!r}; add it to nodes")
    if edge.source == edge.target:
        raise GraphError(f"edge {edge} joins a node to itself; remove it")
    if edge.mark not in ALLOWED[kind]:
        raise GraphError(
            f"edge {edge} cannot be in a {kind}, which allows only "
            f"{' '.join(m for m in MARKS if m in ALLOWED[kind])}; change the mark or the kind"
        )


def _canonical(edge: Edge, at: Mapping[str, int]) -> Edge:
    backwards = edge.mark in SYMMETRIC and at[edge.source] > at[edge.target]
    return edge.reversed if backwards else edge


def _undecided(
    pairs: Sequence[tuple[str, str]], at: Mapping[str, int], edges: tuple[Edge, ...]
) -> tuple[tuple[str, str], ...]:
    """Pairs of nodes in their order, less those that an edge has joined since."""
    for pair in pairs:
        if len(set(pair)) != 2 or not set(pair) <= at.keys():
            raise GraphError(f"the undecided pair {list(pair)!r} must name two nodes of the graph")
    joined = {frozenset((edge.source, edge.target)) for edge in edges}
    told = {tuple(sorted(pair, key=at.__getitem__)) for pair in pairs if {*pair} not in joined}
    return cast(
        tuple[tuple[str, str], ...], tuple(sorted(told, key=lambda pair: [at[n] for n in pair]))
    )


def _repeated(edges: tuple[Edge, ...]) -> str:
    pairs = [frozenset((edge.source, edge.target)) for edge in edges]
    pair = next(pair for pair in pairs if pairs.count(pair) > 1)
    return " and ".join(repr(name) for name in sorted(pair))
