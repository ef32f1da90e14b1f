"""How far the work is, for whoever runs it in a notebook and has named no listener.

Nothing is shown before the work has taken two seconds, and nothing stays when it is done. Elsewhere
the library says nothing; the command line has a bar of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privet.arrays import OnStep, say_nothing
from privet.markup.pieces import bar, notebook, safe

PATIENCE = 2.0  # seconds without a bar


@contextmanager
def heard(on_step: OnStep | None) -> Iterator[OnStep]:
    """The listener that was named; in a notebook, a bar; else nobody."""
    if on_step is not None:
        yield on_step
    elif (display := _display()) is None:
        yield say_nothing
    else:
        shown = Bar(display)
        try:
            yield shown
        finally:
            shown.close()


class Bar:
    """Shown in one place of the notebook, again and again."""

    def __init__(self, display: Any) -> None:
        self._display, self._began, self._place = display, time.monotonic(), None

    def __call__(self, what: str, share: float) -> None:
        if time.monotonic() - self._began > PATIENCE:
            self._show(notebook(f"{bar(min(max(share, 0.0), 1.0))} {safe(what)}"))

    def close(self) -> None:
        if self._place is not None:
            self._show("")

    def _show(self, text: str) -> None:
        data = {"text/html": text, "text/plain": ""}
        if self._place is None:
            self._place = self._display(data, raw=True, display_id=True)
        else:
            self._place.update(data, raw=True)


def _display() -> Any:
    """What shows something in a notebook, if this is one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
