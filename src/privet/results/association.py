"""Whether more of one column goes with more of another: the direction of an association that was
released, with the noise and the chance in it.

Numbers have a correlation, two columns of two levels a risk difference, and other columns whose
levels have an order the correlation of their places. The law is that of first order: a figure f of
the counts n has variance f' (C + n (diag p - p p')) f', C being that of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privet.arrays import Floats
from privet.evidence.counts import Counts
from privet.evidence.cuts import as_cut
from privet.evidence.tables import TableEvidence
from privet.methods.sources.source import by_site
from privet.results.saved import Saved
from privet.schema.column import Column

WIDE = 1.96  # deviations of a 95% interval
SURELY = 3.0  # deviations of noise by which a count must exceed nothing, to be divided by
YES = frozenset({"yes", "true", "1", "y", "t"})
Measure = Literal["correlation", "correlation of levels", "risk difference"]


@dataclass(frozen=True, kw_only=True)
class Association:
    """Of ``a`` with ``b``, such as "more age" and "death = yes": ``value`` and its interval of 95%;
    ``sign`` is None where that holds 0."""

    a: str
    b: str
    measure: Measure
    value: float
    low: float
    high: float
    text: str

    @property
    def sign(self) -> Literal["+", "-"] | None:
        if self.low > 0:
            return "+"
        return "-" if self.high < 0 else None

    def to_dict(self) -> dict[str, object]:
        return {
            "a": self.a,
            "b": self.b,
            "measure": self.measure,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "sign": self.sign,
        }


def of_numbers(a: Column, b: Column, value: float, low: float, high: float) -> Association:
    """From a correlation."""
    return _association(a, b, "correlation", (value, low, high))


def of_levels(saved: Saved, pairs: Sequence[tuple[str, str]]) -> list[Association | None]:
    """Of each pair; None where the levels of one have no order."""
    schema, releases = as_cut(saved.schema, saved.releases)
    sites = [TableEvidence.from_releases(schema, schema.names, each) for each in by_site(releases)]
    at = {name: i for i, name in enumerate(schema.names)}
    out: list[Association | None] = []
    for pair in pairs:
        a, b = map(schema.column, pair)
        if not (_directed(a) and _directed(b)):
            out.append(None)
            continue
        counts = Counts.of(sites, np.array([[at[a.name], at[b.name]]], dtype=np.intp))
        binary = _values(a) == _values(b) == 2
        found = (_risks if binary else _places)(counts, _values(a), _values(b))
        out.append(
            _association(a, b, "risk difference" if binary else "correlation of levels", found)
        )
    return out


def _values(column: Column) -> int:
    """Without the level of missing cells."""
    return len(column.labels) - (column.missing == "level")


def _directed(column: Column) -> bool:
    return _values(column) > 1 and (column.ordered or _values(column) == 2)


def _risks(counts: Counts, _rows: int, _columns: int) -> tuple[float, float, float]:
    """How much more frequent the second level of one column is beside the second of the other."""
    table = counts.tables[0][:2, :2]
    slopes, shares, chance = np.zeros(counts.tables.shape), [], 0.0
    for row, sign in ((0, -1), (1, 1)):
        whole, total = np.zeros(counts.tables.shape), float(table[row].sum())
        whole[0, row, :2] = 1
        if total <= max(SURELY * float(counts.deviations(whole)[0]), 1.0):
            return 0.0, -1.0, 1.0
        share = float(np.clip(table[row, 1] / total, 0, 1))
        slopes[0, row, :2] = sign * np.array([-share, 1 - share]) / total
        shares.append(share)
        chance += share * (1 - share) / total
    return _interval(shares[1] - shares[0], counts, slopes, chance)


def _places(counts: Counts, rows: int, columns: int) -> tuple[float, float, float]:
    table = np.maximum(counts.tables[0][:rows, :columns], 0.0)
    total = max(float(table.sum()), 1.0)
    shares = table / total
    x, y = _standard(shares.sum(axis=1)), _standard(shares.sum(axis=0))
    if x is None or y is None:
        return 0.0, -1.0, 1.0
    value = float(x @ shares @ y)
    slopes = np.zeros(counts.tables.shape)
    slopes[0, :rows, :columns] = np.outer(x, y) - value * (x[:, None] ** 2 + y**2) / 2
    chance = float((shares * slopes[0, :rows, :columns] ** 2).sum()) / total
    return _interval(value, counts, slopes / total, chance)


def _standard(shares: Floats) -> Floats | None:
    """Places of levels with mean 0 and variance 1; None if all are on one."""
    total = shares.sum()
    places = np.arange(len(shares)) - float(shares @ np.arange(len(shares))) / max(total, 1e-12)
    variance = float(shares @ places**2) / max(total, 1e-12)
    return None if variance < 1e-9 else places / np.sqrt(variance)


def _interval(
    value: float, counts: Counts, slopes: Floats, chance: float
) -> tuple[float, float, float]:
    wide = WIDE * float(np.sqrt(counts.deviations(slopes)[0] ** 2 + chance))
    return value, max(value - wide, -1.0), min(value + wide, 1.0)


def _association(
    a: Column, b: Column, measure: Measure, found: tuple[float, float, float]
) -> Association:
    turned = _turned(a) != _turned(b)
    value, low, high = (round(-each if turned else each, 6) for each in found)
    low, high = min(low, high), max(low, high)
    figures = f"{measure} {value:.3f}, between {low:.3f} and {high:.3f}"
    if low <= 0 <= high:
        text = f"Whether {_more(a)} goes with {_more(b)} is not known ({figures})."
    else:
        text = f"{_upper(_more(a))} goes with {_more(b, value > 0)} ({figures})."
    return Association(
        a=_more(a), b=_more(b), measure=measure, value=value, low=low, high=high, text=text
    )


def _turned(column: Column) -> bool:
    """Whether the first of two levels is the one that people speak of."""
    return _two(column) and column.labels[0].lower() in YES


def _two(column: Column) -> bool:
    return column.kind != "numeric" and _values(column) == 2


def _more(column: Column, more: bool = True) -> str:
    if _two(column):
        return f"{column.name} = {column.labels[int(more != _turned(column))]}"
    return f"{'more' if more else 'less'} {column.name}"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith(("more ", "less ")) else text
