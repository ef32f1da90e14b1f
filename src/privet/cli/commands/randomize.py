"""``privet randomize``: from answers to reports that may leave the device."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from privet.cli.progress import progress
from privet.cli.show import (
    Subparsers,
    about,
    add_json,
    command,
    console,
    print_json,
    printable,
    rows,
    table,
    teller,
)
from privet.errors import DataError

if TYPE_CHECKING:
    from privet.local.device.protocol import Protocol

PLANNED = ("schema", "epsilon", "success", "split", "clamped", "norm")


def add(parsers: Subparsers) -> None:
    parser = command(
        parsers, "randomize", "make one report per row that gives away no more than epsilon"
    )
    parser.add_argument(
        "answers",
        metavar="ANSWERS",
        help="CSV or Parquet file, or a table of an engine, one row per person",
    )
    parser.add_argument("--schema", metavar="FILE", help="schema file (TOML)")
    parser.add_argument(
        "--epsilon", type=float, metavar="E", help="bound on all that one person sends"
    )
    parser.add_argument(
        "--protocol",
        default="auto",
        metavar="NAME",
        help="auto (default), a protocol such as planned-block, or a protocol.json, which says "
        "all else",
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="FILE.parquet or FILE.csv; protocol.json is written beside it",
    )
    parser.add_argument(
        "--person",
        metavar="COLUMN",
        help="whose row it is: the same person and answers get the same report, and other "
        "answers are refused",
    )
    parser.add_argument(
        "--people", type=int, metavar="N", help="say how many people without noise N are worth"
    )
    parser.add_argument("--force", action="store_true", help="replace the files if they exist")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_json(parser)
    more = parser.add_argument_group("only for the protocols of comparison")
    more.add_argument(
        "--success",
        type=float,
        metavar="P",
        help="in place of --epsilon: an attacker's probability of guessing right (component-wise, "
        "combined, geometric, geometric-combined)",
    )
    more.add_argument(
        "--split",
        choices=("equal", "levels"),
        help="component-wise: epsilon equally (default) or by number of levels",
    )
    more.add_argument(
        "--clamped",
        action="store_const",
        const=True,
        help="geometric, geometric-combined: the exactly d-private version",
    )
    more.add_argument(
        "--norm", type=float, metavar="P", help="geometric-combined: 1 (default), 2, ... or inf"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.local.device.files import randomize_file

    if args.people is not None and args.people < 1:
        raise DataError(f"--people is {args.people}; give a whole number of at least 1")
    protocol = _protocol(args)
    with progress(args) as on_step:
        done = randomize_file(
            args.answers,
            protocol,
            args.output,
            person=args.person,
            force=args.force,
            on_step=on_step,
            on_note=teller(args),
        )
    if args.quiet:
        return
    found = {
        "rows": done.rows,
        "reports": str(done.reports),
        "protocol_file": str(done.protocol),
        **_facts(protocol, args.people),
    }
    if args.json:
        print_json(found)
        return
    print(f"reports   {printable(done.reports)}\nprotocol  {printable(done.protocol)}")
    con = console()
    con.print(rows(table("true level", "value"), *_lines(found)))
    con.print(
        "One report per person: whoever reports again gives away the sum of the epsilons. That "
        "they took part is not hidden.",
        soft_wrap=True,
    )


def _protocol(args: argparse.Namespace) -> Protocol:
    from privet.local import Protocol, plan_protocol
    from privet.local.device.recipes import worth_it
    from privet.schema.model import Schema

    if args.protocol.endswith(".json"):
        given = [name for name in PLANNED if getattr(args, name) is not None]
        if given:
            raise DataError(
                f"{args.protocol!r} says all about its reports; leave --{given[0]} away, or name "
                f"a protocol such as planned-block"
            )
        return Protocol.load(args.protocol)
    if args.schema is None:
        raise DataError("the columns are not described; give --schema FILE, or a protocol.json")
    if args.epsilon is None and args.success is None:
        raise DataError("give --epsilon E, the bound on all that one person sends, such as 4")
    planned = plan_protocol(
        Schema.load(args.schema),
        args.epsilon,
        args.protocol,
        success=args.success,
        split=args.split or "equal",
        clamped=bool(args.clamped),
        norm=1 if args.norm is None else args.norm,
    )
    return worth_it(planned)


def _facts(protocol: Protocol, people: int | None) -> dict[str, Any]:
    from privet.local.collector.plan import people_per_one

    levels = protocol.levels()
    cost = people_per_one(protocol)
    worth = None if people is None else people / cost
    return {
        "protocol": protocol.name,
        "epsilon": float(protocol.epsilon),
        "epsilon_ldp": levels.epsilon_ldp,
        "epsilon_d": levels.epsilon_d,
        "metric": levels.metric,
        "success": levels.success,
        "by_chance": levels.by_chance,
        "successes": dict(levels.successes),
        "people_per_one": cost,
        "worth": worth,
    }


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    chance, success = found["by_chance"], found["success"]
    lines = [
        ("protocol", found["protocol"]),
        ("epsilon of the whole report", f"{found['epsilon_ldp']:.6g}"),
        ("epsilon per unit of distance", f"{found['epsilon_d']:.6g} ({found['metric']})"),
        ("guessing the whole row", f"{success:.3g} (without a report {chance:.3g})"),
    ]
    name, best = max(found["successes"].items(), key=lambda pair: pair[1])
    lines.append(("guessing one column, at best", f"{best:.3g} ({name})"))
    lines.append(("people worth one without noise", about(found["people_per_one"])))
    if found["worth"] is not None:
        lines.append(("so all are worth", about(found["worth"])))
    return lines
