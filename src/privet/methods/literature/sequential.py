"""What the methods that test one edge after another share: their bars, margins and limits.

A test holds a statistic of dependence against its critical value under independence, the bar.
Bars need the number of rows and the shares of levels, which are bought first with a little of
the budget; they are public after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

from privet.errors import MethodError
from privet.methods.literature.critical_values import Margins, level
from privet.methods.literature.decisions import as_release
from privet.methods.literature.walk import Places, Walk
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.privacy.queries.dependence import STATISTICS, UNIT, Dependence, bound
from privet.privacy.queries.tables import MOST_CELLS, Tables
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.trust import subsample
from privet.trust.curator import Curator

MARGINS = Fraction(1, 20)
LEVEL = 0.01  # [found by experiment on random networks]
MOST_COLUMNS = 100


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The bar of each question, in the units of ``statistic_queries``."""

    schema: Schema
    statistic: str
    margins: Margins
    alpha: float

    @staticmethod
    def of(margins: Release, schema: Schema, settings: Settings) -> Bars:
        return Bars(
            schema=schema,
            statistic=_statistic(settings),
            margins=Margins.of(margins, schema),
            alpha=settings.alpha or LEVEL,
        )

    def height(self, question: Places) -> float:
        names = tuple(self.schema.names[i] for i in question)
        return UNIT * level(self.statistic, names, self.margins, self.alpha)

    def query(self, questions: Sequence[Places], times: float = 1.0) -> Dependence:
        """Bar (so many times) less statistic: a positive answer says independent."""
        names = self.schema.names
        return Dependence(
            self.statistic,
            tuple(tuple(names[i] for i in question) for question in questions),
            tuple(round(times * self.height(question)) for question in questions),
        )

    @cached_property
    def reach(self) -> int:
        return bound(self.statistic, self.schema)


def usual_level(_columns: int) -> float:
    return LEVEL


def check(schema: Schema, settings: Settings) -> None:
    statistic = _statistic(settings)
    if statistic not in STATISTICS:
        raise MethodError(f"⟦statistic⟧ is {statistic!r}; choose one of {', '.join(STATISTICS)}")
    sizes = {column.name: column.cardinality for column in schema.columns}
    if statistic == "cmh" and (wide := [name for name, size in sizes.items() if size != 2]):
        raise MethodError(
            f"⟦statistic='cmh'⟧ compares two levels with two, but column {wide[0]!r} has "
            f"{sizes[wide[0]]}; merge its levels, or use ⟦statistic='kendall'⟧ or t1"
        )
    if len(sizes) > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {len(sizes)} columns; tests that are paid one by one serve up to "
            f"{MOST_COLUMNS}; leave some columns out of the schema, or use ⟦method='auto'⟧"
        )
    cells = prod(sorted(sizes.values())[-settings.order - 2 :])
    if cells > MOST_CELLS:
        raise MethodError(
            f"a test with ⟦max_order={settings.order}⟧ may need a table of {cells} cells; at "
            f"most {MOST_CELLS} are counted; use a smaller ⟦max_order⟧, or merge levels"
        )
    if settings.subsample is not None:
        subsample.check(schema)


def start(curator: Curator, settings: Settings) -> tuple[Release, Bars, Walk]:
    """Noisy margins, the bars they give, and the walk over all tests."""
    schema = curator.schema
    settings.on_step("measuring the margins", 0.0)
    margins = curator.release(Tables(tuple((name,) for name in schema.names)), MARGINS)
    constraints = Constraints.of(schema.names, schema.knowledge)
    walk = Walk(constraints, settings.order)
    return margins, Bars.of(margins, schema, settings), walk


def exactly(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    """Without privacy: every test on exact statistics."""
    if settings.subsample is not None:
        raise MethodError(
            f"⟦subsample⟧ is {settings.subsample:g}, but a sample is drawn for the sake of "
            "privacy, which is off; leave it away"
        )
    margins, bars, walk = start(curator, settings)
    for question in walk:
        if curator.exact(bars.query([question])).values[0] > 0:
            walk.separate(*question)
    return margins, as_release(walk.separations, walk.tests, "exact")


def _statistic(settings: Settings) -> str:
    return "kendall" if settings.statistic == "auto" else settings.statistic
