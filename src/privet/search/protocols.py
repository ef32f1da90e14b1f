"""What searches ask: one-method protocols that know neither data nor privacy.

Questions come in batches, as rows of one width, since most answers cost the same for one
question as for hundreds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from privet.arrays import Bools, Floats, Indices

# For rows (x, y, *S): by how much the score grows if x becomes a further parent of y beside S;
# the same if y becomes one of x. Infinite: the evidence cannot say. The margins of a judge are
# such gains, and gains need not be differences of one score.
Gains = Callable[[Indices], Floats]
# The same by the row: for each y, each set S (a row) and flags of the x that are asked for, the
# gains of all x; what was not asked for may be anything.
GainRows = Callable[[Indices, Indices, Bools], Floats]
# That between compiled files: numbers of 64 bits, and a byte for each flag.
SpelledRows = Callable[[bytes, bytes, bytes], Any]
# For a child and rows of parent sets: their scores, higher is better; -inf: not to be had.
Locals = Callable[[int, Indices], Floats]


@dataclass(frozen=True)
class Formula:
    """Gains in closed form. With s and ρ the variances and the correlation of x and y given k other
    columns, in ``matrix``, they are constant[k] - weight[k] log(1 - ρ²) - tilt[k] (log s_x +
    log s_y); ``terms`` has a row of each.

    Where ``metric`` is that of noise in the matrix (``independence/fisher_z.py``), nothing is
    inserted that a test does not find dependent; ``doubt`` are its rows, the variance of the noise
    and the log Bayes factor that it asks for."""

    matrix: Floats
    terms: Floats
    metric: Floats = field(default_factory=lambda: np.empty((0, 0)))
    doubt: tuple[float, ...] = ()


@dataclass(frozen=True)
class ClosedForm:
    """Margins in closed form: those of Fisher's z (``independence/fisher_z.py``) in a ``matrix`` of
    correlations with noise of this ``metric`` (empty: none). ``doubt`` are the rows, the variance
    of the noise and the log Bayes factor that an edge needs."""

    matrix: Floats
    metric: Floats
    doubt: tuple[float, float, float]


class Judge(Protocol):
    """Answers from evidence: the strength of each pair (or at least of some ``pairs``), and a
    margin for each question (x, y, *Z): how much speaks for dependence; negative: independent."""

    def strengths(self, pairs: Bools | None = None, /) -> Floats: ...

    def margins(self, questions: Indices) -> Floats: ...
