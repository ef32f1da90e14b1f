"""What a method is: it measures (the only part that costs privacy) and it searches (on what was
measured, as often as one likes, for nothing).

Most methods are a source of evidence and a search (``methods/catalogue.py``); those of the
literature are a file each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.errors import MethodError
from privet.evidence.plan import Effects
from privet.evidence.prior import default_level
from privet.graph.absence import Absence
from privet.graph.graph import Graph
from privet.methods.decision import Decides
from privet.methods.options import Settings
from privet.privacy.ledger.conversion import Accounting, Number
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.trust.curator import Curator


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A graph with confidence on its edges, how many tests it took, and why pairs are not joined,
    if that can be said. ``order`` is the most columns that it could condition on, and ``record``
    says what decided about each pair."""

    graph: Graph
    tests: int
    notes: tuple[str, ...] = ()
    absences: Sequence[Absence] = ()
    order: int | None = None
    record: Decides | None = field(default=None, compare=False)


# What the rows were asked for, and what was found meanwhile, if the search was played.
Play = Callable[[Curator, Settings], tuple[tuple[Release, ...], Finding | None]]


@dataclass(frozen=True, kw_only=True)
class Published:
    """A method as its paper has it, to compare with. It promises nothing: ``why`` says what is
    wrong with the published promise. ``measure`` gets exact answers and draws its own noise, for
    the (epsilon, delta) that the paper would claim."""

    measure: Callable[[Curator, Settings, float, float], tuple[Release, ...]]
    why: str


USUAL_DELTA = 1e-6  # the largest delta of a run that names none

# The delta that serves best with this epsilon, at most the given one: (epsilon, 0) implies both.
BestDelta = Callable[[Schema, Number, float], float]


def largest_delta(_schema: Schema, _epsilon: Number, most: float) -> float:
    return most


def no_delta(_schema: Schema, _epsilon: Number, _most: float) -> float:
    return 0.0


@dataclass(frozen=True, kw_only=True)
class Method:
    """``delta`` gives the one that serves it best, which the run promises. ``accounting`` is zCDP
    if selections, sieves and Laplace noise take more than about a quarter of its budget. ``play``
    measures without privacy for a search that has to be played to hear what it asks for, and gives
    what it has found too, so that nobody need search again."""

    name: str
    summary: str
    kinds: frozenset[str]
    private: bool
    needs_delta: bool
    cite: str
    evidence: str
    check: Callable[[Schema, Settings], None]
    measure: Callable[[Curator, Settings], tuple[Release, ...]]
    search: Callable[[Schema, tuple[Release, ...], Settings], Finding]
    play: Play | None = None
    graph: str = "cpdag"
    uses: frozenset[str] = frozenset()
    alpha: Callable[[int], float] = default_level
    reason: str = "it searches exact statistics"
    published: Published | None = None
    delta: BestDelta = largest_delta
    accounting: Accounting = "gdp"
    plan: Effects | None = None

    def options(self, settings: Settings, columns: int) -> dict[str, Any]:
        """What was asked of the search, for its certificate."""
        alpha = self.alpha(columns) if settings.alpha is None else settings.alpha
        always = {"alpha": alpha, "max_order": settings.order, "seed": settings.seed}
        if settings.orient_pairs is not None:
            always["orient_pairs"] = settings.orient_pairs
        for name in ("min_arrow", "min_confidence"):
            if getattr(settings, name) != getattr(Settings, name):
                always[name] = getattr(settings, name)
        return always | {name: v for name, v in settings.special().items() if name in self.uses}

    def serve(self, schema: Schema, delta: float, settings: Settings) -> None:
        """Refuse, from public facts alone, what this method cannot do with rows."""
        if self.evidence == "reports":
            raise MethodError(
                f"{self.name} searches reports that devices have randomised, not rows; use "
                "⟦method='auto'⟧ for a table"
            )
        for column in schema.columns:
            if column.kind not in self.kinds:
                raise MethodError(
                    f"{self.name} serves {' and '.join(sorted(self.kinds))} columns, but "
                    f"{column.name!r} is {column.kind}; use ⟦method='auto'⟧, or declare "
                    "it otherwise"
                )
        if self.needs_delta and self.private and delta == 0:
            raise MethodError(
                f"{self.name} needs a delta above 0 and got 0; give ⟦delta=1e-6⟧ or less than "
                "one over the number of people, or use ⟦method='auto'⟧"
            )
        if settings.subsample is not None and self.private and delta > 0:
            raise MethodError(
                f"⟦subsample⟧ is {settings.subsample:g} and delta {delta:g}, but what a secret "
                "sample is worth is known for pure budgets only; give ⟦delta=0⟧, or leave "
                "⟦subsample⟧ away"
            )
        self.check(schema, settings)
