"""What a benchmark writes down: one line of JSON per run, so that it can be stopped and go on."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from privet.errors import DataError, OutputError

RUNS = "runs.jsonl"
AS_PUBLISHED = " (as published)"  # ends the name of a method that is not private as it was run


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of the grid. What is not private, or costs nothing, has no epsilon and no delta."""

    network: str
    rows: int
    run: int
    method: str
    epsilon: float | None = None
    delta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended: with scores against the true graph, or refused for a reason."""

    skeleton_f1: float | None = None
    directed_f1: float | None = None
    shd: int | None = None
    tests: int | None = None
    seconds: float | None = None
    refused: str | None = None


Results = dict[Cell, Result]
C = TypeVar("C", bound=Hashable)
R = TypeVar("R")


def read(folder: Path) -> Results:
    """All runs of the central methods on file."""
    return read_as(folder, Cell, Result)


def read_as(folder: Path, cell: type[C], result: type[R]) -> dict[C, R]:
    """All runs on file, what was run and how it ended. A last line without an end was being
    written when the benchmark was stopped: it is cut off, so that the next one starts a line of
    its own."""
    path = folder / RUNS
    if not path.exists():
        return {}
    whole, _, half = path.read_bytes().rpartition(b"\n")
    if half:
        with path.open("rb+") as file:
            file.truncate(len(whole) + 1 if whole else 0)
    lines = whole.decode("utf-8", "replace").splitlines()
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line)
    return dict(_parsed(path, number, line, cell, result) for number, line in numbered)


def _parsed(path: Path, number: int, line: str, cell: type[C], result: type[R]) -> tuple[C, R]:
    try:
        found = json.loads(line)
        kinds: tuple[Any, Any] = (cell, result)
        what, how = ({f.name: found[f.name] for f in fields(kind)} for kind in kinds)
        return cell(**what), result(**how)
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"line {number} of {str(path)!r} is not a run of this benchmark; remove the line, or "
            f"name another folder for the output"
        ) from None


def append(folder: Path, cell: Any, result: Any) -> None:
    line = json.dumps(asdict(cell) | asdict(result))
    with (folder / RUNS).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def make_folder(folder: str | Path) -> Path:
    """The folder, before any work is done for it."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with (path / RUNS).open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write to {str(path)!r} ({error.strerror}); choose a folder that can be written"
        ) from None
    return path


Of = Callable[[Result], float | None]


@dataclass(frozen=True, kw_only=True)
class Average:
    mean: float
    deviation: float
    runs: int


def average(results: Iterable[Result], of: Of) -> Average | None:
    """Mean and standard deviation over the runs that were not refused; None if all were."""
    values = [float(value) for value in map(of, results) if value is not None]
    if not values:
        return None
    return Average(
        mean=statistics.fmean(values), deviation=statistics.pstdev(values), runs=len(values)
    )


def where(
    results: Mapping[Cell, Result], network: str, method: str, epsilon: float | None
) -> list[Result]:
    """The runs of one method on one network at one epsilon."""
    wanted = (network, method, epsilon)
    return [r for c, r in results.items() if (c.network, c.method, c.epsilon) == wanted]
