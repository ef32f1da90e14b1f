"""The formats of graph files by their suffixes, and what each carries; light to import."""

from __future__ import annotations

SUFFIXES = {
    ".json": "Privet's own format: everything",
    ".dot": "Graphviz: everything",
    ".gv": "the same",
    ".graphml": "GraphML for igraph, yEd, Gephi: everything",
    ".gml": "GML for dowhy: DAGs with confidences",
    ".csv": "adjacency matrix, or (read only) a list of edges with a header",
    ".edges": "list of edges: from, mark, to",
    ".dagitty": "dagitty: nodes and marks",
    ".txt": "dagitty, or (read only) a list of edges",
    ".svg": "a picture (written only)",
}


def listed() -> str:
    """Each suffix with what it is, on a line."""
    return "\n".join(f"  {suffix:<10}{what}" for suffix, what in SUFFIXES.items())
