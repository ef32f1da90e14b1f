"""The errors of estimates from reports: how they spread, and how they hang together.

A statistic is linearised as Σ_A Σ_cells W_A(x_A) F̂_A(x_A), W_A the part of its influence
function that belongs to the set A (for each set, sums along each of its axes are 0). Each law
gives the covariance of such statistics, sampling and channel together, for a null distribution
of the columns involved. The formulas are proved in proofs/local-evidence.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from privet.arrays import Floats, Indices, Integers
from privet.errors import EvidenceError

UNDONE = 1e-6  # error of an inverse beyond which it is rounding and no inverse

# For each set, given by its places in the question: W_A of many tests, shaped (tests,
# statistics, *cells), with length 1 along the axes of columns that are not in the set.
Parts = Mapping[tuple[int, ...], Floats]


class Law(Protocol):
    def worth(self, sets: Indices) -> Floats:
        """How many people without noise would tell as much about each of these sets."""

    def covariance(self, questions: Indices, parts: Parts, null: Floats) -> Floats:
        """Covariance (tests, statistics, statistics) of linearised statistics of the columns of
        these questions; ``null`` (tests, *cells) are their shares. There may be several tests
        for each question, one replica after another."""

    def draw(
        self,
        members: tuple[int, ...],
        shares: Sequence[Floats],
        count: int,
        rng: np.random.Generator,
    ) -> Floats:
        """So many errors of one set's centred table, if its columns are independent; the part
        that comes from the errors of smaller sets is left to these."""


def inverse(matrix: Floats) -> Floats:
    """What undoes a channel (rows: inputs)."""
    try:
        found = np.asarray(np.linalg.inv(matrix), dtype=float)
        wrong = float(np.abs(matrix @ found - np.eye(len(matrix))).max())
    except np.linalg.LinAlgError:
        wrong = np.inf
    if not wrong <= UNDONE:
        raise EvidenceError(
            f"a report on {len(matrix)} values hardly depends on the answer, so that the channel "
            f"cannot be undone; choose a larger epsilon, or the protocol planned-block"
        )
    return found


def _flat(parts: Parts, null: Floats) -> Floats:
    """All parts, (tests, parts, statistics, cells)."""
    shape = null.shape[1:]
    wide = [np.broadcast_to(w, (*w.shape[:2], *shape)) for w in parts.values()]
    return np.stack([w.reshape(*w.shape[:2], -1) for w in wide], axis=1)


def _total(parts: Parts) -> Any:
    """The whole influence function."""
    return sum(parts.values())


def _spread(weights: Floats, values: Floats) -> Floats:
    """Σ_cells weights v v' of (tests, cells) and (tests, statistics, cells)."""
    out: Floats = (values * weights[:, None, :]) @ values.swapaxes(-1, -2)
    return out


def _outer(means: Floats) -> Floats:
    return means[:, :, None] * means[:, None, :]


def _repeated(numbers: Floats, tests: int) -> Floats:
    """Numbers per question, for all replicas of it."""
    return np.tile(numbers, (tests // len(numbers), *[1] * (numbers.ndim - 1)))


def _shaken(roots: Sequence[Floats], count: int, rng: np.random.Generator) -> Floats:
    """Normal tables with covariance ⊗ root root'."""
    drawn = rng.standard_normal((count, *(root.shape[1] for root in roots)))
    for axis, root in enumerate(roots, start=1):
        drawn = np.moveaxis(np.tensordot(drawn, root, (axis, 1)), -1, axis)
    return np.asarray(drawn)


def _sampling(share: Floats) -> Floats:
    """A root of diag p - pp'."""
    root: Floats = np.diag(np.sqrt(share)) - np.outer(share, np.sqrt(share))
    return root


def _centring(size: int) -> Floats:
    out: Floats = np.eye(size) - 1 / size
    return out


@dataclass(frozen=True, kw_only=True)
class BlockLaw:
    """Randomised response on the cells of blocks, everybody's with attenuation ``left``."""

    sizes: tuple[int, ...]
    masks: Integers
    people: Floats
    left: Floats

    @cached_property
    def _powers(self) -> Floats:
        return np.stack([self.people * self.left**q for q in (2, 3, 4)], axis=1)

    def moments(self, masks: Integers) -> Floats:
        """m_2, m_3, m_4 of sets given as bit masks: sums of a^q over the people whose block
        holds the set."""
        unique, where = np.unique(masks, return_inverse=True)
        out = np.empty((len(unique), 3))
        step = max(1, (1 << 24) // len(self.masks))
        for start in range(0, len(unique), step):
            wanted = unique[start : start + step, None]
            holds = (self.masks & wanted) == wanted
            out[start : start + step] = holds.astype(float) @ self._powers
        return out[where.ravel()].reshape(*masks.shape, 3)

    def worth(self, sets: Indices) -> Floats:
        return self.moments(_masks(sets))[..., 0]

    def covariance(self, questions: Indices, parts: Parts, null: Floats) -> Floats:
        """[m_3(T) E_p[W W'] + (m_2(T) - m_3(T)) E_uniform[W W'] - m_4(T) E_p W E_p W'] /
        (m_2(A) m_2(A')), T the union of A and A'; the second term for A = A' only."""
        tests, w = len(null), _flat(parts, null)
        sets = np.stack([_masks(questions[:, list(at)]) for at in parts], axis=1)
        m = self.moments(sets[:, :, None] | sets[:, None, :])
        own = np.einsum("taaq->taq", m)
        divisor = np.maximum(own[:, :, None, 0] * own[:, None, :, 0], 1e-300)
        truth, both = (_repeated(m[..., q] / divisor, tests) for q in (1, 2))
        noise = (own[..., 0] - own[..., 1]) / np.maximum(own[..., 0], 1e-150) ** 2
        channel = _repeated(noise, tests)
        count, statistics, cells = w.shape[1:]
        p = null.reshape(tests, 1, 1, -1)
        mixed = (truth @ w.reshape(tests, count, -1)).reshape(w.shape)
        rows, columns = (
            each.transpose(0, 2, 1, 3).reshape(tests, statistics, -1) for each in (w * p, mixed)
        )
        means = (w * p).sum(axis=-1).swapaxes(1, 2)
        noisy = np.sqrt(channel / cells)[:, :, None, None] * w
        noisy = noisy.transpose(0, 2, 1, 3).reshape(tests, statistics, -1)
        out: Floats = rows @ columns.swapaxes(1, 2) + noisy @ noisy.swapaxes(1, 2)
        out -= means @ both @ means.swapaxes(1, 2)
        return out

    def draw(
        self,
        members: tuple[int, ...],
        shares: Sequence[Floats],
        count: int,
        rng: np.random.Generator,
    ) -> Floats:
        m2, m3, _ = self.moments(_masks(np.array([members])))[0]
        sampling = _shaken([_sampling(share) for share in shares], count, rng)
        channel = _shaken([_centring(len(s)) / np.sqrt(len(s)) for s in shares], count, rng)
        return np.asarray((np.sqrt(m3) * sampling + np.sqrt(m2 - m3) * channel) / max(m2, 1e-300))


def _masks(sets: Indices) -> Integers:
    out: Integers = (np.int64(1) << sets.astype(np.int64)).sum(axis=1)
    return out


@dataclass(frozen=True, kw_only=True)
class ParityLaw:
    """Parity responses: single attributes and pairs, each with people of its own, so that
    errors of different sets have nothing to do with each other."""

    sizes: tuple[int, ...]
    masks: Integers
    people: Floats
    left: Floats

    def _asked(self, sets: Indices) -> tuple[Floats, Floats]:
        """People asked about each set, and the attenuation of their reports."""
        order = np.argsort(self.masks)
        wanted = _masks(sets)
        at = np.minimum(np.searchsorted(self.masks[order], wanted), len(order) - 1)
        found = self.masks[order][at] == wanted
        return np.where(found, self.people[order][at], 0.0), self.left[order][at]

    def worth(self, sets: Indices) -> Floats:
        people, left = self._asked(sets)
        k = np.array(self.sizes)[sets]
        if sets.shape[1] == 1:
            return people * left**2
        levels = k.max(axis=1)
        out: Floats = people * left**2 * levels**2 / ((levels - 1) * k.prod(axis=1))
        return out

    def covariance(self, questions: Indices, parts: Parts, null: Floats) -> Floats:
        tests = len(null)
        out: Any = 0.0
        for at, w in parts.items():
            others = tuple(i + 1 for i in range(questions.shape[1]) if i not in at)
            p = null.sum(axis=others)
            people, left = (_repeated(each, tests) for each in self._asked(questions[:, list(at)]))
            values, flat = w.reshape(*w.shape[:2], -1), p.reshape(tests, -1)
            weights = _weights(p, left).reshape(tests, -1)
            means = (values * flat[:, None]).sum(axis=-1)
            spread = _spread(weights, values) - _outer(means)
            out = out + spread / np.maximum(people, 1e-300)[:, None, None]
        return np.asarray(out)

    def draw(
        self,
        members: tuple[int, ...],
        shares: Sequence[Floats],
        count: int,
        rng: np.random.Generator,
    ) -> Floats:
        worth = float(self.worth(np.array([members]))[0])
        roots = [_centring(len(s)) / np.sqrt(len(s)) for s in shares]
        return np.asarray(_shaken(roots, count, rng) / np.sqrt(max(worth, 1e-300)))


def _weights(p: Floats, left: Floats) -> Floats:
    """How much W W' of each cell counts in the second moment of one report's estimate."""
    a = left.reshape(-1, *[1] * (p.ndim - 1))
    if p.ndim == 2:
        return np.asarray((a * p + (1 - a) / p.shape[1]) / a**2)
    k = max(p.shape[1:])
    row, column = p.sum(axis=2, keepdims=True), p.sum(axis=1, keepdims=True)
    told = (k + 1) / (k - 1) * p + (1 - row - column + p) / (k - 1)
    if k > 2:
        told = told + (1 - 2 * row - 2 * column + 4 * p) / ((k - 1) * (k - 2))
    out: Floats = (a * told + (1 - a) / (k - 1)) / (a * k / (k - 1)) ** 2
    return out


@dataclass(frozen=True, kw_only=True)
class ChannelLaw:
    """Everybody reports every column, each through a channel of its own (rows: inputs)."""

    matrices: tuple[Floats, ...]
    people: float

    @cached_property
    def _inverses(self) -> tuple[Floats, ...]:
        return tuple(inverse(matrix) for matrix in self.matrices)

    def _one(self, column: int, share: Floats) -> Floats:
        """Covariance of one person's estimate of e(x), x with these shares."""
        back = self._inverses[column]
        shown = share @ self.matrices[column]
        out: Floats = (back * shown[:, None]).T @ back - np.outer(share, share)
        return out

    def worth(self, sets: Indices) -> Floats:
        each = []
        for column, matrix in enumerate(self.matrices):
            k = len(matrix)
            centring = _centring(k)
            noisy = centring @ self._one(column, np.full(k, 1 / k)) @ centring
            each.append((k - 1) / k / np.trace(noisy))
        out: Floats = self.people * np.array(each)[sets].prod(axis=1)
        return out

    def covariance(self, questions: Indices, parts: Parts, null: Floats) -> Floats:
        """That of the influence function carried back through the channels, over the reports."""
        tests, copies = len(null), len(null) // len(questions)
        values, shown = _total(parts), null
        means = (values * null[:, None]).reshape(*values.shape[:2], -1).sum(axis=-1)
        for axis in range(questions.shape[1]):
            columns = np.tile(questions[:, axis], copies)
            back = np.stack([self._inverses[i] for i in columns])
            matrix = np.stack([self.matrices[i] for i in columns])
            values = _along(values, axis + 2, back.swapaxes(1, 2))
            shown = _along(shown[:, None], axis + 2, matrix)[:, 0]
        spread = _spread(shown.reshape(tests, -1), values.reshape(*values.shape[:2], -1))
        return (spread - _outer(means)) / max(self.people, 1e-300)

    def draw(
        self,
        members: tuple[int, ...],
        shares: Sequence[Floats],
        count: int,
        rng: np.random.Generator,
    ) -> Floats:
        roots = [_root(self._one(i, share)) for i, share in zip(members, shares, strict=True)]
        return np.asarray(_shaken(roots, count, rng) / np.sqrt(max(self.people, 1e-300)))


def _along(values: Floats, axis: int, matrices: Floats) -> Floats:
    """One axis of each test's array multiplied by that test's matrix from the right."""
    moved = np.moveaxis(values, axis, -1)
    flat = moved.reshape(len(values), -1, moved.shape[-1]) @ matrices
    out: Floats = np.moveaxis(flat.reshape(*moved.shape[:-1], -1), -1, axis)
    return out


def _root(covariance: Floats) -> Floats:
    """A root of a covariance, with its centre taken off."""
    centring = _centring(len(covariance))
    values, vectors = np.linalg.eigh(centring @ covariance @ centring)
    out: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return out


@dataclass(frozen=True, kw_only=True)
class GridLaw:
    """Everybody reports a cell of the table of all columns, through one channel for all cells.

    Covariances are those seen among the reports, since the null of a few columns does not say
    how the others are distributed.
    """

    matrix: Floats
    counts: Floats
    sizes: tuple[int, ...]

    @cached_property
    def _inverse(self) -> Floats:
        return inverse(self.matrix)

    @property
    def people(self) -> float:
        return max(float(self.counts.sum()), 1.0)

    def _scores(self, members: Sequence[int]) -> Floats:
        """Each report's estimate of a centred table: (reports, *cells)."""
        every = range(len(self.sizes))
        scores = self._inverse.reshape(-1, *self.sizes)
        scores = scores.sum(axis=tuple(i + 1 for i in every if i not in members))
        for axis in range(1, scores.ndim):
            scores = scores - scores.mean(axis=axis, keepdims=True)
        return np.asarray(scores)

    def _one(self, members: Sequence[int], shares: Floats) -> Floats:
        flat = self._scores(members).reshape(len(shares), -1)
        mean = shares @ flat
        out: Floats = (flat * shares[:, None]).T @ flat - np.outer(mean, mean)
        return out

    def worth(self, sets: Indices) -> Floats:
        shown = self.matrix.mean(axis=0)  # of columns without structure
        out = []
        for members in np.sort(sets, axis=1).tolist():
            k = np.array([self.sizes[i] for i in members])
            out.append(self.people * ((k - 1) / k).prod() / np.trace(self._one(members, shown)))
        return np.array(out)

    def covariance(self, questions: Indices, parts: Parts, null: Floats) -> Floats:
        shares = (self.counts / self.people)[None]
        total = _total(parts)
        out = []
        for at, values in enumerate(total):
            question = questions[at % len(questions)]
            order = np.argsort(question)
            placed = values.transpose(0, *(order + 1))
            wide = [self.sizes[i] if i in question else 1 for i in range(len(self.sizes))]
            placed = placed.reshape(len(values), *wide)
            flat = np.broadcast_to(placed, (len(values), *self.sizes)).reshape(len(values), -1)
            scores = (flat @ self._inverse.T)[None]
            means = (scores * shares[:, None]).sum(axis=-1)
            out.append((_spread(shares, scores) - _outer(means))[0])
        return np.stack(out) / self.people

    def draw(
        self,
        members: tuple[int, ...],
        shares: Sequence[Floats],
        count: int,
        rng: np.random.Generator,
    ) -> Floats:
        shown = self.counts / self.people
        values, vectors = np.linalg.eigh(self._one(members, shown))
        root = vectors * np.sqrt(np.maximum(values, 0.0) / self.people)
        drawn = rng.standard_normal((count, len(values))) @ root.T
        return np.asarray(drawn.reshape(count, *(self.sizes[i] for i in members)))
