"""The options of a search: what each may be, checked before anything costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from privet.errors import MethodError
from privet.methods.method import Settings
from privet.schema.model import did_you_mean

OnStep = Callable[[str, float], None]

# Whole numbers from some one on, numbers between two, and names, which the method knows.
WHOLE = {"max_order": 0, "max_parents": 1, "cap": 1, "steps": 1, "seed": 0}
NUMBERS = {
    "alpha": (0, 1, "lie between 0 and 1; 0.1 is usual, smaller keeps fewer edges"),
    "penalty": (0, math.inf, "be a number above 0; 1 is BIC as defined, more keeps fewer edges"),
    "sparsity": (0, math.inf, "be a number above 0; 0.1 is usual, more keeps fewer edges"),
    "threshold": (0, math.inf, "be a number above 0; 0.3 is usual, more keeps fewer edges"),
    "subsample": (0, 1, "lie between 0 and 1: it is the share of rows that is looked at"),
    "beta1": (0, 1, "lie between 0 and 1: so much below its bar a test is in doubt"),
    "beta2": (0, math.inf, "be a number above 0: so much above its bar a test is in doubt"),
    "orient_pairs": (0, 1, "lie between 0 and 1: it is the share of the budget for pairs"),
}
NAMES = {"score": "bic", "statistic": "t1", "schedule": "additive"}


def make_settings(*, on_step: OnStep | None = None, **options: Any) -> Settings:
    """The options of a search, or a refusal; None stands for the default.

    alpha: smaller keeps fewer edges. max_order: most columns to condition on. score: auto, bic,
    bdeu or bge. penalty: of BIC, more keeps fewer edges. max_parents: of a column. sparsity and
    threshold: of NOTEARS and DAGMA. statistic: what em-pc, svt-pc, priv-pc and curate ask for.
    cap: how often they may ask. subsample: the share of rows they look at. beta1, beta2: of
    CURATE. steps, schedule: of noleaks and curate-score. orient_pairs: share of the budget for
    the directions of edges that the search leaves open. seed: of the search.
    """
    known = {*WHOLE, *NUMBERS, *NAMES}
    for name, value in options.items():
        if name not in known:
            raise MethodError(
                f"a search has no option {name!r}{did_you_mean(name, known)}; choose from "
                f"{', '.join(sorted(known))}"
            )
        _check_option(name, value)
    given: dict[str, Any] = {
        name: value if name in NAMES else int(value) if name in WHOLE else float(value)
        for name, value in options.items()
        if value is not None
    }
    if on_step is not None:
        given["on_step"] = on_step
    return Settings(**given)


def _check_option(name: str, value: object) -> None:
    if value is None:
        return
    if name in NAMES:  # which names there are depends on the method
        if not isinstance(value, str):
            raise MethodError(f"{name} is {value!r}, but it must be a name such as {NAMES[name]}")
    elif name in WHOLE:
        least = WHOLE[name]
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise MethodError(f"{name} is {value!r}, but it must be a whole number from {least} on")
    else:
        low, high, rule = NUMBERS[name]
        fits = isinstance(value, Real) and not isinstance(value, bool)
        if not (fits and low < value < high):  # type: ignore[operator]
            raise MethodError(f"{name} is {value!r}, but it must {rule}")
