"""Graphs with named nodes and readable edges: DAG, CPDAG, MPDAG and PAG, and what others call the
truth though it is none of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privet.errors import GraphError, expect
from privet.graph import meek
from privet.graph.classes import CLASSES, kind_of
from privet.graph.edge import KINDS, Edge, Kind
from privet.graph.exports import Exports
from privet.graph.parts import canonical, check_edge, check_nodes, repeated, sorted_pairs, texts

SHOWN = 8  # edges in a short text


@dataclass(frozen=True, repr=False)
class Graph(Exports):
    """A graph that is what it says: checked when it is made, equal when it means the same.

    Edges are kept in the order of the nodes, and symmetric edges start at the earlier node.
    ``undecided`` are pairs that are not joined though nothing rules out that they should be.
    The ``kind`` is dag, cpdag (the CPDAG of its own extension), mpdag (with more arrows, from
    knowledge, say: closed under Meek's rules, and some DAG has just its arrows and colliders) or
    pag. A pdag claims no class, and the arrows of a cyclic graph may run in circles: these two are
    there to be compared with and drawn.

    >>> graph = privet.Graph.from_edges(["smoke --> cancer", "cancer --> cough"])
    >>> graph
    Graph: dag, 3 nodes, 2 edges
      smoke --> cancer
      cancer --> cough
    >>> graph.parents("cough"), graph.children("smoke"), graph.neighbours("cancer")
    (('cancer',), ('cancer',), ('smoke', 'cough'))
    """

    kind: Kind
    nodes: tuple[str, ...]
    edges: tuple[Edge, ...] = ()
    undecided: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        nodes = texts(self.nodes, "nodes")
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise GraphError(f"graph kind {self.kind!r} is unknown; use one of {', '.join(KINDS)}")
        check_nodes(nodes)
        at = {name: i for i, name in enumerate(nodes)}
        expect(self.edges, (list, tuple), "edges", "give a list of privet.Edge", GraphError)
        for edge in self.edges:
            expect(edge, Edge, "an edge", "give privet.Edge(a, b, '-->')", GraphError)
            check_edge(edge, self.kind, at)
        told = [canonical(edge, at) for edge in self.edges]
        edges = tuple(sorted(told, key=lambda edge: (at[edge.source], at[edge.target])))
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "undecided", sorted_pairs(self.undecided, at, self._by_pair))
        if len(self._by_pair) < len(edges):
            raise GraphError(f"{repeated(edges)} are joined by two edges; keep one of them")
        arrows = [(at[edge.source], at[edge.target]) for edge in edges if edge.mark == "-->"]
        if self.kind != "cyclic" and not meek.in_no_circle(arrows, len(nodes)):
            raise GraphError(
                f"the arrows of this {self.kind} run in a circle; remove or turn round one of "
                "them, or say that the kind is cyclic"
            )
        if self.kind in CLASSES:
            self._check_class()

    @staticmethod
    def from_edges(
        edges: Iterable[Any], nodes: Sequence[str] = (), kind: Kind | None = None
    ) -> Graph:
        """The graph of a list of edges: texts such as "a --> b", or pairs (cause, effect).
        ``nodes`` are those that may have no edge; without a kind it is the narrowest that fits.

        >>> privet.Graph.from_edges([("smoke", "cancer"), "smoke --- stress"], nodes=["age"])
        Graph: mpdag, 4 nodes, 2 edges
          smoke --> cancer
          smoke --- stress
        """
        from privet.graph.formats.edges import of_edges

        return of_edges(edges, texts(nodes, "nodes"), kind)

    def _check_class(self) -> None:
        found = kind_of(self.matrix())
        if CLASSES.index(self.kind) < (*CLASSES, "pdag").index(found):
            rule = (
                "a CPDAG has just the arrows that all DAGs of its class have"
                if self.kind == "cpdag"
                else "an MPDAG is closed under Meek's rules, and some DAG has its colliders alone"
            )
            raise GraphError(
                f"these arrows and lines are no {self.kind}, since {rule}; give the kind {found!r}"
            )

    def _exported(self) -> Graph:
        return self

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

    def _check_node(self, name: str) -> None:
        if not isinstance(name, str) or name not in self._at:
            raise GraphError(f"{name!r} is not a node of this graph; see graph.nodes")

    def edge(self, a: str, b: str) -> Edge | None:
        """The edge between a and b, as it is kept (it may start at either), or None.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).edge("cancer", "smoke"))
        smoke --> cancer
        """
        for name in (a, b):
            self._check_node(name)
        return self._by_pair.get(frozenset((a, b)))

    def adjacent(self, a: str, b: str) -> bool:
        """Whether an edge joins a and b.

        >>> privet.Graph.from_edges(["smoke --> cancer"], nodes=["age"]).adjacent("age", "smoke")
        False
        """
        return self.edge(a, b) is not None

    def parents(self, node: str) -> tuple[str, ...]:
        """The nodes with an arrow a --> node.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).parents("cancer")
        ('smoke',)
        """
        self._check_node(node)
        return tuple(e.source for e in self.edges if e.target == node and e.mark == "-->")

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes with an arrow node --> a.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).children("smoke")
        ('cancer',)
        """
        self._check_node(node)
        return tuple(e.target for e in self.edges if e.source == node and e.mark == "-->")

    def neighbours(self, node: str) -> tuple[str, ...]:
        """All nodes that an edge joins to this one, whatever its marks.

        >>> privet.Graph.from_edges(["smoke --> cancer", "stress --- smoke"]).neighbours("smoke")
        ('cancer', 'stress')
        """
        self._check_node(node)
        return tuple(n for n in self.nodes if frozenset((n, node)) in self._by_pair)

    def skeleton(self) -> frozenset[frozenset[str]]:
        """The joined pairs.

        >>> [sorted(pair) for pair in privet.Graph.from_edges(["smoke --> cancer"]).skeleton()]
        [['cancer', 'smoke']]
        """
        return frozenset(self._by_pair)

    def arcs(self) -> frozenset[tuple[str, str]]:
        """The arrows as pairs (cause, effect); an undirected edge counts as two.

        >>> sorted(privet.Graph.from_edges(["smoke --- cancer"]).arcs())
        [('cancer', 'smoke'), ('smoke', 'cancer')]
        """
        self._need_no_pag("arcs")
        lines = {(e.target, e.source) for e in self.edges if e.mark == "---"}
        return frozenset(lines | {(e.source, e.target) for e in self.edges})

    def matrix(self) -> NDArray[np.bool_]:
        """A[i, j] and not A[j, i] is i --> j; both is i --- j.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).matrix().astype(int).tolist()
        [[0, 1], [0, 0]]
        """
        self._need_no_pag("matrix")
        A = self._arrows()
        for edge in self.edges:
            if edge.mark == "---":
                i, j = self._at[edge.source], self._at[edge.target]
                A[i, j] = A[j, i] = True
        return A

    @staticmethod
    def from_matrix(names: Sequence[str], A: NDArray[np.bool_], kind: Kind) -> Graph:
        """The graph of a boolean matrix in the convention of ``matrix``.

        >>> print(privet.Graph.from_matrix(["smoke", "cancer"], [[0, 1], [0, 0]], "dag"))
        smoke --> cancer
        """
        names = texts(names, "names")
        try:
            A = np.asarray(A)
        except ValueError:
            raise GraphError("the rows of the matrix differ in length; give a square one") from None
        if A.shape != (len(names), len(names)):
            raise GraphError(
                f"the matrix has shape {A.shape}, but {len(names)} names need a square one "
                f"of side {len(names)}; give one name per row and column"
            )
        A = A.astype(np.bool_)
        return Graph(kind, names, edges_of(names, A))

    def cpdag(self) -> Graph:
        """The CPDAG of a DAG, or of the DAGs of an MPDAG; a CPDAG is its own. Edges keep their
        confidence.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).cpdag())
        smoke --- cancer
        """
        self._need_no_pag("cpdag")
        self._need_no_circle("cpdag")
        if self.kind == "cpdag":
            return self
        return self._with_arrows(meek.cpdag(self.extension().matrix()), "cpdag")

    def pag(self, hidden: Sequence[str] = ()) -> Graph:
        """What a search that allows for hidden causes can find of a DAG or CPDAG at best, if the
        nodes in ``hidden`` are not seen; a PAG is its own.

        >>> print(privet.Graph.from_edges(["gene --> smoke", "gene --> cancer"]).pag(["gene"]))
        smoke o-o cancer
        """
        from privet.graph.pag import to_graph, true_pag

        hidden = texts(hidden, "hidden")
        for name in hidden:
            self._check_node(name)
        if self.kind == "pag":
            if hidden:
                raise GraphError("nodes of a PAG cannot be hidden afterwards; start from the DAG")
            return self
        marks = true_pag(self.extension().matrix(), [self._at[name] for name in hidden])
        return to_graph(marks, [name for name in self.nodes if name not in hidden])

    def extension(self) -> Graph:
        """One DAG of the class that a CPDAG or an MPDAG stands for; a DAG is its own. Arrows that
        are tentative are arrows here.

        >>> privet.Graph.from_edges(["smoke --- cancer"]).extension().kind
        'dag'
        """
        if self.kind == "dag":
            return self
        self._need_no_circle("extension")
        dag = meek.extension(self.matrix())
        if dag is None:
            raise GraphError(
                "no DAG has just the arrows and colliders of this graph, so it stands for no "
                "class; turn round or undirect an arrow"
            )
        return self._with_arrows(dag, "dag")

    def _with_arrows(self, A: NDArray[np.bool_], kind: Kind) -> Graph:
        """The same edges with other marks; an arrow's confidence goes where the arrow goes."""
        edges = (self._remembered(edge) for edge in edges_of(self.nodes, A))
        return Graph(kind, self.nodes, tuple(edges), self.undecided)

    def _remembered(self, edge: Edge) -> Edge:
        old = cast(Edge, self.edge(edge.source, edge.target))
        same = (old.source, old.mark) == (edge.source, edge.mark)
        return old if same else replace(edge, confidence=old.confidence, origin=old.origin)

    def of_kind(self, A: NDArray[np.bool_]) -> Graph:
        """These edges with the marks of a matrix, and the kind that it has; an edge whose mark
        stays is as it was.

        >>> graph = privet.Graph.from_edges(["smoke --> cancer"])
        >>> print(graph.of_kind(graph.matrix() | graph.matrix().T))
        smoke --- cancer
        """
        return self._with_arrows(A, kind_of(A))

    def as_shown(self) -> Graph:
        """The graph with a line in the place of each tentative arrow: what is claimed for sure.
        Its kind is the narrowest that it has.

        >>> edge = privet.Edge("smoke", "cancer", "-->", tentative="support")
        >>> print(privet.Graph.from_edges([edge]).as_shown())
        smoke --- cancer
        """
        from privet.graph.formats.common import assemble

        if all(edge.tentative is None for edge in self.edges):
            return self
        edges = [edge if edge.tentative is None else edge.undirected for edge in self.edges]
        kind = self.kind if self.kind == "pag" else None
        return replace(assemble(kind, self.nodes, edges), undecided=self.undecided)

    def relabel(self, names: Mapping[str, str]) -> Graph:
        """The same graph with other names; names that are not mentioned stay.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).relabel({"smoke": "tobacco"}))
        tobacco --> cancer
        """
        expect(names, Mapping, "names", "give a dict from old names to new ones", GraphError)

        def named(name: str) -> str:
            return names.get(name, name)

        edges = (replace(e, source=named(e.source), target=named(e.target)) for e in self.edges)
        undecided = tuple((named(a), named(b)) for a, b in self.undecided)
        return Graph(self.kind, tuple(map(named, self.nodes)), tuple(edges), undecided)

    def _need_no_pag(self, what: str) -> None:
        if self.kind == "pag":
            raise GraphError(
                f"{what}() needs arrows and undirected edges only, but this graph is a PAG; "
                "read graph.edges, or graph.skeleton() for the joined pairs"
            )

    def _need_no_circle(self, what: str) -> None:
        if self.kind == "cyclic":
            raise GraphError(
                f"{what}() needs a graph whose arrows run in no circle; take one of them out"
            )

    def __str__(self) -> str:
        """One edge per line."""
        return "\n".join(str(edge) for edge in self.edges)

    def __repr__(self) -> str:
        return "\n".join((f"Graph: {self.told()}", *self.first_edges()))

    def told(self) -> str:
        """The kind, and how many nodes and edges there are."""
        return f"{self.kind}, {len(self.nodes)} nodes, {len(self.edges)} edges"

    def first_edges(self) -> tuple[str, ...]:
        """The first few edges with their confidence, and how many more there are."""
        lines = [f"  {edge}{edge.doubt()}" for edge in self.edges[:SHOWN]]
        more = len(self.edges) - SHOWN
        return (*lines, *([f"  and {more} more"] if more > 0 else []))

    def _repr_html_(self) -> str:
        from privet.graph.notebook import graph_html

        return graph_html(self)


def edges_of(names: Sequence[str], A: NDArray[np.bool_]) -> tuple[Edge, ...]:
    """The edges of a matrix in the convention of ``matrix``."""
    flags = np.asarray(A, dtype=bool).tolist()
    return tuple(
        Edge(names[i], names[j], "---" if flags[j][i] else "-->")
        for i, j in zip(*(at.tolist() for at in np.nonzero(A)), strict=True)
        if i <= j or not flags[j][i]
    )
