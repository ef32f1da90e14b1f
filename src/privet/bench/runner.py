"""Doing the runs of a benchmark: several at once, each written down when it is done."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from privet.bench import results
from privet.errors import NOTE, MethodError

OnDone = Callable[[int, int], None]
C = TypeVar("C", bound=Hashable)
R = TypeVar("R")


def collect(
    cells: Sequence[C],
    one: Callable[[C], tuple[C, R]],
    folder: str | Path,
    kinds: tuple[type[C], type[R]],
    *,
    processes: int | None = None,
    on_done: OnDone | None = None,
) -> dict[C, R]:
    """The results of all cells: those on file in the folder, and those still to do, which are
    added.

    ``processes`` is joblib's ``n_jobs``; None leaves it to ``joblib.parallel_config``, by which
    the work can also go to a cluster. ``on_done(done, total)`` is told after each run.
    """
    parallel, delayed = _joblib()
    place = results.make_folder(folder)
    found = results.read_as(place, *kinds)
    todo = [cell for cell in cells if cell not in found]
    done = len(cells) - len(todo)
    try:
        jobs = (delayed(one)(cell) for cell in todo)
        with closing(parallel(n_jobs=processes, return_as="generator_unordered")(jobs)) as runs:
            for cell, result in runs:  # closed, it ends the processes that are at work
                results.append(place, cell, result)
                found[cell] = result
                done += 1
                if on_done is not None:
                    on_done(done, len(cells))
    except BaseException as error:
        error.add_note(
            f"{NOTE}{done} of {len(cells)} runs are in {str(place)!r}; the same command goes on "
            f"from there"
        )
        raise
    return {cell: found[cell] for cell in cells}


def _joblib() -> tuple[Any, Any]:
    try:
        from joblib import Parallel, delayed
    except ImportError:
        raise MethodError(
            "the benchmark needs joblib, which is not installed; get it with "
            "pip install 'privet[bench]' (in a clone: .venv/bin/pip install -e '.[bench]')"
        ) from None
    return Parallel, delayed
