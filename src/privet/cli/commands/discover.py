"""``privet discover``: a private causal graph of a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.results import add_option, add_output, options, produce
from privet.cli.show import (
    Subparsers,
    add_ledger,
    command,
    console,
    number,
    print_json,
    print_promise,
    print_warnings,
    printable,
    rows,
    table,
)
from privet.errors import MethodError
from privet.methods.options import PUBLISHED, SEARCH, Settings
from privet.options.option import table as table_of

if TYPE_CHECKING:
    from privet.results.discovery import Discovery


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "discover", "find the causal graph of a table, with privacy")
    parser.add_argument("data", metavar="DATA", nargs="?", help="CSV or Parquet file")
    parser.add_argument("--schema", metavar="FILE", help="what is public about the data (TOML)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument("--epsilon", type=float, metavar="E", help="smaller is more private")
    privacy.add_argument("--delta", type=float, metavar="D", help="1e-6; 0 where that shows more")
    add_ledger(privacy)  # type: ignore[arg-type]
    privacy.add_argument("--no-privacy", action="store_true", help="exact, and not private at all")
    privacy.add_argument(
        "--evidence", metavar="FILE", help="search the evidence.json of an earlier run, for free"
    )
    privacy.add_argument(
        "--protocol",
        metavar="FILE",
        help="DATA are reports that devices have randomised, and this is their protocol.json",
    )
    search = parser.add_argument_group("search")
    search.add_argument("--method", metavar="NAME", help="see `privet methods` (auto)")
    search.add_argument(
        "--methods", metavar="A,B,…", help="several on one measurement, and where they agree"
    )
    groups = {SEARCH: search, PUBLISHED: parser.add_argument_group(PUBLISHED)}
    for option in table_of(Settings):
        if option.name == "statistic":  # the first of its group
            groups[PUBLISHED].add_argument(
                "--as-published",
                action="store_true",
                help="as the paper has it, to compare with: NOT private, whatever it claims",
            )
        add_option(groups[option.group], option)
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    found, files = produce(args, "discover", _ask)
    if not args.quiet:
        print_warnings(found.certificate.warnings)
    if args.json:
        _print_json(found, files)
    elif not args.quiet:
        _print(found, files, args)


def _ask(args: argparse.Namespace, **listeners: Any) -> Discovery:
    from privet.api.discover import discover

    return discover(
        args.data,
        args.schema,
        epsilon=args.epsilon,
        delta=args.delta,
        method=_methods(args),
        private=not args.no_privacy,
        evidence=args.evidence or None,
        protocol=args.protocol or None,
        ledger=args.ledger,
        as_published=args.as_published,
        **options(args, Settings),
        **listeners,
    )


def _methods(args: argparse.Namespace) -> str | list[str]:
    if args.methods is None:
        return "auto" if args.method is None else args.method
    if args.method is not None:
        raise MethodError(
            f"--method {args.method} was given with --methods {args.methods}; leave one of the "
            f"two away"
        )
    return [name.strip() for name in args.methods.split(",") if name.strip()]


def _print_json(found: Discovery, files: tuple[Path, ...]) -> None:
    import json
    from dataclasses import asdict

    from privet.graph.formats.files import to_json

    result: dict[str, Any] = {
        "graph": json.loads(to_json(found.graph)),
        "certificate": dict(found.certificate),
        "files": {path.name: str(path) for path in files},
    }
    if found.notes:
        result["notes"] = list(found.notes)
    if found.others:
        result["others"] = {o.method: json.loads(to_json(o.graph)) for o in found.others}
        result["agreement"] = [asdict(line) for line in found.agreement()]
    print_json(result)


def _print(found: Discovery, files: tuple[Path, ...], args: argparse.Namespace) -> None:
    out = console()
    edges = sorted(found.graph.edges, key=lambda e: -(e.confidence or 0.0))
    if edges:
        figures = ("confidence", "of its mark")
        made = table("edge", "", "", *figures, right=figures)
        for e in edges:
            sure = (number(e.confidence, 2), number(e.arrow_confidence, 2))
            rows(made, (e.source, e.mark, e.target, *sure))
        out.print(made)
    else:
        plan = "privet plan --local" if found.certificate.local else "privet plan"
        hint = f"No edge stands out of the noise. `{plan}` says what could have been detected."
        out.print(hint if found.certificate.private else "No edge was found.")
    for note in found.notes:
        out.print(printable(note))
    if found.others:
        _print_agreement(found)
    print_promise(found.certificate, files, args.ledger)


def _print_agreement(found: Discovery) -> None:
    """How each method marks each pair that some method joins."""
    methods = [found.method, *(other.method for other in found.others)]
    made = table("pair", "", *methods, "joined by")
    lines = found.agreement()
    for line in lines:
        rows(made, (line.a, line.b, *line.marks, f"{line.joined} of {len(methods)}"))
    out = console()
    out.print(made)
    same = sum(line.unanimous for line in lines)
    out.print(
        f"All {len(methods)} methods searched the same evidence; of {len(lines)} pairs that some "
        f"method joins they mark {same} alike. The graph above is that of {methods[0]}.",
        soft_wrap=True,
    )
