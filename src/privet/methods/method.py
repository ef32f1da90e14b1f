"""What a method is, and which there are.

A method is one file in this folder. It measures (the only part that costs privacy) and it
searches (on what was measured, as often as one likes, for nothing).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import privet.methods
from privet.errors import MethodError
from privet.evidence.prior import default_level
from privet.graph.graph import Graph
from privet.privacy.ledger.conversion import Number
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema, did_you_mean
from privet.trust.central import Curator


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

    def options(self, columns: int, method: Method) -> dict[str, Any]:
        """What was asked of the search, for its certificate."""
        alpha = method.alpha(columns) if self.alpha is None else self.alpha
        always = {"alpha": alpha, "max_order": self.max_order, "seed": self.seed}
        if self.orient_pairs is not None:
            always["orient_pairs"] = self.orient_pairs
        return always | {name: v for name, v in self.special().items() if name in method.uses}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A graph with confidence on its edges, and how many tests it took."""

    graph: Graph
    tests: int
    notes: tuple[str, ...] = ()


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


@dataclass(frozen=True, kw_only=True)
class Published:
    """A method as its paper has it, to compare with. It promises nothing: ``why`` says what is
    wrong with the published promise. ``measure`` gets exact answers and draws its own noise, for
    the (epsilon, delta) that the paper would claim."""

    measure: Callable[[Curator, Settings, float, float], tuple[Release, ...]]
    why: str


USUAL_DELTA = 1e-6  # of a run that names none, unless the method has a better one


def _usual_delta(_schema: Schema, _epsilon: Number) -> float:
    return USUAL_DELTA


def no_delta(_schema: Schema, _epsilon: Number) -> float:
    return 0.0


@dataclass(frozen=True, kw_only=True)
class Method:
    """``delta`` is the best one for it, of which a run that names none gets the promise."""

    name: str
    summary: str
    kinds: frozenset[str]
    private: bool
    needs_delta: bool
    cite: str
    evidence: str
    check: Callable[[Schema, Settings], None]
    measure: Callable[[Curator, Settings], tuple[Release, ...]]
    search: Callable[[Schema, tuple[Release, ...], Settings], Searched]
    graph: str = "cpdag"
    uses: frozenset[str] = frozenset()
    alpha: Callable[[int], float] = default_level
    reason: str = "it searches exact statistics"
    published: Published | None = None
    delta: Callable[[Schema, Number], float] = _usual_delta

    def serve(self, schema: Schema, delta: float, settings: Settings) -> None:
        """Refuse, from public facts alone, what this method cannot do with rows."""
        if self.evidence == "reports":
            raise MethodError(
                f"{self.name} searches reports that devices have randomised, not rows; use "
                "--method auto for a table"
            )
        for column in schema.columns:
            if column.kind not in self.kinds:
                raise MethodError(
                    f"{self.name} serves {' and '.join(sorted(self.kinds))} columns, but "
                    f"{column.name!r} is {column.kind}; use --method auto, or declare it otherwise"
                )
        if self.needs_delta and self.private and delta == 0:
            raise MethodError(
                f"{self.name} needs a delta above 0 and got 0; give --delta 1e-6 or less than "
                "one over the number of people, or use --method auto"
            )
        if settings.subsample is not None and self.private and delta > 0:
            raise MethodError(
                f"--subsample is {settings.subsample:g} and delta {delta:g}, but what a secret "
                "sample is worth is known for pure budgets only; give --delta 0, or leave "
                "--subsample away"
            )
        self.check(schema, settings)


def available() -> tuple[Method, ...]:
    """All methods, in order of their names: every file here that has a ``METHODS``."""
    found: list[Method] = []
    for module in pkgutil.walk_packages(privet.methods.__path__, "privet.methods."):
        loaded = importlib.import_module(module.name)
        found.extend(getattr(loaded, "METHODS", ()))
    return tuple(sorted(found, key=lambda method: method.name))


def get(name: str) -> Method:
    methods = {method.name: method for method in available()}
    if name not in methods:
        raise MethodError(
            f"there is no method {name!r}{did_you_mean(name, methods)}; "
            f"choose auto or one of {', '.join(methods)}"
        )
    return methods[name]


def searching(evidence: str) -> list[str]:
    """The names of the methods that search this kind of evidence."""
    return [method.name for method in available() if method.evidence == evidence]


def auto(schema: Schema, delta: float, private: bool) -> Method:
    """Moments if every column is numeric and Gaussian noise may be used, else tables."""
    if not private:
        return get("pc")
    return get("moment-pc" if schema.has_moments and delta > 0 else "interaction-pc")
