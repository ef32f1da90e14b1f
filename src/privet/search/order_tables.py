"""Score tables for order MCMC: what each column's parents are worth, whatever comes before it.

Each column has a few candidate parents. All subsets of these are scored, alone and with one
further parent from anywhere. For every subset of candidates that may come before the column, a
table holds the sum over the parent sets within it, and another the best of them, so that an
order is weighed by look-ups alone [Kuipers, Suter, Moffa 2022].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.constraints import Constraints
from privet.search.protocols import Locals

# Tables double with each candidate; a column that has this many gets further ones only as the
# one parent from outside.
MOST_CANDIDATES = 12


@dataclass(frozen=True)
class Family:
    """All parent sets of one column that are considered.

    Set k is ``required``, the candidates whose bits are in ``masks[k]``, and the column
    ``further[k]`` from outside (-1: none).
    """

    required: list[int]
    candidates: list[int]
    outside: list[int]
    masks: Indices
    further: Indices
    scores: Floats

    def within(self, before: Bools) -> Indices:
        """The sets all of whose members (required ones aside) come before the column."""
        mask = sum(1 << bit for bit, c in enumerate(self.candidates) if before[c])
        fits = (self.masks & ~mask) == 0
        return np.flatnonzero(fits & ((self.further < 0) | before[self.further]))

    def parents(self, k: int) -> list[int]:
        chosen = [c for bit, c in enumerate(self.candidates) if self.masks[k] >> bit & 1]
        return [*self.required, *chosen, *([int(self.further[k])] if self.further[k] >= 0 else [])]


class Space:
    """The candidates of each column, and their scores as far as they are known."""

    def __init__(self, local: Locals, constraints: Constraints, max_parents: int) -> None:
        size = len(constraints.allowed)
        self.local, self.max_parents, self.allowed = local, max_parents, constraints.allowed
        must = constraints.required & constraints.allowed
        self.required = [np.flatnonzero(must[:, child]).tolist() for child in range(size)]
        self.candidates: list[list[int]] = [[] for _ in range(size)]
        self.families: list[Family | None] = [None] * size

    def admit(self, joined: Bools) -> bool:
        """Let each column's neighbours be its candidates too, strongest first; was any new?"""
        fresh = False
        for child, known in enumerate(self.candidates):
            may = joined[child] & self.allowed[:, child]
            may[[child, *known, *self.required[child]]] = False
            new = np.flatnonzero(may)
            room = MOST_CANDIDATES - len(known)
            if len(new) > room:
                strength = self.local(child, new[:, None])
                new = new[np.argsort(-strength, kind="stable")[:room]]
            if len(new):
                fresh, self.families[child] = True, None
                self.candidates[child] = sorted([*known, *new.tolist()])
        return fresh

    def tables(self) -> Tables:
        families = [
            self._family(child) if family is None else family
            for child, family in enumerate(self.families)
        ]
        self.families = list(families)
        return Tables.of(families)

    def _family(self, child: int) -> Family:
        """Every set within bounds, scored in one batch per width."""
        required, candidates = self.required[child], self.candidates[child]
        outside = self.allowed[:, child].copy()
        outside[[child, *required, *candidates]] = False
        others = np.flatnonzero(outside)
        parts = []
        room = max(self.max_parents - len(required), 0)
        for wide in range(min(room, len(candidates) + 1) + 1):
            masks, further = _sets(len(candidates), others, wide)
            if not len(masks):
                break
            chosen = np.zeros((len(masks), len(outside) + 1), dtype=bool)
            chosen[:, required] = True
            chosen[:, candidates] = _bits(masks, len(candidates))
            chosen[np.arange(len(masks)), further] = True  # -1, none, is the extra column
            parents = np.nonzero(chosen[:, :-1])[1].reshape(len(masks), -1)
            parts.append((masks, further, self.local(child, parents)))
        masks, further, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        kept = np.isfinite(scores)
        if not kept[0]:  # what knowledge asks for is there, however it scores
            scores[0], kept[0] = scores[kept].min() if kept.any() else 0.0, True
        return Family(
            required, candidates, others.tolist(), masks[kept], further[kept], scores[kept]
        )


def _bits(masks: Indices, count: int) -> Bools:
    return np.asarray((masks[:, None] >> np.arange(count)) & 1, dtype=bool)


def _sets(count: int, others: Indices, wide: int) -> tuple[Indices, Indices]:
    """Masks of candidates and a further column (-1: none), all sets of one width."""
    every = np.arange(1 << count, dtype=np.intp)
    width = _bits(every, count).sum(axis=1)
    plain, short = every[width == wide], every[width == wide - 1]
    masks = np.concatenate([plain, np.repeat(short, len(others))])
    return masks, np.concatenate([np.full(len(plain), -1), np.tile(others, len(short))])


@dataclass(frozen=True)
class Tables:
    """``sums``: log of the summed weight of a column's parent sets within those candidates that
    come before it; ``tops``: the best score among these sets.

    Each column has one line of 2^m entries per further parent, and one for none, all laid end
    to end; ``place[i, u]`` is where the line of further parent u of column i begins (u = p:
    none), if it is ``usable``. ``weight[i, j]`` is the bit of j among the candidates of i.
    """

    families: list[Family]
    sums: Floats
    tops: Floats
    weight: Indices
    place: Indices
    usable: Bools
    required: Bools

    @staticmethod
    def of(families: list[Family]) -> Tables:
        size = len(families)
        weight = np.zeros((size, size), dtype=np.intp)
        place = np.zeros((size, size + 1), dtype=np.intp)
        usable = np.zeros((size, size + 1), dtype=bool)
        required = np.zeros((size, size), dtype=bool)
        sums, tops, begin = [], [], 0
        for child, family in enumerate(families):
            width = len(family.candidates)
            weight[child, family.candidates] = 1 << np.arange(width)
            lines = [*family.outside, size]
            place[child, lines] = begin + (np.arange(len(lines)) << width)
            usable[child, lines] = True
            required[child, family.required] = True
            table = np.full((size + 1, 1 << width), -np.inf)
            table[family.further, family.masks] = family.scores  # -1, none, is the last line
            sums.append(_over_subsets(table[lines], np.logaddexp).ravel())
            tops.append(_over_subsets(table[lines], np.maximum).ravel())
            begin += len(lines) << width
        return Tables(
            families, np.concatenate(sums), np.concatenate(tops), weight, place, usable, required
        )

    def weights(self, children: Indices, before: Bools) -> Floats:
        """For each child and the columns before it: log of the summed weight of its sets."""
        found = self._lines(self.sums, children, before)
        top: Floats = found.max(axis=1, keepdims=True)
        top[top == -np.inf] = 0.0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(found - top).sum(axis=1)) + top[:, 0])

    def best(self, children: Indices, before: Bools) -> Floats:
        """For each child and the columns before it: the score of its best set."""
        return np.asarray(self._lines(self.tops, children, before).max(axis=1))

    def _lines(self, table: Floats, children: Indices, before: Bools) -> Floats:
        mask = np.einsum("ij,ij->i", self.weight[children], before)
        found: Floats = table[self.place[children] + mask[:, None]]
        may = self.usable[children]
        may[:, :-1] &= before
        found[~may] = -np.inf
        found[np.any(self.required[children] & ~before, axis=1)] = -np.inf
        return found


def _over_subsets(table: Floats, join: np.ufunc) -> Floats:
    """Each entry joined with those of all subsets of its bits."""
    step = 1
    while step < table.shape[1]:
        halves = table.reshape(len(table), -1, 2, step)
        halves[:, :, 1] = join(halves[:, :, 0], halves[:, :, 1])
        step *= 2
    return table
