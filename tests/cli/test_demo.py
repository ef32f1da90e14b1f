"""``privet demo``: what it leaves behind, and that it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from privet.cli.commands import demo
from tests.helpers.garden import Run


def test_the_demo_leaves_a_page_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    fewer = tuple(step.replace("child --rows 100000", "asia --rows 3000") for step in demo.STEPS)
    assert fewer != demo.STEPS
    monkeypatch.setattr(demo, "STEPS", fewer)
    shown = run("demo")
    assert shown.code == 0, shown.err
    page = Path(shown.out.splitlines()[-1])
    assert page == tmp_path / "demo/out/report.html" and "bronc" in page.read_text("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["demo"]  # the ledger of the user stays as it is
    commands = [line for line in shown.out.splitlines() if line.startswith("$ privet ")]
    assert [line.split()[2] for line in commands] == ["simulate", "discover", "compare"]

    again = run("demo")
    assert again.code == 2 and "--force" in again.err
    shown = run("demo", "--force")
    assert shown.code == 0 and "REUSED" in shown.out  # the same run costs nothing twice
