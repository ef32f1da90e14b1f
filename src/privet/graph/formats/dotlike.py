"""A reader for the brace language that DOT and dagitty share: `digraph { "a" -> b [k=v]; }`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from privet.errors import GraphError

_TOKEN = re.compile(
    r"""(?P<skip>\s+ | //[^\n]* | \#[^\n]* | /\*.*?\*/)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<arrow><->|<-@|@->|@-@|@--|--@|->|<-|--)
      | (?P<bare>-?[\w.]+)
      | (?P<sign>[{}\[\]=;,])""",
    re.VERBOSE | re.DOTALL,
)

Attributes = dict[str, str]


@dataclass
class Parsed:
    """What the text says, in its order; edges are (left, arrow, right, attributes)."""

    header: str = ""
    attributes: Attributes = field(default_factory=dict)
    nodes: dict[str, None] = field(default_factory=dict)
    edges: list[tuple[str, str, str, Attributes]] = field(default_factory=list)


def quote(name: str) -> str:
    """The name as a quoted text."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parse(text: str, headers: tuple[str, ...]) -> Parsed:
    """Read the text, which must start with one of the headers; GraphError where it cannot."""
    return _Reader(text).graph(headers)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int
    quoted: bool = False


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GraphError(
                f"line {line} has {text[at : at + 20]!r}, which cannot be read here; "
                "put names in double quotes, and use only nodes, edges and [attributes]"
            )
        kind, piece, at = str(match.lastgroup), match.group(), match.end()
        if kind == "quoted":
            yield _Token("name", re.sub(r'\\(["\\])', r"\1", piece[1:-1]), line, quoted=True)
        elif kind != "skip":
            yield _Token("name" if kind == "bare" else kind, piece, line)
        line += piece.count("\n")


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), _Token("end", "the end of the text", text.count("\n") + 1)]
        self.at = 0
        self.found = Parsed()
        self.edge_defaults: Attributes = {}

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.next
        self.at += 1
        return token

    def skip(self, *signs: str) -> bool:
        """Step over one of the signs if it comes next."""
        there = self.next.kind in ("sign", "arrow") and self.next.text in signs
        self.at += there
        return there

    def need(self, ok: bool, what: str) -> None:
        if not ok:
            here = self.next
            raise GraphError(f"line {here.line} has {here.text!r} where {what} must stand")

    def name(self, what: str = "a name") -> str:
        self.need(self.next.kind == "name", what)
        return self.take().text

    def graph(self, headers: tuple[str, ...]) -> Parsed:
        word = " or ".join(headers)
        if self.next.text.lower() == "strict":
            self.take()
        self.found.header = self.name(word).lower()
        self.need(self.found.header in headers, f"{word} {{ … }}, not {self.found.header!r},")
        if self.next.kind == "name":
            self.take()
        self.need(self.skip("{"), "{")
        while not self.skip("}"):
            if not self.skip(";"):
                self.statement()
        self.need(self.next.kind == "end", "the end of the text")
        return self.found

    def statement(self) -> None:
        word = "" if self.next.quoted else self.next.text.lower()
        self.need(word != "subgraph", "a node or an edge (subgraphs are not read)")
        left = self.operand()
        if len(left) == 1 and self.skip("="):
            self.found.attributes[left[0]] = self.name("a value")
            return
        joined = []
        while self.next.kind == "arrow":
            arrow, right = self.take().text, self.operand()
            joined += [(a, arrow, b) for a in left for b in right]
            left = right
        attributes = self.attributes()
        if joined:
            for a, arrow, b in joined:
                self.found.nodes |= {a: None, b: None}
                self.found.edges.append((a, arrow, b, self.edge_defaults | attributes))
        elif word == "graph":
            self.found.attributes |= attributes
        elif word == "edge":
            self.edge_defaults |= attributes
        elif word != "node":
            self.found.nodes |= dict.fromkeys(left)

    def operand(self) -> list[str]:
        """One name, or several in braces."""
        if not self.skip("{"):
            return [self.name("a node, an edge or }")]
        names = []
        while not self.skip("}"):
            if not self.skip(";", ","):
                names.append(self.name("a name or }"))
        return names

    def attributes(self) -> Attributes:
        """[key=value, flag], any number of times."""
        found: Attributes = {}
        while self.skip("["):
            while not self.skip("]"):
                if not self.skip(",", ";"):
                    key = self.name("an attribute or ]")
                    found[key] = self.name("a value") if self.skip("=") else ""
        return found
