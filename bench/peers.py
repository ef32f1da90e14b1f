"""causal-learn and ges on the same data, each in a process of its own that can be stopped."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import blas  # noqa: F401
import numpy as np

from privet.graph.graph import Graph
from privet.graph.pag import to_graph
from privet.schema.model import Schema


@dataclass(frozen=True)
class Ran:
    seconds: float
    graph: Graph


Job = Callable[[Any, Schema, float], Ran | None]


def peers(numeric: bool) -> Iterator[tuple[str, str, Job]]:
    """A method of Privet, what does the same job elsewhere, and that job, with its defaults."""
    test = "fisherz" if numeric else "chisq"
    score = "BIC" if numeric else "BDeu"
    yield "pc", f"causal-learn PC, {test}", _limited(_pc)
    yield "ges", f"causal-learn GES, {score}", _limited(_ges)
    if numeric:
        yield "ges", "ges, BIC", _limited(_ges_package)
    yield "fci", f"causal-learn FCI, {test}", _limited(_fci)


def _limited(work: Callable[[np.ndarray[Any, Any], bool], Any]) -> Job:
    """The job in a process of its own; None if it does not end in time."""

    def job(data: Any, schema: Schema, limit: float) -> Ran | None:
        numbers, numeric = _numbers(data, schema), schema.has_moments
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_timed, args=(work, numbers, numeric, theirs))
        process.start()
        done = ours.recv() if ours.poll(limit + 30) else None  # 30 s for its imports
        process.kill()
        process.join()
        if done is None or done[0] > limit:
            return None
        return Ran(done[0], _graph(done[1], done[2], schema.names))

    return job


def _timed(work: Any, numbers: Any, numeric: bool, pipe: Any) -> None:
    run = work(numbers, numeric)
    next(run)  # its imports
    start = time.process_time()
    kind, matrix = next(run)
    pipe.send((time.process_time() - start, kind, matrix))


def _numbers(data: Any, schema: Schema) -> Any:
    if schema.has_moments:
        return np.stack([np.asarray(data[name], dtype=float) for name in schema.names], axis=1)
    return np.stack([data.column(n).combine_chunks().indices.to_numpy() for n in schema.names], 1)


def _graph(kind: str, matrix: Any, names: tuple[str, ...]) -> Graph:
    if kind == "pag":
        return to_graph(matrix, names)
    return Graph.from_matrix(names, matrix, "cpdag")


def _arrows(endpoints: Any) -> Any:
    """causal-learn's matrix of a CPDAG: -1 at a tail, 1 at a head; two heads, where its tests
    contradict each other, are read as no direction."""
    joined = endpoints != 0
    return joined & ~((endpoints == 1) & (endpoints.T == -1))


def _pc(numbers: Any, numeric: bool) -> Iterator[Any]:
    from causallearn.search.ConstraintBased.PC import pc

    yield None
    found = pc(numbers, 0.05, "fisherz" if numeric else "chisq", show_progress=False)
    yield "cpdag", _arrows(found.G.graph)


def _ges(numbers: Any, numeric: bool) -> Iterator[Any]:
    from causallearn.search.ScoreBased.GES import ges

    yield None
    found = ges(numbers, "local_score_BIC" if numeric else "local_score_BDeu")
    yield "cpdag", _arrows(found["G"].graph)


def _ges_package(numbers: Any, _numeric: bool) -> Iterator[Any]:
    import ges

    yield None
    yield "cpdag", ges.fit_bic(numbers)[0].astype(bool)


def _fci(numbers: Any, numeric: bool) -> Iterator[Any]:
    from causallearn.search.ConstraintBased.FCI import fci

    yield None
    found, _ = fci(numbers, "fisherz" if numeric else "chisq", 0.05, show_progress=False)
    # causal-learn: graph[j, i] is the mark at j on the edge i - j: 2 circle, 1 head, -1 tail
    there = np.asarray(found.graph).T
    yield "pag", np.select([there == 2, there == 1, there == -1], [1, 2, 3], 0).astype(np.int8)
