"""PrivPC as published, with the score of its authors' code (called EM-PC by others).

How far a decision is from changing is measured by taking records away, one after another and
each time the one that helps most; the number of them is the score. It is neither the distance
(records may also come, and greedy is not best) nor does one record change it by at most 1. The
separating set is the one with the largest p-value, exactly.

A paper's mechanism for comparison; nothing here is private (docs/published.md). Where the paper
has independence and dependence the wrong way round, the code's rule holds: p >= tau removes.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Bools, Floats, Integers
from privet.evidence.exact_tables import ExactTables
from privet.methods.literature.decisions import Separation, as_release
from privet.privacy.queries.base import Release
from privet.search.constraints import Constraints

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator


TAU = 0.01
CALLS = 15  # each costs epsilon/30 for the number of removals and epsilon/30 for the picks

WHY = (
    "its distance score, computed by greedy removal of records, changes by up to n - 1 when one "
    "record changes, not by 1, and the separating sets are exact (em-pc in docs/published.md)"
)


def measure(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    schema, rng = curator.schema, np.random.default_rng(settings.seed)
    counted = ExactTables.from_releases(schema, (), curator.exact)
    constraints = Constraints.of(schema.names, schema.knowledge)
    joined = constraints.possible & ~np.eye(len(schema.names), dtype=bool)
    found: list[Separation] = []
    calls = tests = 0
    for order in range(settings.order + 1):
        for i in range(len(joined)):
            groups = _groups(joined, constraints.required, i, order)
            if not groups or calls == CALLS:
                continue
            calls += 1
            tests += sum(map(len, groups.values()))
            settings.on_step("asking as published", calls / CALLS)
            best = [_most_independent(counted, group) for group in groups.values()]
            tau = TAU if settings.alpha is None else settings.alpha
            scores = [distance(_strata(counted, each), tau) for each in best]
            for at in decide(scores, epsilon / 30, epsilon / 30, rng):
                x, y, *given = best[at]
                joined[x, y] = joined[y, x] = False
                found.append(Separation(x=x, y=y, given=tuple(given)))
    return (as_release(found, tests, f"selections for epsilon {epsilon:g}, as published"),)


def _groups(joined: Bools, required: Bools, i: int, order: int) -> dict[int, list[tuple[int, ...]]]:
    """For each neighbour of i, the questions (i, j, *S) with S among the other neighbours."""
    near = np.flatnonzero(joined[i]).tolist()
    return {
        j: [(i, j, *s) for s in combinations([k for k in near if k != j], order)]
        for j in near
        if not required[i, j] and len(near) > order
    }


def _strata(counted: ExactTables, question: tuple[int, ...]) -> Integers:
    (table,) = counted.tables(np.array([question], dtype=np.intp))
    return table.reshape(*table.shape[:2], -1)


def _most_independent(counted: ExactTables, questions: list[tuple[int, ...]]) -> tuple[int, ...]:
    from scipy.stats import chi2

    tables = [_strata(counted, question) for question in questions]
    log_p = chi2.logsf([g2(table) for table in tables], [freedom(table) for table in tables])
    return questions[int(np.argmax(log_p))]


def g2(table: Integers) -> float:
    """The likelihood ratio statistic of a table (x, y, strata)."""
    margins = (table.sum(axis=1), table.sum(axis=0))
    own, x, y, total = (_xlogx(each) for each in (table, *margins, table.sum(axis=(0, 1))))
    return 2 * (own - x - y + total)


def _xlogx(counts: Integers) -> float:
    return float(_many_xlogx(counts).sum())


def freedom(table: Integers) -> int:
    x, y, strata = table.shape
    return int((x - 1) * (y - 1) * strata)


def distance(table: Integers, tau: float) -> int:
    """The score of one table (x, y, strata): records taken away until the decision changes, less
    one; positive if it says independent. It stops at n - 1."""
    from scipy.stats import chi2

    critical = float(chi2.isf(tau, freedom(table)))
    now, left, rows = g2(table), table.copy(), int(table.sum())
    sign = 1 if now <= critical else -1
    step = np.diff(_many_xlogx(np.arange(rows + 1)), prepend=0.0)  # f(m) - f(m - 1)
    x, y, total = left.sum(axis=1), left.sum(axis=0), left.sum(axis=(0, 1))
    for taken in range(rows - 1):
        change = step[x][:, None] + step[y][None] - step[left] - step[total]
        at = np.where(left > 0, sign * change, -np.inf).argmax()
        i, j, k = np.unravel_index(at, left.shape)
        now += 2 * change[i, j, k]
        if (now <= critical) != (sign > 0):
            return sign * taken
        left[i, j, k] -= 1
        x[i, k] -= 1
        y[j, k] -= 1
        total[k] -= 1
    return sign * (rows - 1)


def _many_xlogx(counts: Integers) -> Floats:
    return np.asarray(counts * np.log(np.maximum(counts, 1)), dtype=np.float64)


def decide(
    scores: list[int], epsilon1: float, epsilon2: float, rng: np.random.Generator
) -> list[int]:
    """Which neighbours go: how many by the exponential mechanism, then as many picks, all with
    the claimed sensitivity of 1."""
    ranked = np.sort(np.array(scores, dtype=float))[::-1]
    fits = np.minimum(np.append(np.inf, ranked), np.append(-ranked, np.inf))
    removals = select(fits, epsilon2, rng)
    left, chosen = np.array(scores, dtype=float), []
    for _ in range(removals):
        chosen.append(select(left, epsilon1 / removals, rng))
        left[chosen[-1]] = -np.inf
    return chosen


def select(scores: Floats, epsilon: float, rng: np.random.Generator) -> int:
    return int((epsilon * scores / 2 + rng.gumbel(size=len(scores))).argmax())
