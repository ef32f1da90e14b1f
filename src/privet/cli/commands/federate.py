"""``privet federate``: several sites that hold rows about the same columns."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from privet.cli.commands import federate_rival, study
from privet.cli.commands.simulate import add_sites
from privet.cli.progress import progress
from privet.cli.show import (
    Subparsers,
    add_json,
    command,
    console,
    number,
    print_json,
    printable,
    rows,
    table,
)

if TYPE_CHECKING:
    from privet.api.rehearse import Rehearsal


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "federate", "let several sites find one graph together")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    study.add(actions)
    what = "play several sites with simulated rows, and hold their joint graph against the truth"
    played = command(actions, "simulate", what)
    played.add_argument("name", metavar="NAME", help="a network, such as asia or sachs")
    played.add_argument("--rows", type=int, required=True, metavar="N", help="rows of each site")
    add_sites(played, default=5)
    played.add_argument("--epsilon", type=float, required=True, metavar="E", help="of each site")
    played.add_argument("--delta", type=float, metavar="D", help="the largest allowed; 1e-6")
    played.add_argument("--method", default="auto", metavar="NAME", help="see `privet methods`")
    played.add_argument(
        "--refuse", action="append", default=[], metavar="SITE", help="its cap is too small"
    )
    played.add_argument(
        "--lose", action="append", default=[], metavar="SITE", help="its file never arrives"
    )
    played.add_argument(
        "--central", action="store_true", help="also say what all rows in one place would show"
    )
    played.add_argument(
        "--together", action="store_true", help="sites add up under masks; only the sum is seen"
    )
    played.add_argument(
        "--tolerate", type=int, metavar="T", help="colluding sites, together (default: a third)"
    )
    played.add_argument("--seed", type=int, default=0, metavar="S", help="of the rows (default 0)")
    played.add_argument(
        "--output", required=True, metavar="DIR", help="a new folder: site-1/, ..., joint/"
    )
    add_json(played)
    played.add_argument("--quiet", action="store_true", help="print nothing but errors")
    played.set_defaults(run=run)
    federate_rival.add(actions)


def run(args: argparse.Namespace) -> None:
    from privet.api.rehearse import rehearse

    with progress(args) as on_step:
        made = rehearse(
            args.name,
            rows=args.rows,
            sites=args.sites,
            differ=args.differ,
            epsilon=args.epsilon,
            delta=args.delta,
            method=args.method,
            refuse=args.refuse,
            lose=args.lose,
            central=args.central,
            together=args.together,
            tolerate=args.tolerate,
            seed=args.seed,
            output=args.output,
            on_step=on_step,
        )
    if args.json:
        print_json(json.loads((made.folder / "comparison.json").read_text("utf-8")))
    elif not args.quiet:
        _print(made, args)


def _print(made: Rehearsal, args: argparse.Namespace) -> None:
    figures = ("skeleton F1", "directed F1", "SHD")
    out = table("graph of", *figures, "", right=figures)
    for one in made.scores:
        shown = number(one.skeleton_f1, 2), number(one.directed_f1, 2)
        note = "refused: its cap is too small" if one.why else ""
        note = "lost: its file never arrived" if one.name in args.lose else note
        rows(out, (one.name, *shown, "" if one.shd is None else one.shd, note))
    con = console()
    con.print(out)
    for note in made.joint.notes:
        con.print(printable(note), soft_wrap=True)
    con.print(printable(made.folder), soft_wrap=True)
