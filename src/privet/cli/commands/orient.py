"""``privet orient``: which of two columns is the cause, with privacy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

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
    rows,
    table,
)
from privet.errors import MethodError
from privet.options.option import options_of
from privet.pairs.options import Choices

if TYPE_CHECKING:
    from privet.pairs.way import Orientation
    from privet.results.orientations import Orientations

TURNED = "turned: probability that the noise alone has turned the sign of the difference; "
WRONG = "wrong: that noise and chance in the rows have, if the model holds"
NO_WRONG = "of chance in the rows this method says nothing"


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "orient", "tell which of two numeric columns is the cause")
    add_data(parser)
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
    add_reuse(privacy)
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
    for option in options_of(Choices):
        if option.name == "protect":  # which goes with it
            way.add_argument(
                "--as-published",
                action="store_true",
                help="protect one half of the rows only, as in the paper: NOT private",
            )
        add_option(way, option)
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    found, files = produce(args, "orient", _ask)
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


def _ask(args: argparse.Namespace, **listeners: Any) -> Orientations:
    from privet.api.orient import orient

    return orient(
        data_of(args),
        args.schema,
        cause_effect=_pair(args.cause_effect),
        all_pairs=args.all_pairs,
        epsilon=args.epsilon,
        delta=args.delta or 0.0,
        method=args.method,
        private=not args.no_privacy,
        as_published=args.as_published,
        ledger=args.ledger,
        reuse=args.reuse,
        as_of=args.as_of,
        evidence=args.evidence or None,
        **options(args, Choices),
        **listeners,
    )


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
