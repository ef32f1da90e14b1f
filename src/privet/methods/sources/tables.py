"""Interactions of pairs and of the triples that matter: what the table methods measure.

A twentieth of the budget measures the number of rows and all columns, half of the rest all pairs. A
first look at these (free) says which triples matter: two neighbours of a column, three neighbours
of one column, and a removed pair with the column that explained it. What is left measures these
triples and, once more, the columns and pairs in them. Everything after that is free. Pairs and
triples are measured in white features (``white.py``) where these tell more than contrasts; where
that is little, pairs that may be dependent are measured once more in between.

With delta = 0 noise is Laplace's, of which many small questions need much. Then the table of all
columns is measured once in their place, if it is small enough to be quieter.

Privacy. Each release is Gaussian (or Laplace) noise on exact integers with the sensitivity of
``privacy.queries.tables.Components``, ``privacy.queries.white.White`` or, for one table,
``privacy.queries.tables.Tables``; which triples are asked for is a function of the first releases
and public facts. So the run is an adaptive composition of at most the run's budget, which the
ledger's filter enforces (``proofs/filter.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from privet.errors import EvidenceError, MethodError
from privet.evidence.copies import guesses
from privet.evidence.counts import PairCounts, every_pair
from privet.evidence.cuts import as_cut
from privet.evidence.plan import table_effects
from privet.evidence.prior import default_level
from privet.evidence.table_replicas import table_replicas
from privet.evidence.tables import TableEvidence, components_query
from privet.evidence.unit_noise import pure_is_quieter, whole_is_quieter
from privet.graph.copies import set_apart
from privet.independence.effects import of_tables
from privet.independence.joint import JointTableJudge
from privet.independence.tables import TableJudge, firm
from privet.methods.basis import Basis, on_tests
from privet.methods.copies import copies_of
from privet.methods.options import Settings
from privet.methods.search import Search
from privet.methods.sources import columns, white
from privet.methods.sources.source import ALL_KINDS, TESTS_AND_SCORES, Source, by_site
from privet.privacy.ledger.conversion import Number
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import GRID, contrasts
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.tables import Components, Tables
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.pc import WIDEST
from privet.search.protocols import Judge
from privet.search.skeleton import Ask, Skeleton, prune
from privet.trust.curator import Curator

MOST_COLUMNS = 400
MOST_LEVELS = 32
# A Bayes factor may miss its bar by this factor and still earn the pair a second look.
LENIENCE = 10.0
# First half of what the columns leave: pairs; second half: triples.
FIRST_SHARE = Fraction(1, 2)
FEATURES = ("auto", "contrasts")


def check(schema: Schema, settings: Settings) -> None:
    if not 0 <= settings.order <= 2:
        raise MethodError(
            f"⟦max_order⟧ is {settings.order}; interactions of three columns are measured, "
            f"which serve separators of 0, 1 or 2 columns. {_dearer(schema, settings.order)}; "
            "use 0, 1 or 2"
        )
    if settings.features not in FEATURES:
        raise MethodError(
            f"there are no features {settings.features!r}; choose auto, or contrasts, in which no "
            "rows are weighed"
        )
    check_size(schema)


def check_size(schema: Schema) -> None:
    size = len(schema.columns)
    if size > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {size} columns; tables serve up to {MOST_COLUMNS}, because all pairs "
            f"are measured, here {comb(size, 2):,}; leave some columns out of the schema"
        )
    for column in schema.columns:
        if column.cardinality > MOST_LEVELS:
            raise MethodError(
                f"column {column.name!r} has {column.cardinality} levels; tables serve up to "
                f"{MOST_LEVELS}, since more leave no power; list fewer levels with missing = "
                '"level" for all others, or use fewer bins'
            )


def _dearer(schema: Schema, order: int) -> str:
    """What larger separators would cost: how many sets they need, and how much louder the noise
    of all that is measured would be if these were measured as well as the pairs."""
    size, width = len(schema.columns), max(order + 1, 4)
    sets = sum(comb(size, k) for k in range(4, min(width, size) + 1))
    if not sets:
        return f"Larger ones need more columns than the {size} of this schema"
    weights = np.ones(1)  # those of all sets of 0, 1, 2... columns; a set's is a product
    for column in schema.columns:
        h = contrasts(column.cardinality, column.ordered)
        reach = float((h**2).sum(axis=0).max()) / GRID**2
        weights = np.convolve(weights, [1.0, reach])[: width + 1]
    louder = np.sqrt(1 + weights[4:].sum() / weights[:3].sum())
    return (
        f"Larger ones need interactions of {'4' if width == 4 else f'4 to {width}'} columns, of "
        f"which there are {sets:,} here; all of these on the same budget would make Gaussian noise "
        f"{louder:,.1f} times as large"
    )


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    first = columns.measure(curator, settings)
    curator, margins, left = first.curator, first.releases, first.left
    if curator.pure and whole_is_quieter(curator.schema):
        return margins + measure_whole(curator, settings, left)
    if first.shares and settings.features == "auto":
        found = white.measure(curator, settings, margins, first.shares, first.rows, interesting)
        if found is not None:
            return found
    releases = _pairs(first, settings)
    settings.on_step("choosing triples", 0.2)
    wanted = interesting(curator.schema, releases)
    settings.on_step("measuring triples", 0.3)
    return releases + _release(curator, wanted, left * (1 - FIRST_SHARE))


def measure_pairs(
    curator: Curator, settings: Settings
) -> tuple[tuple[Release, ...], PairCounts | None]:
    """Without privacy: all pairs, counted once and told in the units in which others measure
    them."""
    first = columns.measure(curator, settings)
    schema = first.curator.schema
    if len(schema.columns) < 2:
        return _pairs(first, settings), None
    settings.on_step("measuring all pairs", 0.1)
    found = first.curator.exact(every_pair(schema.names))
    counts = PairCounts.counted(schema, found)
    told = first.releases
    for query, values in counts.components(schema):
        asked = Cut(found.query.cuts, query) if isinstance(found.query, Cut) else query
        told += (replace(found, query=asked, values=values),)
    return told, counts


def measure_triples(
    curator: Curator, settings: Settings, wanted: list[tuple[int, ...]]
) -> tuple[Release, ...]:
    """Without privacy, after these: nothing is gained by measuring pairs twice."""
    settings.on_step("measuring triples", 0.3)
    return _release(curator, [each for each in wanted if len(each) > 2], Fraction(1))


def _pairs(first: columns.First, settings: Settings) -> tuple[Release, ...]:
    """The number of rows, all columns and all pairs, after the first stage."""
    schema, size = first.curator.schema, len(first.curator.schema.columns)
    rows: list[tuple[int, ...]] = [] if schema.rows_are_public else [()]
    settings.on_step("measuring all pairs", 0.1)
    small = [*rows, *combinations(range(size), 1), *combinations(range(size), 2)]
    return first.releases + _release(first.curator, small, first.left * FIRST_SHARE)


def check_triples(schema: Schema, releases: tuple[Release, ...]) -> None:
    """Refuse to test on exact pairs alone where triples matter: a search that asks for no tests
    has left them out."""
    held = [one for one in as_cut(schema, releases)[1] if isinstance(one.query, Components)]
    orders = {len(one.asked(Components).sets[0]) for one in held}
    if any(one.variance for one in held) or 2 not in orders or 3 in orders:
        return
    if any(len(members) > 2 for members in interesting(schema, releases)):
        raise EvidenceError(
            "this evidence was measured for a search that asks for scores alone, so that it has "
            "no triples of columns to test; run this search on the data, with ⟦private=False⟧"
        )


def measure_whole(
    curator: Curator, settings: Settings, share: Fraction = Fraction(1)
) -> tuple[Release, ...]:
    """The table of all columns, in which all interactions are."""
    settings.on_step("measuring the whole table", 0.0)
    query = Tables((curator.schema.names,))
    if not curator.private:
        return (curator.exact(query),)
    return (curator.laplace(query, share),)


def delta(schema: Schema, epsilon: Number, most: float) -> float:
    """0 where Laplace noise has the smaller variance, else the most that is allowed."""
    return 0.0 if most == 0 or pure_is_quieter(schema, epsilon, most) else most


def _release(curator: Curator, sets: list[tuple[int, ...]], share: Fraction) -> tuple[Release, ...]:
    """One release per order, the share divided so that all have the same noise in unit scale."""
    names = curator.schema.names
    orders = sorted({len(members) for members in sets})
    queries = [
        components_query(names, sorted(members for members in sets if len(members) == order))
        for order in orders
    ]
    if not curator.private:
        return curator.releases([(query, share) for query in queries])
    weights = [_weight(curator, query, order) for query, order in zip(queries, orders, strict=True)]
    return curator.releases(
        [
            (query, share * weight / sum(weights))
            for query, weight in zip(queries, weights, strict=True)
        ]
    )


def _weight(curator: Curator, query: Components, order: int) -> Fraction:
    if curator.pure:
        return Fraction(query.l1(curator.schema), GRID**order)
    return Fraction(query.l2_squared(curator.schema), GRID ** (2 * order))


def interesting(schema: Schema, releases: tuple[Release, ...]) -> list[tuple[int, ...]]:
    """The triples that the first look finds worth measuring, with all their subsets."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    return triples_in(*first_look(schema, evidence))


def triples_in(found: Skeleton, strength: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """The same, of what it found."""
    triples: set[tuple[int, ...]] = set()
    for k in range(len(strength)):
        near = np.flatnonzero(found.adjacent[k])
        triples |= {tuple(sorted((i, j, k))) for i, j in combinations(near.tolist(), 2)}
        strongest = near[np.argsort(-strength[k, near], kind="stable")][:WIDEST]
        triples |= set(combinations(sorted(strongest.tolist()), 3))
    for pair, separator in found.separators.items():
        if separator:
            triples.add(tuple(sorted((*pair, *separator))))
    pairs = {(x, y) for x, y in np.argwhere(np.triu(found.adjacent)).tolist()}
    closed = triples | pairs
    for members in triples | pairs:
        for order in range(1, len(members)):
            closed |= set(combinations(members, order))
    return sorted(closed) or [(i,) for i in range(len(strength))]


def first_look(
    schema: Schema,
    evidence: TableEvidence,
    pooled: Ask | None = None,
    same: Mapping[str, str] | None = None,
) -> tuple[Skeleton, NDArray[np.float64]]:
    """Orders 0 and 1 on pairs, lenient at order 0: what is near the bar gets a second look. Any
    explanation is taken: what is left shares the budget of the second look. ``pooled`` answers
    tests on pairs and ``same`` are copies, if these are known.

    It does not depend on the options of the search, which may differ from search to search.
    """
    size = len(schema.columns)
    lenient = TableJudge(evidence, alpha=default_level(size) * LENIENCE, pooled=pooled)
    strict = TableJudge(evidence, alpha=default_level(size), pooled=pooled)
    if same is None:
        same = copies_of(schema, guesses([evidence]))
    known = set_apart(schema.knowledge, schema.names, same)
    constraints = Constraints.of(schema.names, known)
    strength = lenient.strengths()
    found = Skeleton(constraints.possible & ~np.eye(size, dtype=bool), {})
    for order, judge in enumerate((lenient, strict)):
        found = prune(
            found,
            order,
            judge.margins,
            strength=strength,
            required=constraints.required,
            circles=True,
        )
    return found, strength


def basis(
    schema: Schema, releases: tuple[Release, ...], settings: Settings, _search: Search | None = None
) -> Basis:
    """Bayes factors that know the noise, of one site or of several together."""
    check_triples(schema, releases)
    alpha, size = settings.level(len(schema.columns)), len(schema.columns)
    sites = tuple(
        TableEvidence.from_releases(schema, schema.names, each) for each in by_site(releases)
    )

    def judge(sites: tuple[TableEvidence, ...]) -> Judge:
        return TableJudge(sites[0], alpha) if len(sites) == 1 else JointTableJudge(sites, alpha)

    def stack(count: int, rng: np.random.Generator) -> Judge:
        return judge(tuple(table_replicas(site, count, rng) for site in sites))

    judges = [TableJudge(site, alpha) for site in sites]
    made = on_tests(judge(sites), stack, size, _of_each, partial(firm, sites[0].cardinalities))
    same = copies_of(schema, guesses(sites))
    return replace(made, effects=partial(of_tables, judges), copies=same)


def _of_each(judge: Judge) -> Sequence[Judge]:
    """The judges of the sites that a joint one asks."""
    return judge.judges if isinstance(judge, JointTableJudge) else (judge,)


SOURCE = Source(
    prefix="interaction-",
    phrase="on noisy interactions of pairs and triples",
    evidence="tables",
    kinds=ALL_KINDS,
    private=True,
    gives=TESTS_AND_SCORES | {"sites"},
    check=lambda schema, settings, _search: check(schema, settings),
    measure_for=lambda _search: measure,
    basis=basis,
    kind=lambda _schema, _search: "tables",
    cite="residual basis of Xiao, He, Zhang, Kifer 2023",
    delta=delta,
    plan=table_effects,
    uses=frozenset({"features"}),
)
