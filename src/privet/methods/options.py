"""The options of a search: what each may be, checked before anything costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from privet.errors import MethodError
from privet.evidence.prior import default_level
from privet.schema.model import did_you_mean

OnStep = Callable[[str, float], None]

# Options that only some methods use; a method lists its own in ``uses``.
SPECIAL = (
    "score",
    "penalty",
    "max_parents",
    "sparsity",
    "threshold",
    "statistic",
    "cap",
    "subsample",
    "beta1",
    "beta2",
    "steps",
    "schedule",
)


def _say_nothing(_what: str, _share: float) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Public choices; none of them touches the privacy promise.

    ``score`` (auto, bic, bdeu, bge), ``penalty`` (of BIC, 1 as defined) and ``max_parents`` are
    for searches that score families; ``sparsity`` and ``threshold`` (of a weight) for those that
    fit weights. For searches that ask the vault one question after another: ``statistic`` is
    what they ask for, ``cap`` how often they may (by their own count), ``subsample`` the share
    of rows that they look at, ``beta1`` and ``beta2`` the band of doubt of CURATE, ``steps`` and
    ``schedule`` how often a gradient is asked for and how the budget grows over these.

    ``orient_pairs`` is the share of the budget that is kept for pairs of numeric columns which
    the search joins without a direction.
    """

    alpha: float | None = None
    max_order: int = 2
    score: str = "auto"
    penalty: float = 1.0
    max_parents: int | None = None
    sparsity: float | None = None
    threshold: float | None = None
    statistic: str = "auto"
    cap: int | None = None
    subsample: float | None = None
    beta1: float = 0.1
    beta2: float = 0.1
    steps: int | None = None
    schedule: str = "multiplicative"
    orient_pairs: float | None = None
    seed: int = 0
    replicas: int = 20
    on_step: Callable[[str, float], None] = _say_nothing

    def level(self, columns: int) -> float:
        """The Bayes factor for an edge must exceed 1/level: as asked for, or the odds that two
        columns are joined if each has about two neighbours."""
        return self.alpha if self.alpha is not None else default_level(columns)

    def special(self) -> dict[str, Any]:
        """Those of the special options that differ from their defaults."""
        given = {name: getattr(self, name) for name in SPECIAL}
        return {name: value for name, value in given.items() if value != getattr(Settings, name)}


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
