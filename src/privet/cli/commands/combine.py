"""``privet combine``: one graph from what several sites have measured for themselves."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from privet.cli.graphs import (
    as_json,
    methods_of,
    print_agreement,
    print_diagnostics,
    print_edges,
    print_undecided,
)
from privet.cli.progress import progress
from privet.cli.results import add_option, add_output
from privet.cli.show import (
    Subparsers,
    command,
    console,
    print_json,
    print_promise,
    print_warnings,
    printable,
    teller,
)
from privet.errors import StudyError
from privet.methods.options import SEARCH, Settings
from privet.options.option import options_of

if TYPE_CHECKING:
    from pathlib import Path

    from privet.arrays import OnStep
    from privet.results.discovery import Discovery

# Of a search; what would be asked of rows is not among them.
OPTIONS = tuple(o for o in options_of(Settings) if o.group == SEARCH and o.name != "orient_pairs")


def add(parsers: Subparsers) -> None:
    what = "find one causal graph from the evidence of several sites, for free"
    parser = command(parsers, "combine", what)
    parser.add_argument(
        "evidence",
        metavar="EVIDENCE",
        nargs="+",
        help="the evidence.json of each site; with --study, the masked answers of all sites",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--schema", metavar="FILE", help="what may cause what, if the sites do not agree on it"
    )
    parser.add_argument(
        "--study", metavar="LOCK", help="the study.lock, if these are masked answers that add up"
    )
    search = parser.add_argument_group("search")
    search.add_argument("--method", metavar="NAME", help="see `privet methods` (as the sites)")
    search.add_argument("--methods", metavar="A,B,…", help="several, and where they agree")
    for option in OPTIONS:
        add_option(search, option)
    search.add_argument(
        "--use-differences", action="store_true", help="arrows from what differs between sites"
    )
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.results.folder import Stage

    stage = Stage(args.output, force=args.force, command="combine", on_note=teller(args))
    with stage, progress(args) as on_step:
        found = _ask(args, on_step)
        files = found.write(stage)
    show(found, files, args)


def show(found: Discovery, files: tuple[Path, ...], args: argparse.Namespace) -> None:
    if not args.quiet:
        print_warnings(found.certificate.warnings)
    if args.json:
        print_json(as_json(found, files))
    elif not args.quiet:
        _print(found)
        print_promise(found.certificate, files, None)


def _ask(args: argparse.Namespace, on_step: OnStep) -> Discovery:
    from privet.api.combine import combine
    from privet.api.study import combine_study

    asked = {option.name: getattr(args, option.name) for option in OPTIONS}
    asked |= {"method": methods_of(args), "on_step": on_step}
    if args.study is None:
        differences = args.use_differences
        return combine(*args.evidence, schema=args.schema, use_differences=differences, **asked)
    if args.schema is not None or args.use_differences:
        raise StudyError(
            "the lock of a study has its own schema, and a sum does not tell sites apart; leave "
            "--schema and --use-differences away"
        )
    return combine_study(args.evidence, args.study, **asked)


def _print(found: Discovery) -> None:
    out = console()
    print_diagnostics(found)
    if found.graph.edges and found.sites is None:
        print_edges(found.graph.edges)
    elif found.graph.edges and found.sites is not None:
        rest = [line.said() for line in found.sites.edges]
        print_edges(found.graph.edges, rest, heading="if one site is left out")
    else:
        out.print("No edge stands out of the noise of these sites.")
    print_undecided(found)
    for note in found.notes:
        out.print(printable(note), soft_wrap=True)
    if found.others:
        print_agreement(found)
