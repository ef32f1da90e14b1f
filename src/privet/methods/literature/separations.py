"""From separations to a graph: what the methods that ask one question after another share.

The arrows come from the separating sets that were told with privacy; no row is looked at again
(the published versions ask the data once more here).
"""

from __future__ import annotations

import numpy as np

from privet.methods.literature.decisions import Decisions, Separation, read
from privet.methods.method import Finding
from privet.methods.options import Settings
from privet.methods.search import closed, marked
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.skeleton import Skeleton, complete


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Finding:
    """The CPDAG of the pairs that were not separated, with colliders where the middle of three
    is not in what separated its ends."""
    release = next(r for r in releases if isinstance(r.query, Decisions))
    constraints = Constraints.of(schema.names, schema.knowledge)
    settings.on_step("searching", 0.9)
    found = skeleton(read(release, len(schema.names)), constraints)
    triples = unshielded(found.adjacent)
    weights = np.array([_weight(found, *triple) for triple in triples.tolist()], dtype=float)
    rng = np.random.default_rng(settings.seed)
    arrows = orient(found.adjacent, triples, weights, allowed=constraints.allowed, rng=rng)
    graph = marked(closed(arrows, schema), schema.knowledge)
    return Finding(graph=graph, tests=release.asked(Decisions).tests)


def skeleton(separations: tuple[Separation, ...], constraints: Constraints) -> Skeleton:
    """All pairs that knowledge allows but the separated ones; required pairs stay joined."""
    found = complete(len(constraints.possible), constraints.possible)
    adjacent, separators = found.adjacent, {}
    for each in separations:
        x, y = sorted((each.x, each.y))
        if not constraints.required[x, y]:
            adjacent[x, y] = adjacent[y, x] = False
            separators[x, y] = each.given
    return constraints.without_circles(Skeleton(adjacent, separators), np.ones(adjacent.shape))


def _weight(found: Skeleton, i: int, k: int, j: int) -> float:
    """For a collider at k (1), against one (-1), or nothing known: i and j were never tested."""
    given = found.separators.get((min(i, j), max(i, j)))
    return 0.0 if given is None else -1.0 if k in given else 1.0
