"""peri: the class with the smallest worst regret of all sites, or the smallest sum.

What each site has measured was private before it left; regrets, rounds and messages follow from
that and cost nothing more. So nothing of what the published protocol sends is sent here: the
numbers that it would have sent are counted in a note. The search stays within the edges that
tests on the evidence of all sites have found, as every search on noisy gains does. With one site
it is GES without turning.
"""

from __future__ import annotations

from typing import cast, get_args

import numpy as np

from privet.arrays import Floats, Indices
from privet.errors import MethodError
from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search, check_parents, closed
from privet.schema.model import Schema
from privet.search.peri import Agreed, peri
from privet.search.regret import Objective, Told

NUMBER = 8  # bytes


def check(schema: Schema, settings: Settings) -> None:
    if settings.objective not in get_args(Objective):
        raise MethodError(
            f"there is no objective {settings.objective!r}; choose "
            f"{' or '.join(get_args(Objective))}"
        )
    check_parents(schema, settings.max_parents)


def find(basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator) -> Graph:
    _, constraints = basis.climbing(schema, settings.order)
    found = peri(
        [Told(gains) for gains in basis.sites],
        constraints,
        objective=cast(Objective, settings.objective),
        max_parents=settings.max_parents,
    )
    basis.listener.notes = (said(found),)
    basis.listener.score = basis.sites[0] if len(basis.sites) == 1 else _untold
    basis.listener.most = settings.max_parents
    return closed(found.matrix, schema)


def _untold(questions: Indices) -> Floats:
    """Regrets of several sites are no gains of an edge."""
    return np.full(len(questions), np.nan)


def said(found: Agreed) -> str:
    """What the published protocol would have sent for the same."""
    numbers, sites = sum(found.numbers), len(found.numbers)
    return (
        f"Among these edges the published protocol would have taken {found.iterations:,} "
        f"iterations, in which {sites} site(s) send {sum(found.messages):,} messages with "
        f"{numbers:,} regrets ({NUMBER * numbers:,} bytes); here regrets follow from the evidence, "
        "and nothing is sent."
    )


PERI = Search(
    name="peri",
    find=find,
    summary="the class with the smallest worst regret of several sites (or the smallest sum)",
    cite="Mian, Kaltenpoth, Kamp, Vreeken 2023",
    graph="cpdag",
    needs="sites",
    check=check,
)
SEARCHES = (PERI,)
