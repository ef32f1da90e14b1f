"""``privet discover``: a private causal graph of a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.graphs import (
    as_json,
    methods_of,
    print_agreement,
    print_diagnostics,
    print_edges,
    print_undecided,
)
from privet.cli.results import add_option, add_output, options, produce
from privet.cli.show import (
    Subparsers,
    add_data,
    add_ledger,
    add_reuse,
    command,
    console,
    data_of,
    print_json,
    print_promise,
    print_warnings,
    printable,
)
from privet.methods.options import PUBLISHED, SEARCH, Settings
from privet.options.option import options_of

if TYPE_CHECKING:
    from privet.results.discovery import Discovery


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "discover", "find the causal graph of a table, with privacy")
    add_data(parser)
    parser.add_argument("--schema", metavar="FILE", help="what is public about the data (TOML)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument("--epsilon", type=float, metavar="E", help="smaller is more private")
    privacy.add_argument("--delta", type=float, metavar="D", help="the largest allowed; 1e-6")
    add_ledger(privacy)  # type: ignore[arg-type]
    add_reuse(privacy)
    privacy.add_argument(
        "--site", metavar="LABEL", help="who this is, for `privet combine` with other sites"
    )
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
    for option in options_of(Settings):
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
        print_json(as_json(found, files))
    elif not args.quiet:
        _print(found, files, args)


def _ask(args: argparse.Namespace, **listeners: Any) -> Discovery:
    from privet.api.discover import discover

    _warn_of_few_rows(args)
    return discover(
        data_of(args),
        args.schema,
        epsilon=args.epsilon,
        delta=args.delta,
        method=methods_of(args),
        private=not args.no_privacy,
        evidence=args.evidence or None,
        protocol=args.protocol or None,
        ledger=args.ledger,
        reuse=args.reuse,
        as_of=args.as_of,
        as_published=args.as_published,
        site=args.site,
        **options(args, Settings),
        **listeners,
    )


def _warn_of_few_rows(args: argparse.Namespace) -> None:
    """Before anything is spent, where the number of rows is public."""
    if args.epsilon is None or args.evidence or args.as_published:
        return
    from privet.api.checks import read_schema
    from privet.methods.plan import few_rows, plan

    schema = read_schema(args.schema)
    if schema.rows is not None:
        made = plan(schema, schema.rows, args.epsilon, args.delta)
        print_warnings(few_rows(schema, made.invisible, f"{made.rows:,}", made.epsilon))


def _print(found: Discovery, files: tuple[Path, ...], args: argparse.Namespace) -> None:
    out = console()
    print_diagnostics(found)
    if found.graph.edges:
        print_edges(found.graph.edges)
    else:
        plan = "privet plan --local" if found.certificate.local else "privet plan"
        hint = f"No edge stands out of the noise. `{plan}` says what could have been detected."
        out.print(hint if found.certificate.private else "No edge was found.")
    print_undecided(found)
    for note in found.notes:
        out.print(printable(note))
    if found.others:
        print_agreement(found)
    print_promise(found.certificate, files, args.ledger)
