"""Lists of edges, as papers and people write down what is true.

A line is ``a --> b`` (with any mark), ``a,b`` or ``a b`` for an arrow, or a name alone for a node
without edges. With a header such as ``from,to`` or ``cause,effect`` it is a CSV table, which may
have a column ``mark``. Lines that begin with # are left aside.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from privet.errors import GraphError
from privet.graph.edge import DASHED, MARKS, Edge, Mark
from privet.graph.formats.common import assemble
from privet.graph.graph import Graph

HEADERS = ({"from", "to"}, {"source", "target"}, {"cause", "effect"}, {"parent", "child"})
TURNED = {"<--": "-->", "<-o": "o->", "--o": "o--"}
SHORT = {"->": "-->", "<-": "<--", "--": "---"}
_MARKED = re.compile(r"^(.+?)\s+([<o-][-]+[>o-]?|-\?>|<\?-)\s+(.+)$")


def to_edge_list(graph: Graph) -> str:
    """A table with from, mark and to; a node without edges has a line of its own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("from", "mark", "to"))
    writer.writerows((edge.source, edge.mark, edge.target) for edge in graph.edges)
    joined = {name for edge in graph.edges for name in (edge.source, edge.target)}
    writer.writerows((node, "", "") for node in graph.nodes if node not in joined)
    return out.getvalue()


def from_edge_list(text: str, nodes: Sequence[str] = ()) -> Graph:
    """The graph of a list; ``nodes`` are those that may have no edge."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise GraphError("the list of edges is empty; write a line such as a --> b")
    rows = _rows(lines) if has_header(lines[0]) else map(_words, lines)
    return of_edges(rows, nodes)


def has_header(line: str) -> bool:
    """Whether this is the header of a table of edges."""
    names = _lower(line)
    return any(header <= set(names) for header in HEADERS)


def of_edges(edges: Iterable[Any], nodes: Sequence[str] = (), kind: str | None = None) -> Graph:
    """The graph of edges, texts such as "a --> b", pairs (cause, effect) and single names."""
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise GraphError(f"the edges are {edges!r}; give a list such as ['a --> b', ('b', 'c')]")
    found = [_edge(each) for each in edges]
    named = [name for parts in found for name in _ends(parts)]
    drawn = [parts for parts in found if isinstance(parts, Edge)]
    return assemble(kind, tuple(dict.fromkeys([*nodes, *named])), drawn)


def _rows(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The lines of a table below its header."""
    names = _lower(lines[0])
    header = next(header for header in HEADERS if header <= set(names))
    first, second = (names.index(name) for name in names if name in header)
    mark = names.index("mark") if "mark" in names else None
    for row in csv.reader(lines[1:], delimiter=_delimiter(lines[0])):
        cells = [cell.strip() for cell in row] + [""] * (len(names) - len(row))
        arrow = "" if mark is None else cells[mark]
        yield (cells[first], arrow or "-->", cells[second]) if cells[second] else (cells[first],)


def _words(line: str) -> tuple[str, ...]:
    """Names and mark of a line without a header."""
    if found := _MARKED.match(line.strip()):
        return found.groups()
    row = next(csv.reader([line.strip()], delimiter=_delimiter(line)))
    return tuple(cell.strip() for cell in row if cell.strip())


def _lower(line: str) -> list[str]:
    return [cell.strip().lower() for cell in next(csv.reader([line], delimiter=_delimiter(line)))]


def _delimiter(line: str) -> str:
    return next((sign for sign in ",\t;" if sign in line), " ")


def _edge(told: Any) -> Edge | str:
    """An edge, or a node that has none."""
    if isinstance(told, Edge):
        return told
    parts: Any = _words(told) if isinstance(told, str) else told
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise GraphError(f"{told!r} is no edge; write 'a --> b' or ('a', 'b')")
    match list(parts):
        case [node]:
            return str(node)
        case [a, b]:
            return Edge(a, b, "-->")
        case [a, ("-?>" | "<?-") as mark, b]:  # as a graph is printed
            ends = (a, b) if mark == DASHED else (b, a)
            return Edge(*ends, "-->", tentative="support")
        case [a, mark, b]:
            mark = SHORT.get(mark, mark)
            if mark in TURNED:
                a, mark, b = b, TURNED[mark], a
            if mark in MARKS:
                return Edge(a, b, cast(Mark, mark))
    raise GraphError(f"{told!r} is no edge; write 'a --> b' with one of {' '.join(MARKS)}")


def _ends(told: Edge | str) -> tuple[str, ...]:
    return (told,) if isinstance(told, str) else (told.source, told.target)
