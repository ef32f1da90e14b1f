"""What ``discover`` and ``orient`` share: their options, their folder of results, and what is kept
of the work if it is stopped."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from privet.cli.progress import progress
from privet.cli.show import add_json, print_not_measured, teller
from privet.options.option import Option, options_of

if TYPE_CHECKING:
    from privet.results.certificate import Certificate
    from privet.results.folder import Stage
    from privet.results.saved import Saved

PARSERS: dict[str, Callable[[str], Any]] = {"whole": int, "number": float, "name": str}


class Result(Protocol):
    """What a front door gives."""

    @property
    def certificate(self) -> Certificate: ...

    def write(self, stage: Stage) -> tuple[Path, ...]: ...


Found = TypeVar("Found", bound=Result)


def add_option(group: Any, option: Option) -> None:
    """The argument of an option, as its table has it."""
    if option.kind == "flag":
        group.add_argument(option.flag, action="store_true", help=option.help)
        return
    parse = _number_or_words if option.words else PARSERS[option.kind]
    alone = {} if option.const is None else {"nargs": "?", "const": option.const}
    group.add_argument(option.flag, type=parse, metavar=option.metavar, help=option.help, **alone)


def _number_or_words(text: str) -> float | str:
    """A number; words are refused later, with their reason."""
    try:
        return float(text)
    except ValueError:
        return text


def options(args: argparse.Namespace, settings: type) -> dict[str, Any]:
    """What was given of these options."""
    return {option.name: getattr(args, option.name) for option in options_of(settings)}


def add_output(parser: argparse.ArgumentParser) -> None:
    show = parser.add_argument_group("output")
    show.add_argument("--force", action="store_true", help="replace the results in DIR")
    add_json(show)  # type: ignore[arg-type]
    show.add_argument("--quiet", action="store_true", help="print nothing but errors")


def produce(
    args: argparse.Namespace, command: str, ask: Callable[..., Found]
) -> tuple[Found, tuple[Path, ...]]:
    """One call of a front door, and its files. Where they go is made sure of before anything is
    spent."""
    from privet.api.checks import check_line
    from privet.results.folder import Stage

    check_line(
        command,
        data=args.data,
        evidence=args.evidence,
        protocol=getattr(args, "protocol", None),
        no_privacy=args.no_privacy,
        as_published=args.as_published,
        epsilon=args.epsilon,
        delta=args.delta,
        ledger=args.ledger,
        site=getattr(args, "site", None),
        as_of=args.as_of,
        reuse=args.reuse,
    )
    stage = Stage(args.output, force=args.force, command=command, on_note=teller(args))
    with stage, progress(args) as on_step, _keep_evidence(stage) as on_measured:
        found = ask(args, on_step=on_step, on_measured=on_measured)
        files = found.write(stage)
    print_not_measured(found.certificate, args.words)
    return found, files


@contextmanager
def _keep_evidence(stage: Stage) -> Iterator[Callable[[Saved], None]]:
    """What was paid for outlives whatever comes: it is in the folder from the moment on in which
    it was measured, or in which an error brings it."""
    from privet.api.evidence import note_cost
    from privet.results.saved import to_json

    kept: list[Saved] = []

    def keep(saved: Saved) -> None:
        kept.append(saved)
        stage.write("evidence.json", to_json(saved))
        stage.keep("evidence.json")

    try:
        yield keep
    except BaseException as error:
        if kept:
            note_cost(error, kept[0])
        elif hasattr(error, "evidence"):
            keep(error.evidence)
        raise
