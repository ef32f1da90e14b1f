"""JSON, Privet's own format: carries everything a graph holds.

{"kind": "dag", "nodes": ["a", "b"], "edges": [{"from": "a", "to": "b", "mark": "-->"}]}

Pairs of which the evidence cannot say whether they are joined stand in "undecided". An arrow that
is "tentative" is one; why people see it otherwise is said there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from privet.errors import GraphError
from privet.graph.edge import Edge
from privet.graph.formats.common import confidences, drawn, narrowest
from privet.graph.graph import Graph


def to_json(graph: Graph) -> str:
    """One edge per line: {"from": "a", "to": "b", "mark": "-->", "confidence": 0.98} is a --> b."""
    edges = [
        {"from": e.source, "to": e.target, "mark": e.mark, **confidences(e)} for e in graph.edges
    ]
    lines = ",".join(f"\n    {_text(edge)}" for edge in edges)
    pairs = ",".join(f"\n    {_text(pair)}" for pair in graph.undecided)
    undecided = f',\n  "undecided": [{pairs}{chr(10) + "  " if pairs else ""}]'
    return (
        f'{{\n  "kind": {_text(graph.kind)},\n  "nodes": {_text(graph.nodes)},\n'
        f'  "edges": [{lines}{chr(10) + "  " if lines else ""}]{undecided}\n}}\n'
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def from_json(text: str) -> Graph:
    """The graph of ``to_json``; keys that it does not know are left aside."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"this is not JSON ({error}); save the graph again") from None
    if not isinstance(found, dict):
        raise GraphError(f"a graph file holds one JSON object, not a {type(found).__name__}")
    nodes, edges = _member(found, "nodes", list), _member(found, "edges", list)
    graph = narrowest(_member(found, "kind", str), nodes, [_edge(edge) for edge in edges])
    undecided = _member(found, "undecided", list) if "undecided" in found else []
    return replace(graph, undecided=tuple(_pair(pair) for pair in undecided))


def _pair(found: Any) -> tuple[str, str]:
    if not isinstance(found, list) or len(found) != 2 or not all(isinstance(n, str) for n in found):
        raise GraphError(f"undecided pair {found!r} is not a list of two names; write one")
    return found[0], found[1]


def _edge(found: Any) -> Edge:
    if not isinstance(found, dict):
        raise GraphError(f"edge {found!r} is not an object with from, to and mark; write one")
    edge = Edge(
        _member(found, "from", str),
        _member(found, "to", str),
        _member(found, "mark", str),
        found.get("confidence"),
        found.get("arrow_confidence"),
        *(_member(found, key, str) if key in found else None for key in ("origin", "tentative")),
    )
    return drawn(edge, found.get("lean"))


def _member(found: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(found.get(key), kind):
        what = "a list" if kind is list else "a text"
        raise GraphError(
            f"{key!r} is {found[key]!r}, but must be {what}"
            if key in found
            else f"{key!r} is missing from {_text(found)[:80]}; it must be {what}"
        )
    return found[key]
