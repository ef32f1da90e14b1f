"""The exact law of a whole report, written down from the protocols' descriptions.

Nothing of the sampling code is used: permutations come from itertools, cells from counting.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import chi2

from privet.local import Protocol
from privet.schema.column import Column
from privet.schema.model import Schema

FALSE_ALARM = 1e-6

Row = tuple[int, ...]
Law = dict[Hashable, Fraction]  # of a report, as a tuple of its numbers


def categorical(*sizes: int) -> Schema:
    columns = (
        Column(name=f"a{i}", kind="ordinal", levels=tuple(f"v{v}" for v in range(size)))
        for i, size in enumerate(sizes)
    )
    return Schema(name="small", columns=tuple(columns))


def numeric(count: int) -> Schema:
    columns = (Column(name=f"x{i}", kind="numeric", bounds=(-3.0, 3.0)) for i in range(count))
    return Schema(name="numbers", columns=tuple(columns))


def law(protocol: Protocol, row: Row) -> Law:
    if protocol.family == "attributes":
        each = [
            [c.probability(x, y) for y in range(c.outputs)]
            for c, x in zip(protocol.channels, row, strict=True)
        ]
        return {
            report: math.prod((p[y] for p, y in zip(each, report, strict=True)), start=Fraction(1))
            for report in itertools.product(*(range(len(p)) for p in each))
        }
    if protocol.family == "grid":
        rows = list(itertools.product(*map(range, protocol.sizes)))
        place = rows.index(row)
        return {report: protocol.channels[0].probability(place, y) for y, report in enumerate(rows)}
    return _asked(protocol, row)


def _asked(protocol: Protocol, row: Row) -> Law:
    odds, total = protocol.odds[0], sum(block.weight for block in protocol.blocks)
    found: Law = defaultdict(Fraction)
    for block in protocol.blocks:
        own = tuple(row[i] for i in block.attributes)
        sizes = [protocol.sizes[i] for i in block.attributes]
        share = Fraction(block.weight, total)
        mask = sum(2**i for i in block.attributes)
        if protocol.family == "cell":
            cells = list(itertools.product(*map(range, sizes)))
            for y, other in enumerate(cells):
                found[mask, y] += share * (odds if other == own else 1) / (odds + len(cells) - 1)
        elif protocol.family == "parity":
            _parity(found, mask, share, own, max(sizes), odds)
        else:
            value = math.prod((Fraction(x - 64, 64) ** block.power for x in own), start=Fraction(1))
            place, width = math.floor(64 * value + Fraction(1, 2)) + 64, protocol.width
            weight = [odds if place <= y < place + width else 1 for y in range(129 + width - 1)]
            whole = width * odds + 129 - 1
            for y, w in enumerate(weight):
                found[mask, block.power, y] += share * w / whole
    return dict(found)


def _parity(found: Law, mask: int, share: Fraction, own: Row, levels: int, odds: Fraction) -> None:
    orders = [(0, *rest) for rest in itertools.permutations(range(1, levels))]
    keys = list(itertools.product(orders, repeat=len(own)))
    for key, chosen in enumerate(keys):
        # the first attribute's permutation is the lowest digit of the key
        total = sum(order[x] for order, x in zip(reversed(chosen), own, strict=True)) % levels
        for y in range(levels):
            weight = odds if y == total else 1
            found[mask, key, y] += share / len(keys) * weight / (odds + levels - 1)


def rows_of(protocol: Protocol) -> list[Row]:
    """Every row; for the large grid of the piecewise mechanism some, the extreme ones too."""
    if protocol.family == "product":
        return list(itertools.product((0, 1, 37, 64, 127, 128), repeat=len(protocol.sizes)))
    return list(itertools.product(*map(range, protocol.sizes)))


def largest_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest ratio of the probabilities that two rows give to one report."""
    many = list(laws)
    reports = set().union(*many)
    return max(max(law[r] for law in many) / min(law[r] for law in many) for r in reports)


def log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def fits(sample: Iterable[Hashable], law: Mapping[Any, float | Fraction]) -> bool:
    """Pearson's test of a sample against a law, with a false-alarm rate of one in a million;
    outcomes expected less than 10 times are pooled. What the law does not know is a misfit."""
    counts = Counter(sample)
    n = counts.total()
    if not set(counts) <= set(law):
        return False
    expected = {outcome: n * float(p) for outcome, p in law.items()}
    common = [outcome for outcome, e in expected.items() if e >= 10]
    e = np.array([expected[outcome] for outcome in common])
    o = np.array([counts[outcome] for outcome in common])
    if (rest := n - e.sum()) >= 10:
        e, o = np.append(e, rest), np.append(o, n - o.sum())
    else:  # too rare for a class of its own: it joins the rarest common one
        rarest = e.argmin()
        e[rarest] += rest
        o[rarest] += n - o.sum()
    return len(e) == 1 or bool(chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1) > FALSE_ALARM)
