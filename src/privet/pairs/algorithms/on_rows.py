"""Which of two columns causes the other, from their rows: every algorithm without privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from privet.arrays import Floats
from privet.errors import MethodError
from privet.pairs.algorithms.anm import anm
from privet.pairs.algorithms.cds import cds
from privet.pairs.algorithms.igci import igci
from privet.pairs.algorithms.reci import reci
from privet.pairs.algorithms.score import Scores

Algorithm = Callable[[Floats, Floats], Scores]

METHODS: Mapping[str, Algorithm] = {
    "anm": anm,
    "reci": reci,
    "reci-cube": partial(reci, monomial=True),
    "igci": igci,
    "igci-gaussian": partial(igci, reference="gaussian"),
    "igci-slope": partial(igci, estimator="slope"),
    "igci-slope-gaussian": partial(igci, reference="gaussian", estimator="slope"),
    "cds": cds,
}
FEWEST_ROWS = 8
TIE = Scores(forward=0.0, backward=0.0)


def score(x: Floats, y: Floats, method: str) -> Scores:
    """Evidence of the rows; a tie if a column is constant or there are hardly any rows."""
    if method not in METHODS:
        raise MethodError(f"no method {method!r} on rows; choose from {', '.join(METHODS)}")
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < FEWEST_ROWS or not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return TIE
    return METHODS[method](x, y)
