"""How well an additive-noise model fits either way, by dependence between cause and residual.

Half of the rows, drawn at random, are used to regress one column on the other; the residuals of
the other half are held against the cause [Kusner et al. 2016]. In the causal direction they do
not depend on it. Each record is in one half, so a score moves by no more than the larger of what
a record of either half can do. A bound for one half only promises nothing to people in the other,
and the vault's private doors do not sell it: such a query gives its ``bound``, for the record,
but has no l1, l2_squared and linf. Proofs: ``proofs/anm.md``.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import dataclass, field
from hashlib import shake_256
from math import ceil, sqrt
from typing import Literal

import numpy as np

from privet.arrays import Integers
from privet.errors import MethodError, SchemaError
from privet.privacy.queries.base import Query, Rows, codec
from privet.privacy.queries.pairs import Range, check_pair, place_in, ranges_of
from privet.privacy.queries.ridge import (
    FINE,
    GRID,
    LARGEST_RIDGE,
    LEAST_RIDGE,
    MOST_ROWS,
    Kernel,
    concordance,
    cross_covariance,
    predictions,
    public_bandwidth,
    rank_product,
    residual_bound,
)
from privet.schema.model import Adjacency, Schema

Protect = Literal["both", "test", "training"]
PROTECT: tuple[Protect, ...] = ("both", "test", "training")
SCORES = ("sqrt-hsic", "hsic", "kendall", "spearman")
RANKS = ("kendall", "spearman")

UNIT = 1 << 30  # of hsic and its root as whole numbers
KEY = 32  # bytes


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """A cause as codes, and what it leaves of the effect in FINE steps, row by row."""

    cause: Integers
    left: Integers


def new_key() -> bytes:
    return os.urandom(KEY)


@dataclass(frozen=True, kw_only=True)
class Anm:
    """Which columns, how they are regressed, and which rows are in which half.

    ``ridge`` and ``bandwidth`` are public; columns are in units of half their ranges. The
    defaults, and that of ``AnmScores.kernel``, are those for both halves protected: without
    privacy, far less ridge (2^-8) and a kernel of 0.1 tell directions better. The ``key`` decides
    which rows are in which half. It is drawn for each model and stays secret, because the place
    of a row in a file may say something about it; queries on one model share it.
    """

    x: str
    y: str
    ridge: float = 3.0
    bandwidth: float = 0.3
    x_range: Range | None = None
    y_range: Range | None = None
    key: bytes = field(default_factory=new_key, repr=False, compare=False)

    def check(self, schema: Schema) -> None:
        check_pair(self.x, self.y, self.x_range, self.y_range, schema)
        public_bandwidth(self.bandwidth)
        if not LEAST_RIDGE <= self.ridge <= LARGEST_RIDGE:
            raise MethodError(
                f"ridge = {self.ridge!r}; give a number from {LEAST_RIDGE} to {LARGEST_RIDGE}"
            )
        if schema.adjacency is Adjacency.ADD_REMOVE:
            raise MethodError(
                'additive-noise models need the number of rows, which adjacency = "add-remove" '
                'keeps private; declare adjacency = "replace-one" with rows = N, or use '
                "table-collisions"
            )
        if not schema.rows_are_public:
            raise MethodError(
                'additive-noise models need the number of rows, which missing = "drop" makes '
                "private; declare a value for missing cells, or use table-collisions"
            )
        if (schema.rows or 0) > MOST_ROWS:
            raise MethodError(
                f"additive-noise models serve at most {MOST_ROWS} rows, not {schema.rows}; use "
                "table-collisions"
            )

    def test_rows(self, schema: Schema) -> int:
        return (schema.rows or 0) // 2

    def eta(self, schema: Schema) -> int:
        """How far a record of the training half moves each residual, in FINE steps."""
        return residual_bound(self.ridge, (schema.rows or 0) - self.test_rows(schema))

    def residuals(self, rows: Rows, schema: Schema) -> tuple[Residuals, Residuals]:
        """Of the test half: x as the cause of y, and y as the cause of x."""
        codes = self._codes(rows, schema)
        test, training = np.split(codes, [self.test_rows(schema)])
        kernel = Kernel.of(self.bandwidth, 2.0)

        def regress(cause: int, effect: int) -> Residuals:
            fit = predictions(training[:, cause], training[:, effect], kernel, self.ridge)
            left = test[:, effect] * (FINE // GRID) - fit[test[:, cause] + GRID]
            return Residuals(cause=test[:, cause], left=left)

        return regress(0, 1), regress(1, 0)

    def _codes(self, rows: Rows, schema: Schema) -> Integers:
        """Both columns as codes, in random order and exactly as many rows as are declared:
        what is over is left out, and what is missing stands in the middle."""
        ranges = ranges_of(self.x, self.y, self.x_range, self.y_range, schema)
        blocks = [
            np.rint((2 * place_in(block, *np.transpose(ranges)) - 1) * GRID).astype(np.int64)
            for block in rows.numbers((self.x, self.y))
        ]
        found = np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=np.int64)
        size = schema.rows or 0
        codes = np.zeros((max(size, len(found)), 2), dtype=np.int64)
        codes[: len(found)] = found
        return codes[self.order(len(codes))[:size]]

    def order(self, rows: int) -> Integers:
        """A random order of rows: first the test half, then the training half."""
        drawn = np.frombuffer(shake_256(self.key).digest(8 * rows), dtype="<u8")
        return np.argsort(drawn, kind="stable").astype(np.int64)


class Halved(Query):
    """A question on one model whose bound is for people in the protected half."""

    protect: Protect

    @abstractmethod
    def bound(self, schema: Schema) -> int:
        """How far one person in the protected half moves each number of the answer."""

    def linf(self, schema: Schema) -> int:
        refuse_half(self.protect)
        return self.bound(schema)


@codec("AnmScores", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class AnmScores(Halved):
    """Dependence of residual and cause, x as the cause and then y: the smaller one wins. With
    ``release = "sign"`` only the second less the first: positive speaks for x as the cause.

    ``kendall``: pairs of rows in the same order less pairs in opposite order, in absolute value.
    ``spearman``: Σ a b, with a and b how many rows are smaller less how many are larger, in
    absolute value. ``hsic`` and ``sqrt-hsic`` (its root, with rows for rows - 1): UNIT times the
    score, with public ``kernel`` bandwidths in units of half the ranges. ``unit`` turns numbers
    into scores.

    Sensitivity of a score, with m rows in the test half. A test record: kendall 2 (m - 1), spearman
    2 m (m - 1), sqrt-hsic √6 (m - 1) / m², hsic √6 / (m - 1). A training record moves every
    residual by up to η: sqrt-hsic η / bandwidth, hsic slope · η (m / (m - 1))². For orders of
    residuals there is no such bound. There is one, 2 ``pairs`` and 4 (m - 1) ``pairs``, if no more
    than so many pairs of rows can change their order; that must be tested first
    (``privacy.queries.tested.RankStability``), and the vault sells these scores through its door
    for what is tested.
    """

    model: Anm
    score: str = "sqrt-hsic"
    release: Literal["scores", "sign"] = "scores"
    protect: Protect = "both"
    kernel: float = 0.5
    pairs: int | None = None

    def __str__(self) -> str:
        what = "difference of residual dependence" if self._signed else "residual dependence"
        return f"{what} ({self.score}) of {self.model.x} and {self.model.y}"

    @property
    def _signed(self) -> bool:
        return self.release == "sign"

    def check(self, schema: Schema) -> None:
        self.model.check(schema)
        check_protect(self.protect)
        public_bandwidth(self.kernel)
        if self.score not in SCORES or self.release not in ("scores", "sign"):
            raise MethodError(
                f"score = {self.score!r} and release = {self.release!r}; choose a score from "
                f"{', '.join(SCORES)} and release 'scores' or 'sign'"
            )
        if self.pairs is not None:
            check_pairs(self.pairs, self.model.test_rows(schema))

    def size(self, schema: Schema) -> int:
        return 1 if self._signed else 2

    def unit(self, schema: Schema) -> float:
        """What 1 in the answer means as a score."""
        m = max(self.model.test_rows(schema), 2)
        return {"kendall": 2 / (m * (m - 1)), "spearman": 3 / (m * (m * m - 1))}.get(
            self.score, 1 / UNIT
        )

    def most(self, schema: Schema) -> float:
        """The largest score; the smallest is 0."""
        m = max(self.model.test_rows(schema), 2)
        return {"sqrt-hsic": 0.5, "hsic": (m / (m - 1)) ** 2 / 4}.get(self.score, 1.0)

    def bound(self, schema: Schema) -> int:
        """How far one person in the protected half moves each number of the answer."""
        m = self.model.test_rows(schema)
        halves = {"test": [self._test(m)], "training": [self._training(m, schema)]}
        halves["both"] = halves["test"] + halves["training"]
        return (2 if self._signed else 1) * max(halves[self.protect]) * schema.rows_per_person

    def _test(self, m: int) -> int:
        if m < 2:
            return 1
        if self.score == "kendall":
            return 2 * (m - 1)
        if self.score == "spearman":
            return 2 * m * (m - 1)
        exact = sqrt(6) * ((m - 1) / m**2 if self.score == "sqrt-hsic" else 1 / (m - 1))
        return _rounded_up(exact)

    def _training(self, m: int, schema: Schema) -> int:
        if m < 2:
            return 1
        if self.score in RANKS:
            if self.protect == "test":
                return 0
            if self.pairs is None:
                raise MethodError(
                    f"{self.score} of residuals has no bound for people in the training half; "
                    "say how many pairs may change their order and test that first, or choose "
                    "sqrt-hsic"
                )
            if schema.rows_per_person > 1:
                raise MethodError(
                    f"rows_per_person = {schema.rows_per_person}, but the order of residuals is "
                    "found stable against one record; choose sqrt-hsic"
                )
            return max((2 if self.score == "kendall" else 4 * (m - 1)) * self.pairs, 1)
        kernel, eta = Kernel.of(self.kernel, 4.0), self.model.eta(schema) / FINE
        if self.score == "sqrt-hsic":
            return _rounded_up(min(eta / kernel.bandwidth, 0.5))
        return _rounded_up(min(kernel.slope * eta, 0.25) * (m / (m - 1)) ** 2)

    def linf(self, schema: Schema) -> int:
        refuse_half(self.protect)
        if self.score in RANKS:
            raise MethodError(
                f"{self.score} of residuals has no bound for people in the training half unless "
                "the stability of their order has been tested; do that first, or choose sqrt-hsic"
            )
        return self.bound(schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        forward, backward = map(self._scored, self.model.residuals(rows, schema))
        return np.array([backward - forward] if self._signed else [forward, backward], np.int64)

    def _scored(self, found: Residuals) -> int:
        if self.score == "kendall":
            return abs(concordance(found.cause, found.left))
        if self.score == "spearman":
            return abs(rank_product(found.cause, found.left))
        kernels = Kernel.of(self.kernel, 2.0), Kernel.of(self.kernel, 4.0)
        root = cross_covariance(found.cause / GRID, found.left / FINE, kernels)
        m = len(found.left)
        value = root if self.score == "sqrt-hsic" else (root * m / max(m - 1, 1)) ** 2
        return round(UNIT * value)


def check_protect(protect: str) -> None:
    if protect not in PROTECT:
        raise MethodError(f"protect = {protect!r}; choose from {', '.join(PROTECT)}")


def check_pairs(pairs: int, m: int) -> None:
    if isinstance(pairs, bool) or not isinstance(pairs, int) or not 0 <= pairs <= m * m:
        raise SchemaError(
            f"pairs = {pairs!r}; give a whole number from 0 to {m * m}, how many pairs of rows "
            "may change their order"
        )


def refuse_half(protect: Protect) -> None:
    """The vault's doors are for promises to everybody."""
    if protect != "both":
        other = "training" if protect == "test" else "test"
        raise MethodError(
            f"protect = {protect!r} promises nothing to people in the {other} half, so it cannot "
            "be bought from a budget; choose protect = 'both', or run without privacy"
        )


def _rounded_up(exact: float) -> int:
    """A bound on how far UNIT times a number moves: its own movement, one step of rounding and
    two errors of a quarter of a step."""
    return ceil(UNIT * exact * (1 + 2**-40)) + 2
