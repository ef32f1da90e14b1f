"""``privet methods``: which methods there are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from privet.cli.show import Subparsers, add_json, command, console, print_json, rows, table

if TYPE_CHECKING:
    from privet.methods.method import Method
    from privet.pairs.way import Way

HEADINGS = ("method", "columns", "privacy", "graph", "what it does", "reference")
PAIRS = ("method", "privacy", "what it does", "reference")
FOR_PAIRS = "For `privet orient`, which tells the cause of two numeric columns:"
GROUPS = {
    "central": "central privacy: somebody trusted holds the table",
    "local": "local privacy: every device randomises its own row",
    "open": "no privacy: exact, to compare with",
    "pairs": "for `privet orient`, which tells the cause of two numeric columns",
}
MORE = (
    "*: needs delta > 0. +: also --as-published, without privacy. `privet methods --markdown` "
    "shows columns, graphs and references too."
)

Line = tuple[str, ...]


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "methods", "list the methods")
    parser.add_argument(
        "group",
        nargs="?",
        choices=tuple(GROUPS),
        help="only these: with central, local or no privacy (open), or for pairs of columns",
    )
    parser.add_argument("--markdown", action="store_true", help="as Markdown tables")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.methods.catalogue import available
    from privet.pairs.way import all_ways

    methods = [method for method in available() if args.group in (None, _group(method))]
    ways = all_ways() if args.group in (None, "pairs") else ()
    graphs, pairs = [_line(method) for method in methods], [_pair_line(way) for way in ways]
    if args.json:
        print_json(
            [
                *({"command": "discover", **dict(zip(HEADINGS, g, strict=True))} for g in graphs),
                *({"command": "orient", **dict(zip(PAIRS, p, strict=True))} for p in pairs),
            ]
        )
    elif args.markdown:
        parts = [_markdown(HEADINGS, graphs)] if graphs else []
        parts += [f"{FOR_PAIRS}\n\n{_markdown(PAIRS, pairs)}"] if pairs else []
        print("\n\n".join(parts))
    else:
        for group in GROUPS:
            brief = [_brief(method) for method in methods if _group(method) == group]
            brief += [_pair_brief(way) for way in ways if group == "pairs"]
            if brief:
                _print(group, brief)
        console().print(MORE, soft_wrap=True)


def _print(group: str, brief: list[Line]) -> None:
    """One group; a method fits a line or two of a narrow terminal."""
    title = GROUPS[group]
    console().print(title[0].upper() + title[1:])
    console().print(rows(table("method", "what it does"), *brief))


def _group(method: Method) -> str:
    if method.evidence == "reports":
        return "local"
    return "central" if method.private else "open"


def _brief(method: Method) -> Line:
    needs_delta = method.private and method.needs_delta
    return _marked(method.name, needs_delta, method.published), method.summary


def _pair_brief(way: Way) -> Line:
    return _marked(way.name, way.private and way.tested, way.published), way.summary


def _marked(name: str, needs_delta: bool, published: object | None) -> str:
    return name + " *" * needs_delta + " +" * (published is not None)


def _line(method: Method) -> Line:
    kinds = [k for k in ("categorical", "ordinal", "numeric") if k in method.kinds]
    privacy = "none"
    if method.private:
        privacy = "central, delta > 0" if method.needs_delta else "central, any delta"
    if method.evidence == "reports":
        privacy = "local"
    if method.published:
        privacy += "; none with --as-published"
    return (
        method.name,
        ", ".join(kinds),
        privacy,
        method.graph.upper(),
        method.summary,
        method.cite,
    )


def _pair_line(way: Way) -> Line:
    privacy = "none"
    if way.private:
        privacy = "central, delta > 0" if way.tested else "central, any delta"
    if way.published:
        privacy += "; none with --as-published"
    return way.name, privacy, way.summary, way.cite or "this library"


def _markdown(headings: Line, lines: list[Line]) -> str:
    cells = [headings, tuple("---" for _ in headings)]
    cells += [(f"`{name}`", *rest) for name, *rest in lines]
    made = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in cells]
    return "\n".join(made)
