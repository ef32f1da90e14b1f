"""``privet audit``: an attack on a promise, by many runs on neighbours."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.progress import progress
from privet.cli.results import add_option
from privet.cli.show import Subparsers, add_json, command, console, print_json, printable
from privet.methods.options import PUBLISHED, Settings
from privet.options.option import Option, options_of
from privet.pairs.options import Choices


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "audit", "attack a method's promise with many runs on neighbours")
    parser.add_argument(
        "method",
        metavar="METHOD",
        help="a private method of `privet methods`, a protocol such as parity, or together, for "
        "the sums of a study",
    )
    parser.add_argument(
        "--schema", metavar="FILE", help="make tables up from this schema (built-in worst case)"
    )
    parser.add_argument("--epsilon", type=float, metavar="E", help="what is promised")
    parser.add_argument("--delta", type=float, metavar="D", help="0, and 0.1 where it matters")
    parser.add_argument("--runs", type=int, metavar="N", help="on either table")
    parser.add_argument("--minutes", type=float, metavar="M", help="that it may take (1)")
    parser.add_argument("--confidence", type=float, metavar="C", help="of the bound (0.999999)")
    parser.add_argument(
        "--as-published", action="store_true", help="audit what the paper claims, as it has it"
    )
    parser.add_argument("--output", metavar="DIR", help="folder for audit.json and audit.svg")
    parser.add_argument("--force", action="store_true", help="replace the audit in DIR")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_json(parser)
    group = parser.add_argument_group("options of the method")
    for option in _options():
        add_option(group, option)
    parser.set_defaults(run=run)


def _options() -> list[Option]:
    """Those that change what is asked of rows; the rest are of searches, which are free."""
    asked = [option for option in options_of(Settings) if option.group == PUBLISHED]
    return [*asked, *(option for option in options_of(Choices) if option.name != "seed")]


def run(args: argparse.Namespace) -> None:
    from privet.attacks.audit import audit
    from privet.attacks.verdict import check_output

    if args.output:
        check_output(Path(args.output), args.force)
    given = {option.name: getattr(args, option.name) for option in _options()}
    names = ("confidence", "minutes")
    sure = {n: getattr(args, n) for n in names if getattr(args, n) is not None}
    with progress(args) as on_step:
        found = audit(
            args.method,
            args.schema,
            epsilon=args.epsilon,
            delta=args.delta,
            runs=args.runs,
            as_published=args.as_published,
            on_step=on_step,
            **sure,
            **{name: value for name, value in given.items() if value not in (None, False)},
        )
    files = found.save(args.output, force=args.force) if args.output else ()
    if args.json:
        print_json({**found.to_dict(), "files": {path.name: str(path) for path in files}})
    elif not args.quiet:
        out = console()
        told = [f"{found.method}: {found}.", f"{found.runs:,} runs on {found.words}."]
        told.append(f"Judged on half of them: {found.event}.")
        told += [f"Also {other}, {other.runs:,} runs on {other.words}." for other in found.others]
        if found.why:
            told.append(f"What is wrong: {found.why}.")
        if not found.violated:
            told.append("No audit proves privacy; the proofs do that.")
        for line in (*told, *map(str, files)):
            out.print(printable(line), soft_wrap=True)
