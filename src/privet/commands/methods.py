"""``privet methods``: which methods there are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from privet.commands.show import Subparsers, add_json, command, console, print_json, rows, table

if TYPE_CHECKING:
    from privet.methods.registry import Method

HEADINGS = ("method", "columns", "privacy", "graph", "what it does", "reference")


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "methods", "list the methods")
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.methods.registry import available

    lines = [_line(method) for method in available()]
    if args.json:
        print_json([dict(zip(HEADINGS, line, strict=True)) for line in lines])
    elif args.markdown:
        print("\n".join(_markdown(HEADINGS, lines)))
    else:
        brief = [(name, kinds, privacy, what) for name, kinds, privacy, _, what, _ in lines]
        console().print(rows(table("method", "columns", "privacy", "what it does"), *brief))


def _line(method: Method) -> tuple[str, ...]:
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


def _markdown(headings: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    cells = [headings, tuple("---" for _ in headings)]
    cells += [(f"`{name}`", *rest) for name, *rest in lines]
    return ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in cells]
