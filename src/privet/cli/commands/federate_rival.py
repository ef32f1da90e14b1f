"""``privet federate rival``: one graph from the rows of several sites, to compare with."""

from __future__ import annotations

import argparse

from privet.cli.graphs import print_edges
from privet.cli.progress import progress
from privet.cli.results import add_output
from privet.cli.show import (
    Subparsers,
    command,
    console,
    print_json,
    print_promise,
    printable,
    teller,
)


def add(actions: Subparsers) -> None:
    what = "PERI and its rivals on the rows of several sites, to compare with: NOT private"
    parser = command(actions, "rival", what)
    parser.add_argument("data", metavar="DATA", nargs="+", help="the rows of each site")
    parser.add_argument("--schema", metavar="FILE", help="what is public about the data (TOML)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--method",
        default="peri",
        metavar="NAME",
        help="peri, ges-union, rfcd, notears-admm, direct-lingam, pooled (peri)",
    )
    parser.add_argument("--no-privacy", action="store_true", help="exact, and not private at all")
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="peri with the noise of its paper: NOT private, whatever it claims",
    )
    parser.add_argument(
        "--epsilon", type=float, metavar="E", help="what the paper would claim for its noise"
    )
    parser.add_argument("--score", metavar="NAME", help="mdl (numbers), bic or aic")
    parser.add_argument(
        "--objective", default="worst", metavar="NAME", help="worst or sum of regrets (peri)"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="of sites asked at a time (peri; 1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of draws (default 0)")
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    import json

    from privet.api.rival import rival
    from privet.graph.formats.files import to_json
    from privet.results.folder import Stage

    stage = Stage(args.output, force=args.force, command="federate rival", on_note=teller(args))
    with stage, progress(args) as on_step:
        found = rival(
            *args.data,
            schema=args.schema,
            method=args.method,
            private=not args.no_privacy,
            as_published=args.as_published,
            epsilon=args.epsilon,
            score=args.score,
            objective=args.objective,
            share=args.share,
            seed=args.seed,
            on_step=on_step,
        )
        files = found.write(stage)
    if args.json:
        print_json(
            {
                "graph": json.loads(to_json(found.graph)),
                "certificate": dict(found.certificate),
                "files": {path.name: str(path) for path in files},
                "notes": list(found.notes),
            }
        )
        return
    if args.quiet:
        return
    if found.graph.edges:
        print_edges(found.graph.edges)
    else:
        console().print("No edge was found.")
    for note in found.notes:
        console().print(printable(note), soft_wrap=True)
    print_promise(found.certificate, files, None)
