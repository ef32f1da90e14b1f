"""How far the work is, on standard error: a bar where somebody watches, else some lines."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from privet.cli.show import console, printable

if TYPE_CHECKING:
    from privet.arrays import OnStep

PATIENCE = 2.0  # seconds without a bar
INTERVAL = 10.0  # seconds between two lines


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[OnStep]:
    if args.quiet or getattr(args, "json", False):
        yield lambda _what, _share: None
        return
    with _bar() if sys.stderr.isatty() else _lines() as on_step:
        yield on_step


@contextmanager
def _bar() -> Iterator[OnStep]:
    """Once the work has taken some seconds."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1.0)
    began = time.monotonic()

    def on_step(what: str, share: float) -> None:
        bar.update(task, description=what, completed=share)
        if time.monotonic() - began > PATIENCE:
            bar.start()

    patience = threading.Timer(PATIENCE, bar.start)  # for a step that is long and says nothing
    patience.daemon = True
    patience.start()
    try:
        yield on_step
    finally:
        patience.cancel()
        patience.join()
        bar.stop()


@contextmanager
def _lines() -> Iterator[OnStep]:
    """One in ten seconds, from a thread, so that a step that says nothing has its lines too."""
    began, done = time.monotonic(), threading.Event()
    last = ("", 0.0)

    def on_step(what: str, share: float) -> None:
        nonlocal last
        last = (what, share)

    def tell() -> None:
        while not done.wait(INTERVAL):
            print(_line(*last, time.monotonic() - began), file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield on_step
    finally:
        done.set()
        teller.join()


def _line(what: str, share: float, seconds: float) -> str:
    left = f", about {seconds / share - seconds:.0f} s left" if 0 < share < 1 else ""
    return printable(f"privet: {seconds:.0f} s: {what or 'at work'} ({share:.0%}{left})")
