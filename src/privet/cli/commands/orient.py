"""``privet orient``: which of two columns is the cause, with privacy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from privet.cli.commands.discover import progress
from privet.cli.show import (
    Subparsers,
    add_json,
    add_ledger,
    command,
    console,
    print_json,
    print_promise,
    print_warnings,
    printable,
    rows,
    table,
    teller,
)
from privet.errors import BudgetError, DataError, MethodError

if TYPE_CHECKING:
    from privet.arrays import OnStep
    from privet.pairs.way import Orientation
    from privet.results.folder import Stage
    from privet.results.orientations import Orientations

TURNED = "turned: probability that the noise alone has turned the sign of the difference; "
WRONG = "wrong: that noise and chance in the rows have, if the model holds"
NO_WRONG = "of chance in the rows this method says nothing"
OPTIONS = ("release", "protect", "ridge", "bandwidth", "seed")


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "orient", "tell which of two numeric columns is the cause")
    parser.add_argument("data", metavar="DATA", nargs="?", help="CSV or Parquet file")
    parser.add_argument("--schema", metavar="FILE", help="what is public about the data (TOML)")
    parser.add_argument("--cause-effect", metavar="A,B", help="the two columns, in any order")
    parser.add_argument("--all-pairs", action="store_true", help="all pairs of numeric columns")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument("--epsilon", type=float, metavar="E", help="smaller is more private")
    privacy.add_argument(
        "--delta",
        type=float,
        metavar="D",
        help="default 0: best for up to six pairs; methods that test for stability need one",
    )
    add_ledger(privacy)  # type: ignore[arg-type]
    privacy.add_argument("--no-privacy", action="store_true", help="exact, and not private at all")
    privacy.add_argument(
        "--evidence", metavar="FILE", help="judge the evidence.json of an earlier run, for free"
    )
    way = parser.add_argument_group("method")
    way.add_argument(
        "--method",
        metavar="NAME",
        default="auto",
        help="auto (table-collisions), table-both, …, loss-difference, anm-sqrt-hsic, …",
    )
    way.add_argument(
        "--release", metavar="WHAT", help="sign (cheaper) or scores, of additive-noise models"
    )
    way.add_argument(
        "--find-bounds",
        action="store_true",
        help="find ranges of the columns first, for a fifth of the budget",
    )
    way.add_argument("--ridge", type=float, metavar="L", help="of additive-noise models")
    way.add_argument("--bandwidth", metavar="B", help="of their dependence scores, a number")
    way.add_argument(
        "--as-published",
        action="store_true",
        help="protect one half of the rows only, as in the paper: NOT private",
    )
    way.add_argument("--protect", metavar="HALF", help="test or training, with --as-published")
    way.add_argument("--seed", type=int, metavar="S", help="of the judgement (0)")
    show = parser.add_argument_group("output")
    show.add_argument("--force", action="store_true", help="replace the results in DIR")
    add_json(show)  # type: ignore[arg-type]
    show.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.results.folder import Stage

    _check_combination(args)
    stage = Stage(args.output, force=args.force, command="orient", on_note=teller(args))
    with stage, progress(args) as on_step:
        found, files = _orient(args, stage, on_step)
    if not args.quiet:
        print_warnings(found.certificate.warnings)
    if args.json:
        print_json(
            {
                **found.to_dict(),
                "certificate": dict(found.certificate),
                "files": {path.name: str(path) for path in files},
            }
        )
    elif not args.quiet:
        _print(found)
        print_promise(found.certificate, files, args.ledger)


def _orient(
    args: argparse.Namespace, stage: Stage, on_step: OnStep
) -> tuple[Orientations, tuple[Path, ...]]:
    """Evidence that was paid for is kept even if judging it is stopped."""
    from privet.api.checks import paid
    from privet.api.orient import judge, make_choices, measure, orient
    from privet.results.saved import to_json

    options = {name: getattr(args, name) for name in OPTIONS}
    options |= {"bandwidth": _bandwidth(args.bandwidth), "find_bounds": args.find_bounds}
    pairs = {"cause_effect": _pair(args.cause_effect), "all_pairs": args.all_pairs}
    if args.evidence:
        found = orient(
            schema=args.schema,
            evidence=args.evidence,
            method=args.method,
            on_step=on_step,
            **pairs,
            **options,
        )
        return found, found.write(stage)
    choices = make_choices(on_step=on_step, **options)
    saved = measure(
        args.data,
        args.schema,
        choices,
        epsilon=args.epsilon,
        delta=args.delta or 0.0,
        method=args.method,
        private=not args.no_privacy,
        as_published=args.as_published,
        ledger=args.ledger,
        **pairs,
    )
    with paid(saved):
        stage.write("evidence.json", to_json(saved))
        stage.keep("evidence.json")
        found = judge(saved, choices, method=args.method)
        return found, found.write(stage)


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise MethodError(
            f"--cause-effect is {text!r}; name two columns with a comma between them, such as "
            "height,weight (a name with a comma in it can be used from Python)"
        )
    return names[0], names[1]


def _bandwidth(text: str | None) -> float | str | None:
    """A number; anything else is refused later, with its reason."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _check_combination(args: argparse.Namespace) -> None:
    free = "--evidence" if args.evidence else "--no-privacy" if args.no_privacy else None
    if args.evidence and (args.no_privacy or args.as_published):
        given = "--no-privacy" if args.no_privacy else "--as-published"
        raise BudgetError(
            f"{given} was given with --evidence, which is as private as the run that it comes "
            "from; leave one of the two away"
        )
    for option in ("epsilon", "delta", "ledger"):
        value = getattr(args, option)
        if free and value is not None:
            raise BudgetError(
                f"--{option} {value} was given with {free}, which spends nothing; leave one of "
                f"the two away"
            )
    if args.evidence and args.data:
        raise DataError(
            f"DATA ({args.data!r}) was given with --evidence, which reads no data; leave one of "
            f"the two away"
        )
    if not args.evidence and not args.data:
        raise DataError("no data were named; give a CSV or Parquet file: privet orient DATA ...")


def _print(found: Orientations) -> None:
    """The scores, or their difference where only that is known, and what is known of doubts."""
    scored = all(pair.forward is not None for pair in found)
    scores = ("forward", "backward") if scored else ("difference",)
    known = any(pair.wrong is not None for pair in found)
    doubts = ("turned", "wrong") if known else ("turned",)
    made = table("pair", "", "", *scores, *doubts, right=(*scores, *doubts))
    for pair in found:
        chances = (pair.flipped, pair.wrong)[: len(doubts)]
        figures = (*(_score(getattr(pair, name)) for name in scores), *map(_chance, chances))
        mark = "?" if pair.direction == "undecided" else pair.direction
        rows(made, (pair.a, mark, pair.b, *figures))
    out = console()
    out.print(made)
    for line in (TURNED + (WRONG if known else NO_WRONG), *map(printable, _remarks(found))):
        out.print(line, soft_wrap=not out.is_terminal)  # whole lines for what reads a pipe


def _remarks(found: Orientations) -> list[str]:
    """Reasons and warnings, each once, with the pairs that it is about."""
    about: dict[str, list[Orientation]] = {}
    for pair in found:
        reason = f"undecided: {pair.reason}" if pair.reason else ""
        for text in filter(None, (reason, *pair.notes)):
            about.setdefault(text, []).append(pair)
    return [
        f"{', '.join(f'{pair.a} and {pair.b}' for pair in pairs)}: {text}"
        for text, pairs in about.items()
    ]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value + 0.0:.3g}"  # no -0


def _chance(value: float | None) -> str:
    from privet.pairs.way import chance

    return "" if value is None else chance(value)
