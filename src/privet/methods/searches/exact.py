"""exact: the best graph of all, by dynamic programming over sets of columns."""

from __future__ import annotations

import numpy as np

from privet.errors import MethodError
from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search, check_parents, closed
from privet.methods.searches.mcmc import MAX_TESTED_PARENTS, climbed, with_probabilities
from privet.schema.model import Schema
from privet.search.exact import MOST_COLUMNS, exact
from privet.search.order_mcmc import order_mcmc

MAX_PARENTS = 3  # of tables, which grow with every parent
MAX_NUMERIC_PARENTS = 5


def check(schema: Schema, settings: Settings) -> None:
    if len(schema.columns) > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {len(schema.columns)} columns; exact search looks at all sets of "
            f"columns and serves up to {MOST_COLUMNS}; use mcmc (or interaction-mcmc) instead"
        )
    if settings.max_parents is None:
        check_parents(schema, MAX_PARENTS)


def find(basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator) -> Graph:
    """On exact evidence a chain that starts from the best graph tells how probable each edge is."""
    local, constraints = basis.families(schema, settings.order)
    usual = MAX_PARENTS if basis.moments is None else MAX_NUMERIC_PARENTS
    if basis.local is None:
        usual = MAX_TESTED_PARENTS
    widest = usual if settings.max_parents is None else settings.max_parents
    best = exact(local, constraints, max_parents=widest)
    basis.listener.score, basis.listener.most = basis.worth(local), widest
    if basis.noisy:  # replicas tell
        return closed(best, schema)
    chain = np.random.default_rng(settings.seed)
    sampled = order_mcmc(local, best | best.T, constraints, chain, max_parents=widest)
    return with_probabilities(closed(best, schema), sampled)


EXACT = Search(
    name="exact",
    find=find,
    summary="the best graph of all, for up to 20 columns",
    cite="Silander, Myllymäki 2006",
    graph="cpdag",
    needs="families",
    probable=True,
    again=climbed,
    untested=True,
    check=check,
)
SEARCHES = (EXACT,)
