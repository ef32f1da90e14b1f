"""Progress in a notebook: after two seconds, in one place, gone when the work is done."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from privet.api import progress
from privet.arrays import say_nothing


class Shown:
    """What a notebook was asked to show."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, data: dict[str, str], **_: Any) -> Shown:
        self.said.append(data["text/html"])
        return self

    def update(self, data: dict[str, str], **_: Any) -> None:
        self.said.append(data["text/html"])


def in_notebook(monkeypatch: pytest.MonkeyPatch, *, kernel: bool = True) -> Shown:
    shown = Shown()
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    shell = types.SimpleNamespace(**({"kernel": 1} if kernel else {}))
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    display.display = shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = in_notebook(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    with progress.heard(None) as on_step:
        on_step("counting", 0.5)
    assert shown.said == []


def test_a_long_one_shows_how_far_it_is_and_tidies_up(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = in_notebook(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with progress.heard(None) as on_step:
        on_step("counting <rows>", 0.5)
        on_step("searching", 2.0)
    first, second, last = shown.said
    assert "0.50" in first and "&lt;rows&gt;" in first and "1.00" in second and last == ""


def test_elsewhere_nobody_hears(monkeypatch: pytest.MonkeyPatch) -> None:
    in_notebook(monkeypatch, kernel=False)
    with progress.heard(None) as on_step:
        assert on_step is say_nothing
    with progress.heard(print) as on_step:
        assert on_step is print
