"""Evidence of weighed rows in white features, of columns with different numbers of levels."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from privet.evidence.table_replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.evidence.white import Design
from privet.privacy.queries.base import Release
from privet.privacy.queries.white import GRID, LARGEST_RADIUS, WEIGHT, Clip, White
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.encoded import encoded

LEVELS = (2, 3, 5, 2, 3)
UNITS = tuple(GRID**order for order in (3, 2, 1, 0))


def weighed(copies: int) -> TableEvidence:
    """In white features, of which triples are drawn to their pairs; one triple is missing."""
    rng = np.random.default_rng(3)
    names = tuple("abcde")
    columns = [
        Column(name=name, kind="categorical", levels=tuple("uvwxy"[:k]))
        for name, k in zip(names, LEVELS, strict=True)
    ]
    schema = Schema(name="t", columns=tuple(columns))
    codes = [rng.integers(LEVELS[0], size=4000)]
    for k in LEVELS[1:]:
        codes.append((codes[-1] + (rng.random(4000) < 0.4) * rng.integers(k, size=4000)) % k)
    shares = [rng.dirichlet(np.full(k, 5.0)) for k in LEVELS]
    features = Design.of(names, shares, 4000.0).features
    sets = [(), *((n,) for n in names)]
    sets += [(a, b) for a, b in permutations(names, 2) if a < b]
    sets += [t for t in permutations(names, 3) if t == tuple(sorted(t))][:-1]
    clip = Clip(sets=tuple(sets), multipliers=UNITS, radius=LARGEST_RADIUS)
    query = White(columns=names, features=features, clips=(clip,))
    values = query.evaluate(encoded(schema, np.stack(codes, axis=1).tolist()), schema)
    noise = 10.0 * WEIGHT * UNITS[0]  # ten rows
    values = values + rng.normal(0, noise, len(values)).astype(np.int64)
    release = Release(query=query, values=values, variance=noise**2, mechanism="Gaussian")
    found = TableEvidence.from_releases(schema, names, [release])
    return table_replicas(found, copies, rng) if copies > 1 else found
