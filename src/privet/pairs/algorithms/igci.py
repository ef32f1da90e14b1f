"""Information-geometric causal inference [Daniušis et al. 2010, Janzing et al. 2012].

If nature chooses the law of the cause and the function independently, the function spreads the
cause unevenly: scaled alike, the effect has the smaller entropy, and the slope is small where the
cause is dense. Made for functions with little noise. What "scaled alike" means is the reference:
the same range (uniform) or the same variance (Gaussian), and the answer depends on it.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats
from privet.errors import MethodError
from privet.pairs.algorithms.score import Scores

REFERENCES = ("uniform", "gaussian")
ESTIMATORS = ("entropy", "slope")


def igci(x: Floats, y: Floats, *, reference: str = "uniform", estimator: str = "entropy") -> Scores:
    for what, value, known in (
        ("reference", reference, REFERENCES),
        ("estimator", estimator, ESTIMATORS),
    ):
        if value not in known:
            raise MethodError(f"no {what} {value!r}; choose {' or '.join(known)}")
    x, y = _scaled(x, reference), _scaled(y, reference)
    if estimator == "entropy":
        return Scores(forward=entropy(x), backward=entropy(y))
    return Scores(forward=-_slope(x, y), backward=-_slope(y, x))


def entropy(x: Floats) -> float:
    """From 1-spacings: the mean log distance of neighbours, and ψ(n) - ψ(1).

    A distance of 0 counts as 1, as in the authors' code: a column with repeated values seems to
    have more entropy than it has.
    """
    from scipy.special import digamma

    gaps = np.diff(np.sort(x))
    positive = gaps[gaps > 0]
    return float(np.log(positive).sum() / len(gaps) + digamma(len(x)) - digamma(1))


def _slope(x: Floats, y: Floats) -> float:
    """Mean log slope between neighbours in x; neighbours level in x or y do not count."""
    order = np.lexsort((y, x))
    run, rise = np.abs(np.diff(x[order])), np.abs(np.diff(y[order]))
    counted = (run > 0) & (rise > 0)
    return float(np.log(rise[counted] / run[counted]).sum() / len(run))


def _scaled(x: Floats, reference: str) -> Floats:
    unit = x.std() if reference == "gaussian" else x.max() - x.min()
    return np.asarray((x - x.min()) / unit)
