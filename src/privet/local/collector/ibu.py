"""Denoised tables: what people answered, most likely, given what they reported.

The iterative Bayesian update [Agrawal, Aggarwal 2001; ElSalamouny, Palamidessi 2020] starts from
even shares and gives each report back to the answers that may be behind it, each by its share and
by how likely it makes the report; the shares that come out are the next ones. That is the EM
algorithm, so the likelihood never falls, and its limit is the most likely table among all without
negative shares. How far the likelihood still is from its largest value is known at every step,
since it is concave in the shares.

The table is for looking at. Its errors are those of the channel, many times those of as many
answers: **a chi-square test that takes it for counts is invalid**, and finds dependence where there
is none in up to all of the cases. The tests for reports are in ``local/collector/independence.py``
and ``local/collector/minimum_chi2.py``.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import EvidenceError, MethodError
from privet.local.collector.counts import Set, Tally, along
from privet.local.device.blocks import Block, cell, codes_of, permutations
from privet.local.device.protocol import Protocol
from privet.schema.column import did_you_mean

MOST_CELLS = 1 << 20
MOST_STEPS = 10_000
CLOSE = 0.01  # of the log likelihood, far below what one could tell apart


class View(typing.Protocol):
    """Reports of one kind about some columns: how often each was sent, and the channel, which is
    linear: from shares of answers (flat) to probabilities of reports, and its transpose."""

    @property
    def counts(self) -> Floats: ...

    @property
    def people(self) -> Floats:
        """How many people sent one of the reports that this one was chosen from."""

    def shown(self, shares: Floats) -> Floats: ...

    def back(self, weights: Floats) -> Floats: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed:
    """Reports that name the place of the answer with probability ``left``, and else any place.

    ``places`` (keys, cells) is the place of each answer: one key for the cells of a block, many
    for parities, of which everybody has one. ``counts`` (keys, places).
    """

    places: Integers
    counts: Floats
    left: float

    @property
    def people(self) -> Floats:
        return np.broadcast_to(self.counts.sum(axis=1, keepdims=True), self.counts.shape)

    def shown(self, shares: Floats) -> Floats:
        keys, outputs = self.counts.shape
        flat = self.places + outputs * np.arange(keys)[:, None]
        weights = np.broadcast_to(shares, self.places.shape)
        named = np.bincount(flat.ravel(), weights.ravel(), minlength=keys * outputs)
        return np.asarray(self.left * named.reshape(keys, outputs) + self._anywhere * shares.sum())

    def back(self, weights: Floats) -> Floats:
        named = np.take_along_axis(weights, self.places, axis=1).sum(axis=0)
        return np.asarray(self.left * named + self._anywhere * weights.sum())

    @property
    def _anywhere(self) -> float:
        return (1 - self.left) / int(self.counts.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Through:
    """Reports of everybody, each axis of the table through a channel of its own."""

    matrices: tuple[Floats, ...]
    counts: Floats

    @property
    def people(self) -> Floats:
        return np.full_like(self.counts, self.counts.sum())

    def shown(self, shares: Floats) -> Floats:
        return along(shares.reshape([len(matrix) for matrix in self.matrices]), self.matrices)

    def back(self, weights: Floats) -> Floats:
        return along(weights, [matrix.T for matrix in self.matrices]).ravel()


@dataclass(frozen=True, kw_only=True, eq=False)
class Denoised:
    """``table`` has one axis per column, and shares that sum to 1.

    ``people`` whose reports tell something about these columns; ``iterations`` done;
    ``change``: the last one's sum of absolute changes of the shares; ``log_likelihood``, which is
    below the largest possible by at most ``short``.
    """

    columns: tuple[str, ...]
    table: Floats
    people: int
    iterations: int
    change: float
    log_likelihood: float
    short: float

    @property
    def converged(self) -> bool:
        return self.short <= CLOSE


def denoised(
    protocol: Protocol,
    tallies: Iterable[Tally],
    columns: Sequence[str],
    *,
    most_steps: int = MOST_STEPS,
) -> Denoised:
    """The most likely table of some columns, from the tallies of all reports by a protocol.

    It stops when the log likelihood is within 0.01 of its largest value, or after ``most_steps``,
    which ``converged`` tells.
    """
    members = positions(protocol, columns)
    found = views(protocol, tallies, members)
    shape = [protocol.sizes[i] for i in space(protocol, members)]
    iterations, step = _settled(found, prod(shape), most_steps)
    table = step.shares.reshape(shape)
    if protocol.family == "grid":
        table = table.sum(axis=tuple(i for i in range(len(shape)) if i not in members))
    order = [sorted(members).index(i) for i in members]
    return Denoised(
        columns=tuple(columns),
        table=table.transpose(order),
        people=round(sum(float(view.counts.sum()) for view in found)),
        iterations=iterations,
        change=step.change,
        log_likelihood=step.likelihood,
        short=step.short,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Shares, how far they moved, their log likelihood, and at most how much it is short of."""

    shares: Floats
    change: float
    likelihood: float
    short: float


def _settled(found: Sequence[View], cells: int, most_steps: int) -> tuple[int, Step]:
    for iterations, step in enumerate(steps(found, cells)):
        if step.short <= CLOSE or iterations >= most_steps:
            return iterations, step
    raise AssertionError("there is always a next step")


def steps(found: Sequence[View], cells: int) -> Iterator[Step]:
    """The shares of every step, from even ones on, without end.

    If g(x) = Σ_y (n_y / n) P(y|x) / P(y), the next shares are p(x) g(x), and no table has a log
    likelihood larger by more than n (max g - 1), as its gradient says.
    """
    people = sum(float(view.counts.sum()) for view in found)
    shares, change = np.full(cells, 1 / cells), 0.0
    while True:
        growth, likelihood = np.zeros(cells), 0.0
        for view in found:
            met = view.counts > 0
            shown = np.where(met, view.shown(shares), 1.0)
            growth += view.back(view.counts / shown) / people
            likelihood += float((view.counts * np.log(shown)).sum())
        short = max(people * (float(growth.max()) - 1), 0.0)
        yield Step(shares=shares, change=change, likelihood=likelihood, short=short)
        following = shares * growth
        following /= following.sum()
        change = float(np.abs(following - shares).sum())
        shares = following


def positions(protocol: Protocol, columns: Sequence[str]) -> Set:
    names = protocol.schema.names
    for column in columns:
        if column not in names:
            raise MethodError(
                f"no column {column!r}{did_you_mean(column, names)}; choose from {', '.join(names)}"
            )
    if not columns or len(set(columns)) < len(columns):
        raise MethodError(f"the columns are {list(columns)}; name each of them once, at least one")
    return tuple(names.index(column) for column in columns)


def space(protocol: Protocol, members: Sequence[int]) -> Set:
    """The columns whose table is worked out, in order: where one channel changes all columns
    together, a part of the report has no channel of its own, so all are needed."""
    return tuple(range(len(protocol.sizes)) if protocol.family == "grid" else sorted(members))


def views(protocol: Protocol, tallies: Iterable[Tally], members: Sequence[int]) -> tuple[View, ...]:
    """What the reports show of the table of some columns (``space`` says of which)."""
    if protocol.family == "product":
        raise MethodError(
            f"reports by the protocol {protocol.name} are about products of numbers and give no "
            f"table; use the protocol sign-block or planned-block"
        )
    wanted = space(protocol, members)
    cells = prod(protocol.sizes[i] for i in wanted)
    if cells > MOST_CELLS:
        raise MethodError(
            f"the table of these columns has {cells} cells; at most {MOST_CELLS} are possible: "
            f"choose fewer columns"
        )
    if protocol.family == "cell":
        found = _of_blocks(protocol, tallies, wanted)
    elif protocol.family == "parity":
        found = _of_parities(protocol, tallies, wanted)
    else:
        found = _of_rows(protocol, tallies, wanted)
    kept = tuple(view for view in found if view.counts.sum() > 0)
    if not kept:
        raise EvidenceError("no report tells anything about these columns; choose others")
    return kept


def _of_blocks(protocol: Protocol, tallies: Iterable[Tally], wanted: Set) -> Iterator[View]:
    """A report on a block is one on every part of it: the truth with the same probability, else
    anything. Blocks with the same part and probability are counted together."""
    sizes = protocol.sizes
    sums: dict[tuple[Set, float], Any] = {}
    for tally in tallies:
        part = tuple(i for i in tally.attributes if i in wanted)
        if part:
            left = float(protocol.channel(Block(attributes=tally.attributes)).attenuation)
            table = _counted(tally, sizes, part)
            sums[part, left] = sums.get((part, left), 0.0) + table
    every = codes_of(np.arange(prod(sizes[i] for i in wanted)), [sizes[i] for i in wanted])
    for (part, left), counts in sums.items():
        codes = every[:, [wanted.index(i) for i in part]]
        places = cell(codes, [sizes[i] for i in part])[None]
        yield Mixed(places=places, counts=counts[None], left=left)


def _of_parities(protocol: Protocol, tallies: Iterable[Tally], wanted: Set) -> Iterator[View]:
    """Only blocks within the table: to others, columns that are not there have their say."""
    sizes = [protocol.sizes[i] for i in wanted]
    every = codes_of(np.arange(prod(sizes)), sizes)
    for tally in tallies:
        if not set(tally.attributes) <= set(wanted) or not tally.people.any():
            continue
        block = Block(attributes=tally.attributes)
        levels = max(protocol.sizes_of(block))
        keys, which = np.unique(tally.key, return_inverse=True)
        orders = permutations(keys, levels, len(tally.attributes))
        codes = every[:, [wanted.index(i) for i in tally.attributes]].T
        places = sum(orders[:, at, code] for at, code in enumerate(codes)) % levels
        counts = np.bincount(which * levels + tally.cell, tally.people, len(keys) * levels)
        left = float(protocol.channel(block).attenuation)
        table = counts.reshape(-1, levels).astype(np.float64)
        yield Mixed(places=np.asarray(places), counts=table, left=left)


def _of_rows(protocol: Protocol, tallies: Iterable[Tally], wanted: Set) -> Iterator[View]:
    """Everybody reports on every column, so one tally that covers these says it all."""
    tally = next((tally for tally in tallies if set(wanted) <= set(tally.attributes)), None)
    if tally is None:
        raise EvidenceError(
            "the reports were not counted for all of these columns together; choose fewer columns, "
            "or count them again"
        )
    counts = _counted(tally, protocol.sizes, wanted)
    if protocol.family == "grid":
        yield Through(matrices=(protocol.channels[0].matrix(),), counts=counts)
    else:
        matrices = tuple(protocol.channels[i].matrix() for i in wanted)
        yield Through(matrices=matrices, counts=counts.reshape([len(m) for m in matrices]))


def _counted(tally: Tally, sizes: Sequence[int], part: Set) -> Floats:
    """How many reports name each cell of some of a tally's attributes."""
    codes = codes_of(tally.cell, [sizes[i] for i in tally.attributes])
    chosen = codes[:, [tally.attributes.index(i) for i in part]]
    own = [sizes[i] for i in part]
    return np.bincount(cell(chosen, own), tally.people, prod(own)).astype(float)
