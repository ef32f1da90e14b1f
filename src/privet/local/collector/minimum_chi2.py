"""Independence of two columns, tested where the reports are: by minimum chi-square.

After Gaboardi and Rogers (2018): among all tables of two independent columns, the one whose
reports would be nearest to those that came, in Pearson's distance with the variances of a first
estimate. What is left of the distance follows a chi-square law if the columns are independent.
Where reports of several kinds tell of the same columns, they could also disagree with each other;
that part is what the best table of all leaves, and is taken off.

It agrees with the test of ``local/collector/independence.py`` to the third digit, which has a
closed form and serves other columns given: this one is there to check that one, for one pair at a
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Floats
from privet.errors import EvidenceError
from privet.local.collector.ibu import View

FEWEST = 5.0  # reports of a kind to be expected, for Pearson's distance to have its law
SMALLEST = 1e-4  # share that a level is given at least, compared with an even one


@dataclass(frozen=True, kw_only=True)
class MinimumChi2:
    statistic: float
    freedom: int
    p_value: float


def minimum_chi2(found: Sequence[View], shape: tuple[int, int]) -> MinimumChi2:
    """The test for a pair of columns, of the views that ``evidence.ibu.views`` gives of it."""
    from scipy.optimize import least_squares
    from scipy.special import chdtrc

    rows, people, counts = _stacked(found, shape)
    x, y = _first(rows, people, counts, shape)
    expected = people * (rows @ np.outer(x, y).ravel())
    if expected.min() < FEWEST:
        raise EvidenceError(
            f"some reports are expected from {expected.min():.2g} people, and the chi-square law "
            f"needs {FEWEST:g}; use the tests of discover, which need no such counts"
        )
    scale = 1 / np.sqrt(expected)
    model, aim = rows * (people * scale)[:, None], counts * scale
    best = _freely(model, aim, _moves(shape))
    start = np.concatenate([x[:-1], y[:-1]])
    fit = least_squares(
        lambda at: aim - model @ np.outer(*_shares(at, shape)).ravel(),
        start,
        jac=lambda at: -model @ _slopes(*_shares(at, shape)),
        method="trf",
        xtol=1e-10,
    )
    slopes = model @ _slopes(*_shares(fit.x, shape))
    if np.linalg.matrix_rank(slopes) < len(start):
        raise EvidenceError("the reports do not tell how each of the two columns is distributed")
    freedom = int(np.linalg.matrix_rank(model @ _moves(shape))) - len(start)
    if freedom < 1:
        raise EvidenceError("no report tells of the two columns together")
    statistic = max(2 * float(fit.cost) - best, 0.0)
    return MinimumChi2(
        statistic=statistic, freedom=freedom, p_value=float(chdtrc(freedom, statistic))
    )


def _stacked(found: Sequence[View], shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """The channel (reports, cells), how many people each report was chosen by, and its count."""
    cells = np.eye(shape[0] * shape[1])
    rows = [np.stack([view.shown(c).ravel() for c in cells], axis=1) for view in found]
    people = [view.people.ravel() for view in found]
    counts = [view.counts.ravel() for view in found]
    return np.concatenate(rows), np.concatenate(people), np.concatenate(counts)


def _moves(shape: tuple[int, int]) -> Floats:
    """A basis of the changes of a table that leave its sum as it is."""
    cells = shape[0] * shape[1]
    return np.vstack([np.eye(cells - 1), -np.ones(cells - 1)])


def _freely(model: Floats, aim: Floats, moves: Floats) -> float:
    """The least squared distance of any table with sum 1."""
    rest = aim - model.mean(axis=1)  # what even shares leave
    steps = model @ moves
    left = rest - steps @ np.linalg.lstsq(steps, rest, rcond=None)[0]
    return float(left @ left)


def _first(
    rows: Floats, people: Floats, counts: Floats, shape: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Margins of the table that fits best if all reports weigh by how many there are of them."""
    weight = np.sqrt(people)
    table = np.linalg.lstsq(rows * weight[:, None], counts / people * weight, rcond=None)[0]
    x, y = (table.reshape(shape).sum(axis=axis) for axis in (1, 0))
    low_x, low_y = (np.maximum(m, SMALLEST / len(m)) for m in (x, y))
    return low_x / low_x.sum(), low_y / low_y.sum()


def _shares(at: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    x, y = at[: shape[0] - 1], at[shape[0] - 1 :]
    return np.append(x, 1 - x.sum()), np.append(y, 1 - y.sum())


def _slopes(x: Floats, y: Floats) -> Floats:
    """How the table moves (cells, parameters) with all but the last share of each column."""
    rise_x, rise_y = (np.vstack([np.eye(len(m) - 1), -np.ones(len(m) - 1)]) for m in (x, y))
    by_x = rise_x[:, None, :] * y[None, :, None]
    by_y = x[:, None, None] * rise_y[None, :, :]
    return np.concatenate([by_x, by_y], axis=2).reshape(len(x) * len(y), -1)
