"""Causal discovery from reports as Binkyte et al. (2023) do it, to compare with.

Numbers are cut into bins of equal width within public bounds, each row is randomised, and the
reports are then taken for answers: nothing undoes the noise, and no test knows of it. Four
mechanisms: randomised response (k-RR) and the bounded geometric mechanism with a fixed probability
of the truth, on each column by itself (C-wise) or on whole rows (Comb). They are set equal by an
attacker's success, the probability of guessing right if all values are alike beforehand: of a
column (C-wise), or of the row (Comb). The epsilon here is the true one of the whole report.

Geo Comb has the distance of norm 1, under which a table of any size has a channel: given the row,
its columns are independent geometric ones with a common rate (``Rows``). Public and simulated
answers are nobody's secret, so the noise of Geo may come from a seeded generator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers
from privet.errors import MethodError
from privet.local import Randomizer, plan_protocol
from privet.local.device.blocks import codes_of
from privet.local.device.channel import check_epsilon
from privet.local.device.geometric import check_success
from privet.local.device.recipes import probability
from privet.pairs.algorithms.on_rows import score
from privet.privacy.ledger.conversion import Number
from privet.schema.column import Column
from privet.schema.cuts import equal_width
from privet.schema.model import Schema

KRR_EACH, KRR_ROWS, GEO_EACH, GEO_ROWS = "k-RR C-wise", "k-RR Comb", "Geo C-wise", "Geo Comb"
MECHANISMS = (KRR_EACH, KRR_ROWS, GEO_EACH, GEO_ROWS)
NAMES = {KRR_EACH: "component-wise", KRR_ROWS: "combined"}
MOST_KINDS = 200_000  # of rows that a common rate is worked out for
MOST_BINS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Noised:
    """Reports as codes (people, columns), the true epsilon of each, and the attacker's success:
    of a column (C-wise, the mean), or of the row (Comb)."""

    codes: Integers
    epsilon: float
    success: float


def binned(schema: Schema, bins: Sequence[int]) -> Schema:
    """The schema with its numeric columns in so many bins of equal width."""
    columns = []
    for column, count in zip(schema.columns, bins, strict=True):
        assert column.bounds is not None
        columns.append(replace(column, cuts=equal_width(*column.bounds, count)))
    return replace(schema, columns=tuple(columns))


def bins_for(values: Floats) -> int:
    """A tenth of the number of different values, from 2 to 100: table 1 of the paper."""
    return max(2, min(MOST_BINS, len(np.unique(values)) // 10))


def coded(data: Mapping[str, Any], columns: Sequence[Column]) -> Integers:
    """Codes (people, columns): the bins of numbers, and levels, which are given by number."""
    return np.stack([_codes(np.asarray(data[c.name]), c) for c in columns], axis=1)


def _codes(values: NDArray[Any], column: Column) -> Integers:
    if column.bounds is None:
        return values.astype(np.int64)
    return np.searchsorted(column.cuts, values, side="right").astype(np.int64)


def as_data(codes: Integers, schema: Schema) -> dict[str, NDArray[Any]]:
    """Codes taken for answers: the middles of the bins, or the numbers of levels."""
    each = zip(schema.columns, codes.T, strict=True)
    return {column.name: _values(column, mine) for column, mine in each}


def _values(column: Column, codes: Integers) -> NDArray[Any]:
    if column.bounds is None:
        return codes
    edges = np.array([column.bounds[0], *column.cuts, column.bounds[1]])
    return np.asarray(((edges[1:] + edges[:-1]) / 2)[codes])


def direction(codes: Integers, schema: Schema, method: str) -> int:
    """1 if the first of two columns is found to cause the second, -1 the other way, 0: a tie."""
    x, y = as_data(codes, schema).values()
    return score(x, y, method).direction()


def noised(
    codes: Integers,
    schema: Schema,
    mechanism: str,
    rng: np.random.Generator,
    *,
    success: Number | None = None,
    epsilon: Number | None = None,
) -> Noised:
    """Reports by one of the four mechanisms, at a success or at an epsilon of the whole report."""
    if mechanism not in MECHANISMS:
        raise MethodError(f"no mechanism {mechanism!r}; choose from {', '.join(MECHANISMS)}")
    sizes = tuple(column.cardinality for column in schema.columns)
    if mechanism == GEO_ROWS:
        rows = Rows.planned(sizes, success=success, epsilon=epsilon)
        return Noised(codes=rows.draw(codes, rng), epsilon=rows.epsilon, success=rows.success)
    if mechanism == GEO_EACH:
        share = None if epsilon is None else check_epsilon(epsilon) / len(sizes)
        apart = [Rows.planned((size,), success=success, epsilon=share) for size in sizes]
        drawn = [one.draw(codes[:, at : at + 1], rng) for at, one in enumerate(apart)]
        return Noised(
            codes=np.hstack(drawn),
            epsilon=sum(one.epsilon for one in apart),
            success=fmean(one.success for one in apart),
        )
    by_levels = mechanism == KRR_EACH and success is None
    protocol = plan_protocol(
        schema,
        epsilon,
        NAMES[mechanism],
        success=success,
        split="levels" if by_levels else "equal",
    )
    reports = Randomizer(protocol).report_codes(codes)
    cells = sizes
    if mechanism == KRR_ROWS:
        cells, found = (math.prod(sizes),), codes_of(reports["cell"], sizes)
    else:
        found = np.stack([reports[name] for name in schema.names], axis=1)
    each = zip(protocol.odds, cells, strict=True)
    guessed = fmean(float(odds / (odds + k - 1)) for odds, k in each)
    return Noised(codes=found, epsilon=float(protocol.loss), success=guessed)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The bounded geometric mechanism on whole rows: P(y | x) = p_max exp(-e_x |y - x|), with the
    sum of the steps in all columns as the distance.

    Given x the columns of y are independent, so the sum over all y is a product over columns. No
    probability exceeds p_max, which P(y | y) attains, so the true epsilon is the largest
    e_x D(x), D(x) the distance of x from the farthest row.
    """

    sizes: tuple[int, ...]
    log_p_max: float  # p_max itself may be too near to 1

    @staticmethod
    def planned(sizes: tuple[int, ...], *, success: Number | None, epsilon: Number | None) -> Rows:
        if success is not None:
            wanted = probability(success)
            check_success(math.prod(sizes), wanted)
            return Rows(sizes=sizes, log_p_max=math.log(wanted))
        assert epsilon is not None
        bound = float(check_epsilon(epsilon))
        kinds, counts = kinds_of_rows(sizes)
        logs, _ = _log_sums(kinds, counts, bound / _farthest(kinds, counts))
        return Rows(sizes=sizes, log_p_max=-float(logs.max()))

    @property
    def success(self) -> float:
        return math.exp(self.log_p_max)

    @property
    def epsilon(self) -> float:
        kinds, counts = kinds_of_rows(self.sizes)
        return float((self._rates(kinds, counts) * _farthest(kinds, counts)).max())

    def _rates(self, kinds: Integers, sizes: Integers) -> Floats:
        """e_x of rows: ln of the sum falls and is convex in it, so Newton's steps climb to the
        root."""
        rates = np.zeros(len(kinds))
        for _ in range(1000):
            logs, slopes = _log_sums(kinds, sizes, rates)
            step = (logs + self.log_p_max) / -slopes
            rates += step
            if (step <= 1e-12 * rates).all():
                break
        return rates

    def draw(self, codes: Integers, rng: np.random.Generator) -> Integers:
        sizes = np.array(self.sizes)
        near = np.minimum(codes, sizes - 1 - codes)
        kinds, which = np.unique(near, axis=0, return_inverse=True)
        rates = self._rates(kinds, np.broadcast_to(sizes, kinds.shape))[which.ravel()]
        out = np.empty_like(codes)
        for at, size in enumerate(self.sizes):
            apart = np.abs(np.arange(size) - codes[:, at : at + 1])
            upto = np.exp(-rates[:, None] * apart).cumsum(axis=1)
            drawn = rng.random((len(codes), 1)) * upto[:, -1:]
            out[:, at] = np.minimum((drawn >= upto).sum(axis=1), size - 1)
        return out


def kinds_of_rows(sizes: Sequence[int]) -> tuple[Integers, Integers]:
    """All rows up to mirror images and the order of columns of one size: distances from the
    nearer end, and the sizes of the columns."""
    counts = {size: list(sizes).count(size) for size in dict.fromkeys(sizes)}
    number = math.prod(math.comb((k + 1) // 2 + n - 1, n) for k, n in counts.items())
    if number > MOST_KINDS:
        raise MethodError(
            f"rows of {len(sizes)} columns come in {number} kinds, more than {MOST_KINDS}; declare "
            f"fewer bins, or the same number for all columns"
        )
    parts = [combinations_with_replacement(range((k + 1) // 2), n) for k, n in counts.items()]
    kinds = np.array([sum(row, ()) for row in product(*parts)], dtype=np.int64)
    return kinds, np.broadcast_to([k for k, n in counts.items() for _ in range(n)], kinds.shape)


def _farthest(kinds: Integers, sizes: Integers) -> Integers:
    return np.asarray((sizes - 1 - kinds).sum(axis=1))


def _log_sums(kinds: Integers, sizes: Integers, rates: Floats) -> tuple[Floats, Floats]:
    """ln Σ_y exp(-e |y - x|), and its slope in e."""
    logs, slopes = np.zeros(len(kinds)), np.zeros(len(kinds))
    for at in range(kinds.shape[1]):
        steps = np.arange(int(sizes[:, at].max()))
        apart = np.abs(steps - kinds[:, at : at + 1])
        terms = np.where(steps < sizes[:, at : at + 1], np.exp(-rates[:, None] * apart), 0.0)
        others = np.where(apart > 0, terms, 0.0).sum(axis=1)  # the truth itself adds 1
        logs += np.log1p(others)
        slopes -= (apart * terms).sum(axis=1) / (1 + others)
    return logs, slopes
