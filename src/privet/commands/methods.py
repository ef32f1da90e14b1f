"""``privet methods``: which methods there are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from privet.commands.show import Subparsers, add_json, command, console, print_json, rows, table

if TYPE_CHECKING:
    from privet.methods.registry import Method
    from privet.orientation.registry import Way

HEADINGS = ("method", "columns", "privacy", "graph", "what it does", "reference")
BRIEF = ("method", "columns", "privacy", "what it does")
PAIRS = ("method", "privacy", "what it does", "reference")
FOR_PAIRS = "For `privet orient`, which tells the cause of two numeric columns:"

Line = tuple[str, ...]


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "methods", "list the methods")
    parser.add_argument("--markdown", action="store_true", help="as Markdown tables")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.methods.registry import available
    from privet.orientation import registry

    graphs = [_line(method) for method in available()]
    pairs = [_pair_line(way) for way in registry.available()]
    if args.json:
        print_json(
            [
                *({"command": "discover", **dict(zip(HEADINGS, g, strict=True))} for g in graphs),
                *({"command": "orient", **dict(zip(PAIRS, p, strict=True))} for p in pairs),
            ]
        )
    elif args.markdown:
        print("\n".join(_markdown(HEADINGS, graphs)))
        print(f"\n{FOR_PAIRS}\n")
        print("\n".join(_markdown(PAIRS, pairs)))
    else:
        brief = [(name, kinds, privacy, what) for name, kinds, privacy, _, what, _ in graphs]
        console().print(rows(table(*BRIEF), *brief))
        console().print(f"\n{FOR_PAIRS}\n")
        console().print(rows(table(*PAIRS[:-1]), *(line[:-1] for line in pairs)))


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
        method.name, ", ".join(kinds), privacy, method.graph.upper(), method.summary, method.cite
    )  # fmt: skip


def _pair_line(way: Way) -> Line:
    privacy = "none"
    if way.private:
        privacy = "central, delta > 0" if way.tested else "central, any delta"
    if way.published:
        privacy += "; none with --as-published"
    return way.name, privacy, way.summary, way.cite or "this library"


def _markdown(headings: Line, lines: list[Line]) -> list[str]:
    cells = [headings, tuple("---" for _ in headings)]
    cells += [(f"`{name}`", *rest) for name, *rest in lines]
    return ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in cells]
