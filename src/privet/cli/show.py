"""What the commands share to print their results."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

    from privet.results.certificate import Certificate

Subparsers = Any  # argparse does not name the type of what add_subparsers returns


def command(parsers: Subparsers, name: str, help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parsers.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
    )
    return parser


def add_ledger(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ledger",
        metavar="FILE",
        help="budget file (default: $PRIVET_LEDGER, else in your data directory)",
    )


def add_reuse(group: Any) -> None:
    group.add_argument(
        "--as-of",
        metavar="LABEL",
        help="which snapshot of the data this is, such as 2026-10-31; by the calendar",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--reuse",
        action="store_true",
        default=None,
        help="if an identical run has left its evidence, take its numbers, for nothing",
    )
    either.add_argument(
        "--no-reuse",
        dest="reuse",
        action="store_false",
        help="measure, and pay, even if an identical run has left its evidence",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """The table: a file, or where it lies in an engine."""
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="CSV or Parquet file, or a table of an engine"
    )
    parser.add_argument(
        "--engine", choices=("duckdb", "spark"), help="DATA is a table or file of this engine"
    )


def data_of(args: argparse.Namespace) -> str | None:
    found: str | None = args.data
    return found if found is None or args.engine is None else f"{args.engine}:{found}"


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the process itself, as if it had failed

    return Plain(stderr=stderr, highlight=False, markup=False, emoji=False)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A plain table; the columns named in ``right`` hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        justify: JustifyMethod = "right" if name in right else "left"
        widest = max(len(word) for word in name.split(" ")) if name in right else None
        made.add_column(name, justify=justify, overflow="fold", no_wrap=i == 0, min_width=widest)
    return made


def rows(made: Table, *lines: tuple[object, ...]) -> Table:
    """Cells go in as plain text: a name like [red] or one with control characters is no markup."""
    from rich.text import Text

    for line in lines:
        made.add_row(*(Text(printable(cell)) for cell in line))
    return made


def teller(args: argparse.Namespace) -> Callable[[str], None]:
    """Notes go to standard error, each on a line, unless nothing is to be printed."""

    def tell(note: str) -> None:
        if not args.quiet:
            print(f"privet: {printable(note)}", file=sys.stderr)

    return tell


def printable(value: object) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def about(value: float) -> str:
    """A number to three digits, written out where it is short enough: 14,000 and not 1.4e+04."""
    return f"{value:.3g}" if value >= 1e7 else f"{float(f'{value:.3g}'):,.15g}"


def write_new(path: str, text: str) -> None:
    """Never over another file: that one may have been corrected by a person."""
    try:
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{path!r} exists; choose another file, or remove it") from None
    except OSError as error:
        raise OutputError(f"cannot write {path!r} ({error.strerror}); choose another") from None


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_warnings(warnings: Sequence[str]) -> None:
    """On standard error, where they are seen whatever reads the results."""
    for text in warnings:
        print(f"privet: careful: {printable(text)}", file=sys.stderr)


def print_not_measured(certificate: Certificate, words: Sequence[str]) -> None:
    """Before all else, whatever is to be printed: these numbers are of an identical run."""
    if not_measured := certificate.not_measured:
        again = [word for word in words if word not in ("--reuse", "--force")]
        again[1:1] = ["--no-reuse", "--force"]
        line = f"privet: {not_measured} To measure again, and to pay: privet {shlex.join(again)}"
        print(printable(line), file=sys.stderr)


def print_promise(certificate: Certificate, files: Sequence[Path], ledger: str | None) -> None:
    """The certificate in a frame, what the first run has made the cap, and where the files are."""
    from rich.panel import Panel
    from rich.text import Text

    out = console()
    lines = [Text(printable(line)) for line in certificate.lines()]
    assumed = len(certificate["assumptions"])
    if assumed:
        lines.append(Text(f"It rests on {assumed} assumptions: see certificate.json."))
    private = certificate.private
    out.print(
        Panel(
            Text("\n").join(lines),
            title="privacy certificate" if private else "NOT PRIVATE",
            title_align="left",
            border_style="green" if private else "red",
        )
    )
    _print_cap(certificate, ledger)
    for path in files:
        out.print(Text(printable(path)), soft_wrap=True)
    if certificate.not_measured:
        out.print(printable(certificate.not_measured), soft_wrap=True)


def _print_cap(certificate: Certificate, ledger: str | None) -> None:
    kept = certificate["ledger"]
    if certificate["reused"] or not kept or not kept["cap_set_by_this_run"]:
        return
    name = certificate["schema"]
    option = f" --ledger {shlex.quote(ledger)}" if ledger else ""
    out = console()
    out.print(
        printable(
            f"This first run has set the cap of data set {name!r} to epsilon "
            f"{kept['cap_epsilon']:g}, delta {kept['cap_delta']:g}. To allow more in total:"
        )
    )
    grant = f"privet ledger grant {shlex.quote(name)} --epsilon {2 * kept['cap_epsilon']:g}{option}"
    out.print(printable(grant), soft_wrap=True)
