"""networkx, and the two formats that it writes: GraphML and the GML that dowhy reads.

A DAG is a DiGraph. A CPDAG or PAG is a DiGraph whose edges carry ``mark``: an edge that reads
the same both ways (---, <->, o-o) is there in both directions, any other once, from its source.
Node names, kind and confidences are kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from privet.errors import GraphError
from privet.graph.edge import SYMMETRIC, Edge
from privet.graph.formats.common import confidences, drawn, narrowest, read_confidences
from privet.graph.graph import Graph

if TYPE_CHECKING:
    import networkx

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_networkx(graph: Graph) -> networkx.DiGraph:
    """a --> b: G.edges["a", "b"] == {"mark": "-->"}; a --- b: also G.edges["b", "a"]."""
    import networkx

    G = networkx.DiGraph(kind=graph.kind)
    G.add_nodes_from(graph.nodes)
    for edge in graph.edges:
        G.add_edge(edge.source, edge.target, mark=edge.mark, **confidences(edge))
        if edge.mark in SYMMETRIC:
            G.add_edge(edge.target, edge.source, mark=edge.mark, **confidences(edge))
    return G


def from_networkx(G: Any) -> Graph:
    """The graph of ``to_networkx``. Without marks, a --> b and b --> a together are a --- b, and
    the edges of an undirected Graph are a --- b."""
    if not hasattr(G, "is_multigraph") or G.is_multigraph():
        raise GraphError(
            f"a {type(G).__name__} is not a simple networkx graph; use networkx.DiGraph(G)"
        )
    for node in G.nodes:
        if not isinstance(node, str):
            raise GraphError(
                f"node {node!r} is not a text; rename by networkx.relabel_nodes(G, str)"
            )
    edges: dict[tuple[str, str], Edge] = {}
    for a, b, attributes in G.edges(data=True):
        both = not G.is_directed() or ("mark" not in attributes and G.has_edge(b, a))
        mark = attributes.get("mark", "---" if both else "-->")
        edge = drawn(Edge(a, b, mark, **read_confidences(attributes)), attributes.get("lean"))
        seen = edges.get((b, a)) or edges.get((edge.source, edge.target))
        if not (seen and seen.mark == edge.mark and mark in SYMMETRIC):
            edges[a, b] = edge
    return narrowest(G.graph.get("kind"), tuple(G.nodes), edges.values())


def to_graphml(graph: Graph) -> str:
    """GraphML of ``to_networkx``; node ids are the names, and so is the attribute ``name``, which
    is what other programs show."""
    import networkx

    for node in graph.nodes:
        if _NOT_XML.search(node):
            raise GraphError(
                f"node {node!r} has a character that XML cannot hold; rename it, or use JSON"
            )
    G = to_networkx(graph)
    networkx.set_node_attributes(G, {node: node for node in graph.nodes}, "name")
    return "\n".join(networkx.generate_graphml(G)) + "\n"


def from_graphml(text: str) -> Graph:
    """A GraphML file with one graph, marks as edge data (see the top of this file)."""
    import networkx

    try:
        G = networkx.parse_graphml(text.encode())
    except Exception as error:  # a foreign reader, which fails in many ways
        raise GraphError(f"this is not GraphML ({error}); save the graph again") from None
    names = {str(node): str(name) for node, name in G.nodes(data="name") if name is not None}
    if len(set(names.values())) == len(G):  # igraph and others number the nodes
        G = networkx.relabel_nodes(G, names)
    return from_networkx(G)


def to_dowhy_gml(graph: Graph) -> str:
    """The text for dowhy's CausalModel(graph=…); a --> b is `edge [ source 0 target 1 ]`."""
    import networkx

    if graph.kind in ("pag", "cyclic") or any(edge.mark != "-->" for edge in graph.edges):
        raise GraphError(
            f"dowhy needs a DAG, which this {graph.kind} is not; "
            "choose a DAG of a CPDAG by graph.extension()"
        )
    G = to_networkx(graph)
    for _a, _b, attributes in G.edges(data=True):
        del attributes["mark"]
    return "\n".join(networkx.generate_gml(G)) + "\n"


def from_dowhy_gml(text: str) -> Graph:
    """A DAG from GML whose nodes have labels."""
    import networkx

    try:
        G = networkx.parse_gml(text)
    except Exception as error:  # a foreign reader, which fails in many ways
        raise GraphError(f"this is not GML ({error}); save the graph again") from None
    if not G.is_directed():
        raise GraphError("the GML graph is undirected, but dowhy's is a DAG; add `directed 1`")
    return from_networkx(G)
