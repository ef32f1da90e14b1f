"""``privet local``: what channels give away, in every notion of it."""

from __future__ import annotations

import argparse
import math

from privet.cli.show import Subparsers, add_json, command, console, print_json, rows, table
from privet.errors import MethodError


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "local", "privacy where nobody is trusted with rows")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    tune = command(
        actions, "tune", "translate between an attacker's success and epsilon; looks at no data"
    )
    aim = tune.add_mutually_exclusive_group(required=True)
    aim.add_argument(
        "--success",
        type=float,
        metavar="P",
        help="probability of guessing a value right that was one of equally likely ones",
    )
    aim.add_argument("--epsilon", type=float, metavar="E", help="bound between any two values")
    tune.add_argument(
        "--levels",
        required=True,
        metavar="K",
        help="number of values, such as 10; of several columns reported together, such as 5,5,3",
    )
    tune.add_argument(
        "--norm",
        type=float,
        default=1,
        metavar="P",
        help="of the distance, if there are several columns: 1 (default), 2, ... or inf",
    )
    tune.add_argument(
        "--prior", metavar="P,P,...", help="show the success of an attacker who thinks this"
    )
    add_json(tune)
    tune.set_defaults(run=run_tune)


def run_tune(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from privet.local.device.tune import left_out, tune

    sizes = _levels(args.levels)
    made = tune(
        sizes, success=args.success, epsilon=args.epsilon, norm=args.norm, prior=_prior(args.prior)
    )
    refused = left_out(sizes)
    if args.json:
        others = [{"channel": name, "refused": why} for name, why in refused.items()]
        print_json([*(asdict(line) for line in made), *others])
        return
    figures = ("success", "epsilon", "epsilon per unit", "e_x as published")
    out = table("channel", *figures, right=figures)
    for line in made:
        rates = "" if line.rates is None else "{:.4g} to {:.4g}".format(*line.rates)
        each = "" if line.epsilon_d is None else f"{line.epsilon_d:.4g}"
        success, epsilon = f"{line.success:.4g}", f"{line.epsilon_ldp:.4g}"
        rows(out, (line.channel, success, epsilon, each, rates))
    values = math.prod(sizes)
    con = console()
    con.print(
        f"{values} values; a guess without a report is right with probability "
        f"{1 / values:.4g} if all are alike.",
        soft_wrap=True,
    )
    con.print(out)
    for why in dict.fromkeys(refused.values()):
        names = "; ".join(name for name in refused if refused[name] == why)
        con.print(f"Not {names}: {why}.", soft_wrap=True)
    con.print("Only epsilon bounds what a report gives away whatever an attacker knows.")


def _levels(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise MethodError(
            f"--levels is {text!r}; write whole numbers from 2 on, such as 10, or 5,5,3 for "
            f"several columns"
        ) from None


def _prior(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MethodError(f"--prior is {text!r}; write probabilities such as 0.7,0.2,0.1") from None
