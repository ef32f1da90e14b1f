"""The true levels of a protocol: three ways to say what a report gives away.

epsilon_ldp: the largest log ratio of two rows' probabilities of one report. epsilon_d: the same
per unit of a distance between the rows. success: the probability that an attacker who sees the
report guesses right, which depends on what he thinks beforehand; it is no substitute for the
other two (proofs/local.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import MethodError
from privet.local.device.blocks import Block, codes_of, make
from privet.local.device.channel import Channel, Matrix, RandomizedResponse
from privet.local.device.geometric import neighbours
from privet.local.device.protocol import Protocol
from privet.privacy.ledger.conversion import float_up

MOST_CELLS = 1 << 20  # of a block that is gone through for a given prior
MOST_KEYS = 20_000
ROUNDING = 1e-12  # more than the error of a logarithm
HAMMING, STEPS = "number of columns that differ", "steps between the codes, summed"


@dataclass(frozen=True, kw_only=True)
class Levels:
    """``success`` is for the whole row, ``by_chance`` without a report; ``successes`` for each
    column by itself."""

    epsilon_ldp: float
    epsilon_d: float
    metric: str
    success: float
    by_chance: float
    successes: Mapping[str, float]


def levels(protocol: Protocol, prior: Mapping[str, Sequence[float]] | None = None) -> Levels:
    priors = _priors(protocol, prior)
    if protocol.family == "attributes":
        each = [success(c, p) for c, p in zip(protocol.channels, priors, strict=True)]
        whole = math.prod(each)
    elif protocol.family == "grid":
        whole, each = _through(protocol.channels[0], np.arange(math.prod(protocol.sizes)), priors)
    else:
        whole, each = _by_blocks(protocol, priors, uniform=prior is None)
    epsilon_d, metric = _per_distance(protocol)
    return Levels(
        epsilon_ldp=float_up(protocol.loss),
        epsilon_d=epsilon_d,
        metric=metric,
        success=whole,
        by_chance=math.prod(float(p.max()) for p in priors),
        successes=dict(zip(protocol.schema.names, each, strict=True)),
    )


def success(channel: Channel, prior: Floats) -> float:
    """Sum over reports of the largest prior times probability: that of guessing the input."""
    if isinstance(channel, RandomizedResponse) and channel.width == 1:
        return _krr(channel, prior)
    return float((prior[:, None] * channel.matrix()).max(axis=0).sum())


def epsilon_d(channel: Matrix, sizes: Sequence[int], norm: float) -> float:
    """The largest loss per unit of distance, between any two cells of a grid; with norm 1, a loss
    over several steps is at most the sum of the losses of each. Rounded up by ROUNDING."""
    logs = np.log(channel.matrix())
    if norm == 1:
        return ROUNDING + max(float(np.abs(logs[x] - logs[z]).max()) for x, z in neighbours(sizes))
    grid = np.indices(tuple(sizes)).reshape(len(sizes), -1).T
    largest = 0.0
    for x, place in enumerate(grid):
        if (2 * place >= np.array(sizes)).any():
            continue  # the mirror image of one that is looked at
        apart = np.linalg.norm(grid - place, ord=norm, axis=1)
        apart[x] = np.inf
        largest = max(largest, float((np.abs(logs - logs[x]).max(axis=1) / apart).max()))
    return ROUNDING + largest


def _per_distance(protocol: Protocol) -> tuple[float, str]:
    if protocol.family == "grid":
        channel, norm = protocol.channels[0], protocol.norm
        assert isinstance(channel, Matrix)
        metric = STEPS if norm == 1 else f"distance of the codes in the norm {norm:g}"
        return epsilon_d(channel, protocol.sizes, norm), metric
    if protocol.name == "geometric":
        pairs = zip(protocol.channels, protocol.sizes, strict=True)
        return max(epsilon_d(c, (k,), 1) for c, k in pairs if isinstance(c, Matrix)), STEPS
    if protocol.family == "attributes":
        return max(channel.epsilon for channel in protocol.channels), HAMMING
    return float_up(protocol.loss), HAMMING  # one column can change all that is reported


def _priors(protocol: Protocol, given: Mapping[str, Sequence[float]] | None) -> list[Floats]:
    if given is None:
        return [np.full(size, 1 / size) for size in protocol.sizes]
    found = []
    for name, size in zip(protocol.schema.names, protocol.sizes, strict=True):
        each = np.asarray(given.get(name, ()), dtype=float)
        if each.shape != (size,) or not (each.min() >= 0 and abs(each.sum() - 1) < 1e-9):
            raise MethodError(
                f"the prior of column {name!r} must be {size} probabilities that sum to 1"
            )
        found.append(each)
    return found


def _by_blocks(
    protocol: Protocol, priors: list[Floats], uniform: bool
) -> tuple[float, list[float]]:
    """The average over blocks; what a block does not ask for can only be guessed."""
    blind = [float(p.max()) for p in priors]
    whole, each = 0.0, np.zeros(len(priors))
    known: dict[tuple[object, ...], tuple[float, list[float]]] = {}
    total = sum(block.weight for block in protocol.blocks)
    for block in protocol.blocks:
        own = [priors[i] for i in block.attributes]
        sizes = protocol.sizes_of(block)
        key = (sizes, block.power) if uniform else (block.attributes, block.power)
        if key not in known:
            known[key] = _in_block(protocol, block, own, uniform)
        found, single = known[key]
        rest = math.prod(b for i, b in enumerate(blind) if i not in block.attributes)
        share = block.weight / total
        whole += share * found * rest
        guesses = np.array(blind)
        guesses[list(block.attributes)] = single
        each += share * guesses
    return whole, each.tolist()


def _in_block(
    protocol: Protocol, block: Block, priors: list[Floats], uniform: bool
) -> tuple[float, list[float]]:
    channel, sizes = protocol.channel(block), protocol.sizes_of(block)
    if protocol.kind == "cell" and uniform:
        left, odds = float(channel.attenuation), float(channel.odds)
        return odds / (odds + channel.cells - 1), [left + (1 - left) / k for k in sizes]
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise MethodError(f"{cells} cells are too many for a given prior; ask without one")
    if protocol.kind == "cell":
        return _krr_block(channel, priors)
    codes = codes_of(np.arange(cells), sizes)
    count = 1 if uniform else protocol.keys(block)  # alike before, all permutations are alike
    if count > MOST_KEYS:
        raise MethodError(f"{count} permutations are too many for a given prior; ask without one")
    found = [
        _through(
            channel, make(protocol.kind, sizes, codes, np.full(cells, key), block.power), priors
        )
        for key in range(count)
    ]
    return float(np.mean([f[0] for f in found])), np.mean([f[1] for f in found], axis=0).tolist()


def _through(channel: Channel, inputs: Integers, priors: list[Floats]) -> tuple[float, list[float]]:
    """The success on the whole row and on each column, if every cell has an input of a channel."""
    sizes = tuple(len(p) for p in priors)
    joint, matrix = _joint(priors), channel.matrix()
    best = np.zeros(channel.inputs)
    np.maximum.at(best, inputs, joint)
    whole = (best[:, None] * matrix).max(axis=0).sum()
    each = []
    for axis in range(len(sizes)):
        mass = np.zeros((sizes[axis], channel.inputs))
        np.add.at(mass, (codes_of(np.arange(len(joint)), sizes)[:, axis], inputs), joint)
        each.append(float((mass @ matrix).max(axis=0).sum()))
    return float(whole), each


def _krr(channel: RandomizedResponse, prior: Floats) -> float:
    """Either the report is the best guess, or the likeliest of all others."""
    odds = float(channel.odds)
    highest = np.argmax(prior)
    guess = np.maximum(odds * prior, prior[highest])
    guess[highest] = odds * prior[highest]
    return float(guess.sum() / (odds + channel.cells - 1))


def _krr_block(channel: RandomizedResponse, priors: list[Floats]) -> tuple[float, list[float]]:
    joint = _joint(priors)
    left = float(channel.attenuation)
    table = joint.reshape([len(p) for p in priors])
    each = []
    for axis, prior in enumerate(priors):
        floor = (1 - left) / channel.cells
        reported = left * np.moveaxis(table, axis, -1) + floor * prior
        others = np.array([np.delete(prior, v).max() for v in range(len(prior))])
        each.append(float(np.maximum(reported, floor * others).sum()))
    return _krr(channel, joint), each


def _joint(priors: list[Floats]) -> Floats:
    joint = np.ones(1)
    for prior in priors:
        joint = np.outer(joint, prior).ravel()
    return joint
