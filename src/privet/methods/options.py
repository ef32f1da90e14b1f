"""The options of a search: one table, which is this class. ``options/option.py`` reads it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privet.arrays import OnStep, say_nothing
from privet.evidence.prior import default_level
from privet.options import option
from privet.options.option import name, number, whole

SEARCH = "search"  # groups of the command line
PUBLISHED = "published methods (em-pc, svt-pc, priv-pc, curate, …)"
# Most columns to condition on; without noise in numbers, unless a graph is refined, and in tables.
ORDER, EXACT_ORDER, EXACT_TABLE_ORDER = 2, 4, 3
PAIRS = 0.2  # share of the budget for pairs, unless another is given


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Public choices; none of them touches the privacy promise.

    The published methods ask the vault one question after another, and so have options of what
    they ask for and how often. ``replicas`` and ``on_step`` are no options of the command line.
    """

    alpha: float | None = number(
        None,
        "smaller keeps fewer edges (2 / (columns - 1), at most 0.2)",
        "lie between 0 and 1; 0.1 is usual, smaller keeps fewer edges",
        between=(0, 1),
        metavar="A",
        group=SEARCH,
        taken_by="all",
    )
    max_order: int | None = whole(
        None,
        "most columns to condition on (2; without privacy 4 of numbers, and 3 for pc on tables)",
        metavar="K",
        group=SEARCH,
        taken_by="all",
    )
    score: str = name("auto", "auto, bic, bdeu or bge", like="bic", metavar="NAME", group=SEARCH)
    penalty: float = number(
        1.0,
        "of BIC; more keeps less (1)",
        "be a number above 0; 1 is BIC as defined, more keeps fewer edges",
        between=(0, math.inf),
        metavar="W",
        group=SEARCH,
    )
    max_parents: int | None = whole(
        None, "most parents of a column", least=1, metavar="K", group=SEARCH
    )
    objective: str = name(
        "worst", "worst or sum of regrets (peri)", like="sum", metavar="NAME", group=SEARCH
    )
    sparsity: float | None = number(
        None,
        "l1 weight of NOTEARS, DAGMA",
        "be a number above 0; 0.1 is usual, more keeps fewer edges",
        between=(0, math.inf),
        metavar="L",
        group=SEARCH,
    )
    threshold: float | None = number(
        None,
        "smallest weight they keep",
        "be a number above 0; 0.3 is usual, more keeps fewer edges",
        between=(0, math.inf),
        metavar="W",
        group=SEARCH,
    )
    min_arrow: float = number(
        0.5,
        "an arrow is tentative unless its confidence is above this (0.5)",
        "lie between 0 and 1; at 0 no arrow is tentative",
        between=(0, 1),
        closed=True,
        metavar="P",
        group=SEARCH,
        taken_by="all",
    )
    min_confidence: float = number(
        0.0,
        "least confidence of an edge (0)",
        "lie between 0 and 1; 0 shows every edge",
        between=(0, 1),
        closed=True,
        metavar="P",
        group=SEARCH,
        taken_by="all",
    )
    features: str = name(
        "auto",
        "auto, or contrasts, so that no rows are weighed (tables)",
        like="contrasts",
        metavar="NAME",
        group=SEARCH,
    )
    orient_pairs: float | None = number(
        None,
        f"spend this share of the budget ({PAIRS:g}) on directions of undirected edges between "
        "numeric columns",
        "lie between 0 and 1: it is the share of the budget for pairs",
        between=(0, 1),
        const=PAIRS,
        metavar="SHARE",
        group=SEARCH,
        taken_by="those on rows that find a CPDAG",
    )
    statistic: str = name(
        "auto",
        "t1, t2, cmh, g2, kendall, spearman, distance",
        like="t1",
        metavar="NAME",
        group=PUBLISHED,
    )
    cap: int | None = whole(None, "how often to ask at most", least=1, metavar="K", group=PUBLISHED)
    subsample: float | None = number(
        None,
        "share of rows to look at",
        "lie between 0 and 1: it is the share of rows that is looked at",
        between=(0, 1),
        metavar="Q",
        group=PUBLISHED,
    )
    beta1: float = number(
        0.1,
        "doubt below the bar, CURATE",
        "lie between 0 and 1: so much below its bar a test is in doubt",
        between=(0, 1),
        metavar="B",
        group=PUBLISHED,
    )
    beta2: float = number(
        0.1,
        "doubt above the bar, CURATE",
        "be a number above 0: so much above its bar a test is in doubt",
        between=(0, math.inf),
        metavar="B",
        group=PUBLISHED,
    )
    steps: int | None = whole(None, "number of gradients", least=1, metavar="T", group=PUBLISHED)
    schedule: str = name(
        "multiplicative",
        "additive, exponential or multiplicative budgets",
        like="additive",
        metavar="NAME",
        group=PUBLISHED,
    )
    seed: int = whole(0, "of the search (0)", metavar="S", group=SEARCH, taken_by="all")
    replicas: int = 20
    on_step: OnStep = say_nothing

    def level(self, columns: int) -> float:
        """The Bayes factor for an edge must exceed 1/level: as asked for, or the odds that two
        columns are joined if each has about two neighbours."""
        return self.alpha if self.alpha is not None else default_level(columns)

    @property
    def order(self) -> int:
        """The most columns to condition on."""
        return ORDER if self.max_order is None else self.max_order

    def special(self) -> dict[str, Any]:
        """Those that only some methods use and that differ from their defaults."""
        return option.special(self)


def make_settings(*, on_step: OnStep | None = None, **options: Any) -> Settings:
    """The options of a search, or a refusal; None stands for the default."""
    given = option.read(Settings, options)
    return Settings(**given, on_step=say_nothing if on_step is None else on_step)
