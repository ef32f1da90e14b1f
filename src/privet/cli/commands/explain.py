"""``privet explain``: why two columns are joined, or not."""

from __future__ import annotations

import argparse

from privet.cli.show import (
    Subparsers,
    add_json,
    command,
    console,
    print_json,
    printable,
    rows,
    table,
)


def add(parsers: Subparsers) -> None:
    parser = command(
        parsers, "explain", "say why two columns are joined or not, from evidence alone; free"
    )
    parser.add_argument("folder", metavar="DIR", help="folder of results of `privet discover`")
    parser.add_argument("a", metavar="A", help="a column")
    parser.add_argument("b", metavar="B", help="another one")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.api.explain import explain

    found = explain(args.folder, args.a, args.b)
    if args.json:
        print_json(found.to_dict())
        return
    out = console()
    out.print(printable(found.text), soft_wrap=True)
    figures = ("effect", "from", "to")
    made = table("given", *figures, "odds of this test", right=figures)
    for test in found.tests:
        sizes = (f"{size:.3f}" for size in (test.effect, test.low, test.high))
        rows(made, (", ".join(test.given) or "nothing", *sizes, f"{test.odds} a dependence"))
    out.print(made)
