"""One job of one peer, in the peers' own environment, where there is no Privet.

    python bench/peer_jobs.py PEER INPUT.npz OUTPUT.npz

The input holds ``numbers`` (one column each; codes of levels if ``levels`` is not 0) and
``levels``; the output the CPU seconds of each call and the matrix of the graph: [i, j] is true for
i --> j, both ways for a line. Imports are not timed. Settings are the peers' own, but for the
alpha of tests, which is 0.01 for all, and orders of separators where they can be limited.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ALPHA = 0.01
ENOUGH, MOST = 1.0, 5  # seconds and calls after which a short job is not repeated

Matrix = np.ndarray[Any, Any]
Call = Callable[[], Matrix]


def causal_learn_pc(numbers: Matrix, levels: Matrix) -> Call:
    from causallearn.search.ConstraintBased.PC import pc

    test = "chisq" if levels.any() else "fisherz"
    return lambda: _ends(pc(numbers, ALPHA, test, show_progress=False).G.graph)


def causal_learn_ges(numbers: Matrix, levels: Matrix) -> Call:
    from causallearn.search.ScoreBased.GES import ges

    score = "local_score_BDeu" if levels.any() else "local_score_BIC"
    return lambda: _ends(ges(numbers, score)["G"].graph)


def causal_learn_fci(numbers: Matrix, levels: Matrix) -> Call:
    from causallearn.search.ConstraintBased.FCI import fci

    test = "chisq" if levels.any() else "fisherz"
    return lambda: np.asarray(fci(numbers, test, ALPHA, show_progress=False)[0].graph) != 0


def ges_package(numbers: Matrix, _levels: Matrix) -> Call:
    import ges

    return lambda: np.asarray(ges.fit_bic(numbers)[0]).astype(bool)


def pybnesian_pc(numbers: Matrix, levels: Matrix) -> Call:
    import pybnesian

    frame = _frame(numbers, levels)
    test = pybnesian.ChiSquare if levels.any() else pybnesian.LinearCorrelation

    def call() -> Matrix:
        found = pybnesian.PC().estimate(test(frame), alpha=ALPHA, use_sepsets=True)
        lines = [*found.edges(), *((b, a) for a, b in found.edges())]
        return _matrix(len(levels), [*found.arcs(), *lines])

    return call


def pybnesian_hc(numbers: Matrix, levels: Matrix) -> Call:
    import pybnesian

    frame = _frame(numbers, levels)
    kind = pybnesian.DiscreteBNType() if levels.any() else pybnesian.GaussianNetworkType()

    def call() -> Matrix:
        found = pybnesian.hc(frame, bn_type=kind, score="bic", operators=["arcs"])
        return _matrix(len(levels), found.arcs())

    return call


def pybnesian_mmhc(numbers: Matrix, levels: Matrix) -> Call:
    import pybnesian

    frame = _frame(numbers, levels)

    def call() -> Matrix:
        found = pybnesian.MMHC().estimate(
            pybnesian.ChiSquare(frame),
            pybnesian.ArcOperatorSet(),
            pybnesian.BIC(frame),
            bn_type=pybnesian.DiscreteBNType(),
            alpha=ALPHA,
        )
        return _matrix(len(levels), found.arcs())

    return call


def pgmpy_pc(numbers: Matrix, levels: Matrix) -> Call:
    from pgmpy.estimators import PC

    frame, test = _frame(numbers, levels), "chi_square" if levels.any() else "pearsonr"
    asked = {"significance_level": ALPHA, "max_cond_vars": 2, "n_jobs": 1, "show_progress": False}

    def call() -> Matrix:
        found = PC(frame).estimate(variant="stable", ci_test=test, return_type="pdag", **asked)
        return _matrix(len(levels), found.edges())

    return call


def pgmpy_ges(numbers: Matrix, levels: Matrix) -> Call:
    from pgmpy.estimators import GES

    frame = _frame(numbers, levels)
    score = "bdeu" if levels.any() else "bic-g"
    return lambda: _matrix(len(levels), GES(frame).estimate(scoring_method=score).edges())


def gcastle_pc(numbers: Matrix, _levels: Matrix) -> Call:
    return _castle("PC", numbers, variant="stable", alpha=ALPHA)


def gcastle_ges(numbers: Matrix, _levels: Matrix) -> Call:
    return _castle("GES", numbers, criterion="bic", method="scatter")


def gcastle_lingam(numbers: Matrix, _levels: Matrix) -> Call:
    return _castle("DirectLiNGAM", numbers)


def lingam_direct(numbers: Matrix, _levels: Matrix) -> Call:
    import lingam

    def call() -> Matrix:
        model = lingam.DirectLiNGAM()
        model.fit(numbers)
        return np.asarray(model.adjacency_matrix_.T != 0)

    return call


def dagma_linear(numbers: Matrix, _levels: Matrix) -> Call:
    from dagma.linear import DagmaLinear

    return lambda: np.asarray(DagmaLinear(loss_type="l2").fit(numbers.copy(), lambda1=0.02) != 0)


PEERS = {
    "causal-learn PC": causal_learn_pc,
    "causal-learn GES": causal_learn_ges,
    "causal-learn FCI": causal_learn_fci,
    "ges": ges_package,
    "pybnesian PC": pybnesian_pc,
    "pybnesian hc": pybnesian_hc,
    "pybnesian MMHC": pybnesian_mmhc,
    "pgmpy PC": pgmpy_pc,
    "pgmpy GES": pgmpy_ges,
    "gcastle PC": gcastle_pc,
    "gcastle GES": gcastle_ges,
    "gcastle DirectLiNGAM": gcastle_lingam,
    "lingam DirectLiNGAM": lingam_direct,
    "dagma DAGMA": dagma_linear,
}


def _castle(name: str, numbers: Matrix, **options: Any) -> Call:
    from castle import algorithms

    def call() -> Matrix:
        model = getattr(algorithms, name)(**options)
        model.learn(numbers)
        return np.asarray(model.causal_matrix).astype(bool)

    return call


def _ends(ends: Matrix) -> Matrix:
    """causal-learn's matrix: -1 at a tail, 1 at a head; two heads, where its tests contradict each
    other, are read as no direction."""
    return np.asarray((ends != 0) & ~((ends == 1) & (ends.T == -1)))


def _matrix(size: int, arcs: Iterator[tuple[str, str]] | Any) -> Matrix:
    out = np.zeros((size, size), dtype=bool)
    for source, target in arcs:
        out[int(source[1:]), int(target[1:])] = True
    return out


def _frame(numbers: Matrix, levels: Matrix) -> Any:
    import pandas as pd

    frame = pd.DataFrame({f"v{i}": numbers[:, i] for i in range(len(levels))})
    for name, count in zip(frame, levels.tolist(), strict=True):
        if count:
            labels = [str(level) for level in range(count)]
            frame[name] = pd.Categorical.from_codes(frame[name].astype(int), labels)
    return frame


def main() -> None:
    peer, source, target = sys.argv[1:]
    given = np.load(source)
    call = PEERS[peer](given["numbers"], given["levels"])
    print("ready", flush=True)
    seconds: list[float] = []
    while len(seconds) < MOST and sum(seconds) < ENOUGH:
        start = time.process_time()
        matrix = call()
        seconds.append(time.process_time() - start)
    np.savez(target, seconds=seconds, matrix=matrix)


if __name__ == "__main__":
    main()
