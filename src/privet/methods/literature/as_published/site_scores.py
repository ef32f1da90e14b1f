"""Exact scores of families at a site, and the exact questions that they need.

Regrets over sites are made of these (``peri.py``, ``rivals.py``). Numbers have Gaussian BIC and
AIC from second moments, and a spline code length (MDL); categories have BIC and AIC from tables.
Nothing here is private: only the exact door answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.arrays import Floats, Integers
from privet.evidence.exact_tables import ExactTables
from privet.evidence.moments import MomentEvidence
from privet.privacy.queries.base import Query, Release, Rows, Unbounded, all_rows
from privet.schema.model import Schema
from privet.scores import gaussian, tables
from privet.scores.spline_mdl import SHARES, SplineMoments, spline_mdl
from privet.search.protocols import Locals
from privet.trust.curator import Curator

SCORES = ("mdl", "bic", "aic")
UNIT = 1 << 30  # of sums as whole numbers
CURVE_UNIT = 1 << 40  # of covariances of standardised curves
CONSTANT = 1e-12  # a variance below which a column is constant, half its range being 1
FEWEST_ROWS = 2  # with fewer there is no variance


@dataclass(frozen=True, kw_only=True)
class Gram(Unbounded):
    """How many rows, their sums and the sums of their products, with the middle between a
    column's bounds as 0 and the bounds as ±1; in units of 2^-30."""

    def __str__(self) -> str:
        return "exact second moments"

    def check(self, schema: Schema) -> None:
        """Every table of numbers has them."""

    def size(self, schema: Schema) -> int:
        p = len(schema.columns)
        return 1 + p + p * p

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        low, high = np.array([column.range for column in schema.columns]).T
        scaled = (2 * all_rows(rows, schema.names) - low - high) / (high - low)
        found = np.concatenate([scaled.sum(axis=0), (scaled.T @ scaled).reshape(-1)])
        return np.concatenate([[len(scaled)], np.rint(found * UNIT)]).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class SplineCovariances(Unbounded):
    """How many rows, and the covariances of the curves that the spline code length chooses from,
    of standardised columns with knots at their own quantiles; in units of 2^-40."""

    def __str__(self) -> str:
        return "exact covariances of curves"

    def check(self, schema: Schema) -> None:
        """Every table of numbers has them."""

    def size(self, schema: Schema) -> int:
        return 1 + SplineMoments.width(len(schema.columns)) ** 2

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        whole = all_rows(rows, schema.names)
        width = SplineMoments.width(len(schema.names))
        found = np.eye(width)
        if len(whole) >= FEWEST_ROWS:
            spread = whole.std(axis=0)
            standard = (whole - whole.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            found = SplineMoments.of(standard).covariance
        values = np.rint(found.reshape(-1) * CURVE_UNIT)
        return np.concatenate([[len(whole)], values]).astype(np.int64)


def local_scores(curators: Sequence[Curator], score: str) -> Locals:
    """Scores of one table, or of several as if they were one."""
    schema = curators[0].schema
    if score == "mdl":
        return spline_mdl(_splines(curators[0]))
    if schema.has_moments:
        evidence = moments(curators)
        return (gaussian.gaussian_bic if score == "bic" else gaussian.gaussian_aic)(evidence).local
    counted = ExactTables.from_releases(schema, (), lambda query: _counted(curators, query))
    return (tables.bic if score == "bic" else tables.aic)(counted).local


def moments(curators: Sequence[Curator]) -> MomentEvidence:
    """Exact moments of all rows of these tables."""
    schema = curators[0].schema
    p = len(schema.columns)
    values = np.sum([curator.exact(Gram()).values for curator in curators], axis=0)
    rows = int(values[0])
    mean, products = np.split(values[1:] / UNIT / max(rows, 1), [p])
    covariance = products.reshape(p, p) - np.outer(mean, mean)
    constant = np.diag(covariance) <= CONSTANT
    covariance[constant] = covariance[:, constant] = 0.0
    covariance[constant, constant] = 1.0
    return MomentEvidence(
        names=schema.names, rows=rows, covariance=covariance, metric=np.eye(p), noise=0.0
    )


def _splines(curator: Curator) -> SplineMoments:
    values = curator.exact(SplineCovariances()).values
    columns = len(curator.schema.columns)
    width = SplineMoments.width(columns)
    covariance: Floats = values[1:].reshape(width, width) / CURVE_UNIT
    return SplineMoments(int(values[0]), columns, len(SHARES), covariance)


def _counted(curators: Sequence[Curator], query: Query) -> Release:
    parts = [curator.exact(query) for curator in curators]
    return replace(parts[0], values=np.sum([part.values for part in parts], axis=0))
