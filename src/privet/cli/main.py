"""The command line: ``privet COMMAND``. Nothing heavy is imported before a command needs it.

Exit codes: 0 done; 1 a bug in Privet; 2 something the user can put right; 130 stopped by Ctrl-C,
143 by SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from privet.cli.commands import (
    audit,
    bench,
    combine,
    compare,
    completion,
    convert,
    datasets,
    demo,
    discover,
    explain,
    federate,
    ledger,
    local,
    measure,
    methods,
    orient,
    plan,
    randomize,
    schema,
    simulate,
    sites,
    verify,
)
from privet.cli.version import Version
from privet.errors import NOTE, PrivetError

COMMANDS = (
    schema,
    plan,
    discover,
    explain,
    combine,
    orient,
    randomize,
    local,
    federate,
    sites,
    measure,
    compare,
    verify,
    demo,
    audit,
    simulate,
    datasets,
    ledger,
    methods,
    bench,
    convert,
    completion,
)


class UsageError(PrivetError):
    """The command line itself is wrong."""


class Terminated(KeyboardInterrupt):
    """SIGTERM. Whatever Ctrl-C leaves in order, this does."""


# What is no number, for argparse says so in words of Python.
NO_NUMBER = {
    "float": "no number; write one such as 0.5",
    "int": "no whole number; write one such as 10",
}


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, as every other refusal is."""

    def error(self, message: str) -> NoReturn:
        """With the likeliest neighbour of a choice that is none, and how a number is written."""
        from privet.schema.column import did_you_mean

        found = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        near = did_you_mean(found[1], re.findall(r"[^\s,']+", found[2])) if found else ""
        if number := re.fullmatch(r"(argument .*): invalid (float|int) value: (.*)", message, re.S):
            message = f"{number[1]} is {number[3]}, which is {NO_NUMBER[number[2]]}"
        raise UsageError(f"{message}{near}; {_help(self)}")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="privet",
        description="Causal discovery that keeps people private.",
        epilog="Start with `privet schema draft data.csv > schema.toml`, then `privet discover`.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # no name may stop the output
    try:
        with _terminable(), warnings.catch_warnings():
            if not _debug():
                warnings.simplefilter("ignore")
            parser = build_parser()
            _check_options(parser, sys.argv[1:] if argv is None else argv)
            args = parser.parse_args(argv)
            args.words = list(sys.argv[1:] if argv is None else argv)
            args.run(args)
            sys.stdout.flush()
        return 0
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    except PrivetError as error:
        return _say(error, error.in_shell, 2)
    except Terminated as error:
        go_on = "" if _notes(error) else "; the same command begins anew"
        return _say(error, f"stopped by SIGTERM{go_on}", 143)
    except KeyboardInterrupt as error:
        return _say(error, "stopped", 130)
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:
        return _say(error, _bug(error), 1)


def _check_options(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Name an option that the command does not have, with its likeliest neighbour. The parser
    would speak of what is missing first, though that may be what was misspelt."""
    for word in argv:
        choices = next((a.choices for a in parser._actions if isinstance(a.choices, dict)), {})
        parser = choices.get(word, parser)
        option, _, value = word.partition("=")
        if word == "--":
            return
        if option.startswith("--") and option not in parser._option_string_actions:
            from privet.schema.column import did_you_mean

            near = did_you_mean(option, parser._option_string_actions)
            raise UsageError(f"{parser.prog} has no option {option}{near}; {_help(parser)}")
        if option.startswith("--") and value == "--":  # the parser would make a list of it
            raise UsageError(f"{option} is '--', which is no value; {_help(parser)}")


def _help(parser: argparse.ArgumentParser) -> str:
    return f"see `{parser.prog} --help`"


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM raises Terminated meanwhile, unless whoever started this process ignores it. Only
    the main thread may say so."""
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _say(error: BaseException, message: str, code: int) -> int:
    if code == 1 and _debug():
        traceback.print_exc()
    text = "; ".join([message, *_notes(error)])
    print(f"privet: {_one_line(text)}", file=sys.stderr)
    return code


def _notes(error: BaseException) -> list[str]:
    """What those who saw the error pass by have to say."""
    notes = getattr(error, "__notes__", ())
    return [note.removeprefix(NOTE) for note in notes if note.startswith(NOTE)]


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text.replace("\n", " "))


def _bug(error: Exception) -> str:
    """The kind of error and its place, but not its text, which might quote a cell."""
    here = Path(__file__).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if Path(f.filename).is_relative_to(here)] or list(frames)
    last = inside[-1]
    name = Path(last.filename)
    place = name.relative_to(here).as_posix() if name.is_relative_to(here) else name.name
    return (
        f"internal error: {type(error).__name__} at {place}:{last.lineno}. This is a bug in "
        f"Privet; please report it with this line. PRIVET_DEBUG=1 shows more, which may include "
        f"private data"
    )


def _debug() -> bool:
    return os.environ.get("PRIVET_DEBUG", "") not in ("", "0")
