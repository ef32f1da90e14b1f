"""Correlations of numeric columns from reports, with the law of their errors.

Signs: of each number a device tells only on which side of a public cut it lies. If the columns
are normal after some increasing transformation of each, the share of people above both cuts
fixes their correlation (tetrachoric; with cuts at the medians it is sin(π E[s_i s_j] / 2)).
Products: devices tell products and squares of clipped numbers, whose means give correlations.

Either way a correlation is a smooth function of a few means θ that reports estimate without bias,
so its error is, to first order, a known combination of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from privet.arrays import Bools, Floats, Indices
from privet.errors import EvidenceError
from privet.local.collector.counts import Reported
from privet.local.collector.laws import BlockLaw
from privet.local.collector.tables import law_of
from privet.local.device.blocks import HALF
from privet.privacy.queries.base import Release

STRONGEST = 0.98  # correlation that is believed at most
RAREST = 0.01  # share of people on each side of a cut, below which it tells nothing
THINNEST = 1e-5  # density at the cuts that slopes are worked out for
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
SMALLEST_SPREAD = 1e-4  # variance of a number on the scale from -1 to 1
HALVINGS = 45
POINTS = 4096
BLOCK_NUMBERS = 4_000_000  # in one block of work
# How many people without noise a pair must be worth for separators of one, two, three columns.
NUMBER_ORDERS = (150.0, 1_000.0, 1_000.0)


class Means(Protocol):
    """The law of the estimates of means: ``covariance`` is that of those that a question's
    columns have, pairs first (in order), then every kind of single ones."""

    @property
    def kinds(self) -> int: ...

    def covariance(self, questions: Indices) -> Floats: ...


@dataclass(frozen=True, kw_only=True)
class LocalCorrelations:
    """Correlations (..., columns, columns), perhaps a stack of replicas, and how they move with
    the means: with that of their pair (``slope[i, j]``) and with those of the column i alone
    (``side[kind, i, j]``). ``sure`` says which columns vary enough to tell anything."""

    names: tuple[str, ...]
    correlation: Floats
    slope: Floats
    side: Floats
    means: Means
    sure: Bools

    @staticmethod
    def from_release(release: Release) -> LocalCorrelations:
        query = release.query
        if not isinstance(query, Reported) or query.protocol.name not in MAKERS:
            raise EvidenceError(
                "this evidence holds no reports of numbers; search it with the method that counted "
                "it"
            )
        return MAKERS[query.protocol.name](release)

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.correlation.shape[:-2]

    @cached_property
    def variances(self) -> Floats:
        """Of the correlations, (columns, columns)."""
        size = len(self.names)
        pairs = np.array(list(combinations(range(size), 2)), dtype=np.intp)
        out = np.zeros((size, size))
        out[pairs[:, 0], pairs[:, 1]] = np.maximum(self.covariance(pairs)[:, 0, 0], 0.0)
        return out + out.T

    @cached_property
    def people_worth(self) -> float:
        """How many people without noise would tell as much about a typical pair of columns that
        tell anything."""
        known = self.variances[np.ix_(self.sure, self.sure)]
        above = known[np.triu_indices(len(known), 1)]
        return float(1 / np.median(above)) if len(above) else 0.0

    def covariance(self, questions: Indices) -> Floats:
        """Of the correlations of each question's pairs of columns, in order."""
        width = questions.shape[1]
        pairs = list(combinations(range(width), 2))
        move = np.zeros((len(questions), len(pairs), len(pairs) + self.means.kinds * width))
        for at, (i, j) in enumerate(pairs):
            a, b = questions[:, i], questions[:, j]
            move[:, at, at] = self.slope[a, b]
            for kind in range(self.means.kinds):
                start = len(pairs) + kind * width
                move[:, at, start + i] = self.side[kind, a, b]
                move[:, at, start + j] = self.side[kind, b, a]
        return np.asarray(move @ self.means.covariance(questions) @ move.swapaxes(1, 2))

    def stack(self, count: int, rng: np.random.Generator) -> LocalCorrelations:
        """Replicas: what fresh reports by fresh people of the same kind might have told."""
        size = len(self.names)
        noise = np.triu(rng.standard_normal((count, size, size)) * np.sqrt(self.variances), 1)
        moved = np.clip(self.correlation + noise + noise.swapaxes(1, 2), -STRONGEST, STRONGEST)
        moved[:, np.arange(size), np.arange(size)] = 1.0
        return replace(self, correlation=moved)


@dataclass(frozen=True, kw_only=True)
class Apart:
    """Every mean has people of its own: variances of the pairs' and of the single ones'."""

    pair: Floats
    single: Floats

    @property
    def kinds(self) -> int:
        return len(self.single)

    def covariance(self, questions: Indices) -> Floats:
        pairs = combinations(range(questions.shape[1]), 2)
        each = [self.pair[questions[:, i], questions[:, j]] for i, j in pairs]
        each += [kind[questions[:, i]] for kind in self.single for i in range(questions.shape[1])]
        out = np.zeros((len(questions), len(each), len(each)))
        out[:, np.arange(len(each)), np.arange(len(each))] = np.stack(each, axis=1)
        return out


@dataclass(frozen=True, kw_only=True)
class Signs:
    """Signs of blocks of columns: the law of blocks (proofs/local-evidence.md), with f_A the
    product of the signs in A. How products of two such hang together is read from fixed points
    of the normal law with these correlations; a sign is + below ``cut``."""

    law: BlockLaw
    correlation: Floats
    cut: Floats
    kinds: int = 1

    def covariance(self, questions: Indices) -> Floats:
        step = max(1, BLOCK_NUMBERS // (POINTS * questions.shape[1] ** 2))
        starts = range(0, max(len(questions), 1), step)
        return np.concatenate([self._covariance(questions[at : at + step]) for at in starts])

    def _covariance(self, questions: Indices) -> Floats:
        width = questions.shape[1]
        sets = [*combinations(range(width), 2), *combinations(range(width), 1)]
        bits = np.int64(1) << questions.astype(np.int64)
        masks = np.stack([bits[:, list(one)].sum(axis=1) for one in sets], axis=1)
        m = self.law.moments(masks[:, :, None] | masks[:, None, :])
        own = np.maximum(np.einsum("taaq->taq", m)[..., 0], 1e-300)
        signs = self._signs(questions)
        f = np.stack([signs[:, list(one)].prod(axis=1) for one in sets], axis=1)
        mean = f.mean(axis=2)
        out = m[..., 1] * (f @ f.swapaxes(1, 2) / POINTS)
        out -= m[..., 2] * mean[:, :, None] * mean[:, None, :]
        at = np.arange(len(sets))
        out[:, at, at] += m[:, at, at, 0] - m[:, at, at, 1]
        return np.asarray(out / (own[:, :, None] * own[:, None, :]))

    def _signs(self, questions: Indices) -> Floats:
        """Of the points, (questions, columns, points)."""
        values, vectors = np.linalg.eigh(
            self.correlation[questions[:, :, None], questions[:, None, :]]
        )
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        length = np.sqrt((root**2).sum(axis=2, keepdims=True))
        drawn = root / length @ _points(questions.shape[1])
        return np.where(drawn < self.cut[questions][:, :, None], 1.0, -1.0)


@cache
def _points(width: int) -> Floats:
    """Points of the normal law of so many columns, with its means and covariances exactly."""
    drawn = np.random.default_rng(width).standard_normal((width, POINTS // 2))
    both = np.concatenate([drawn, -drawn], axis=1)
    root = np.linalg.cholesky(both @ both.T / POINTS)
    return np.asarray(np.linalg.solve(root, both))


def _sign_block(release: Release) -> LocalCorrelations:
    law = law_of(release)
    assert isinstance(law, BlockLaw)
    query = release.asked(Reported)
    tables = query.tables(release.values)
    size = len(law.sizes)
    single = np.array([2 * tables[i,][1] for i in range(size)])
    pair = np.eye(size)
    for (i, j), table in ((m, t) for m, t in tables.items() if len(m) == 2):
        pair[i, j] = pair[j, i] = 4 * table[1, 1]
    correlation, slope, side = tetrachoric(single, pair)
    return LocalCorrelations(
        names=query.protocol.schema.names,
        correlation=correlation,
        slope=slope,
        side=side[None],
        means=Signs(law=law, correlation=correlation, cut=cuts(single)),
        sure=np.abs(single) <= 1 - 2 * RAREST,
    )


def _sign_bit(release: Release) -> LocalCorrelations:
    """Pairs only: the cuts are taken for the medians."""
    query = release.asked(Reported)
    size = len(query.protocol.sizes)
    pair, variance = np.eye(size), np.full((size, size), np.inf)
    tables = query.tables(release.values)
    for block, people in zip(query.protocol.blocks, query.people, strict=True):
        i, j = block.attributes
        left = float(query.protocol.channel(block).attenuation)
        pair[i, j] = pair[j, i] = mean = 4 * tables[i, j][1, 1]
        variance[i, j] = variance[j, i] = max(1 / left**2 - mean**2, 0.0) / max(people, 1e-9)
    correlation, slope, _ = tetrachoric(np.zeros(size), pair)
    return LocalCorrelations(
        names=query.protocol.schema.names,
        correlation=correlation,
        slope=slope,
        side=np.zeros((0, size, size)),
        means=Apart(pair=variance, single=np.zeros((0, size))),
        sure=np.ones(size, dtype=bool),
    )


def cuts(single: Floats) -> Floats:
    """Below which a standard normal column lies as often as its sign is +."""
    return np.asarray(ndtri(np.clip((1 + single) / 2, RAREST, 1 - RAREST)))


def tetrachoric(single: Floats, pair: Floats) -> tuple[Floats, Floats, Floats]:
    """Correlations of normal columns whose signs have these means, and how they move with the
    means of the pairs and of the single columns."""
    cut = cuts(single)
    i, j = np.triu_indices(len(cut), 1)
    both = (1 + single[i] + single[j] + pair[i, j]) / 4
    low, high = np.full_like(both, -np.pi / 2), np.full_like(both, np.pi / 2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        less = _upper(cut[i], cut[j], middle) < both
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    r = np.zeros_like(pair)
    r[i, j] = r[j, i] = np.clip(np.sin((low + high) / 2), -STRONGEST, STRONGEST)
    h, k = cut[:, None], cut[None, :]
    rest = np.sqrt(1 - r**2)
    joint = np.exp(-(h**2 + k**2 - 2 * h * k * r) / (2 * rest**2)) / (2 * np.pi * rest)
    joint = np.maximum(joint, THINNEST)
    slope = 1 / (4 * joint)
    side = slope - ndtr((k - r * h) / rest) / (2 * joint)
    np.fill_diagonal(r, 1.0)
    return r, slope, side


def _upper(h: Floats, k: Floats, angle: Floats) -> Floats:
    """P(a < h, b < k) of standard normal a, b with correlation sin(angle)."""
    t = angle[..., None] * (NODES + 1) / 2
    inner = h[..., None] ** 2 + k[..., None] ** 2 - 2 * h[..., None] * k[..., None] * np.sin(t)
    terms = np.exp(-inner / (2 * np.maximum(np.cos(t) ** 2, 1e-12)))
    return np.asarray(ndtr(h) * ndtr(k) + angle / 2 * (terms @ WEIGHTS) / (2 * np.pi))


def _piecewise(release: Release) -> LocalCorrelations:
    query = release.asked(Reported)
    protocol = query.protocol
    size = len(protocol.schema.names)
    pair, pair_variance = np.eye(size), np.full((size, size), np.inf)
    single, single_variance = np.zeros((2, size)), np.full((2, size), np.inf)
    sums = release.values.reshape(-1, 2).astype(float)
    for block, people, (total, squares) in zip(protocol.blocks, query.people, sums, strict=True):
        scale = 2 * HALF * float(protocol.channel(block).attenuation)
        mean = total / max(people, 1)
        variance = (squares / max(people, 1) - mean**2) / max(people, 1e-9) / scale**2
        if len(block.attributes) == 2:
            i, j = block.attributes
            pair[i, j] = pair[j, i] = mean / scale
            pair_variance[i, j] = pair_variance[j, i] = variance
        else:
            single[block.power - 1, block.attributes[0]] = mean / scale
            single_variance[block.power - 1, block.attributes[0]] = variance
    mean, spread = single[0], single[1] - single[0] ** 2
    sure = spread > SMALLEST_SPREAD
    spread = np.maximum(spread, SMALLEST_SPREAD)
    scale_of = np.sqrt(np.outer(spread, spread))
    r = np.clip((pair - np.outer(mean, mean)) / scale_of, -STRONGEST, STRONGEST)
    np.fill_diagonal(r, 1.0)
    by_spread = -r / (2 * spread[:, None])
    side = np.stack([-mean[None, :] / scale_of - 2 * mean[:, None] * by_spread, by_spread])
    return LocalCorrelations(
        names=protocol.schema.names,
        correlation=r,
        slope=1 / scale_of,
        side=side,
        means=Apart(pair=pair_variance, single=single_variance),
        sure=sure,
    )


MAKERS = {"sign-block": _sign_block, "sign-bit": _sign_bit, "piecewise": _piecewise}
