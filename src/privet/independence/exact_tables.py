"""Judgements on exact tables with any number of given columns.

With up to two, measured interactions answer, as they do where there is noise. With more, the same
pooled test is made on tables that are counted when it first asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.errors import MethodError
from privet.evidence.exact_tables import ExactTables
from privet.evidence.table_replicas import PairNoise
from privet.evidence.tables import TableEvidence
from privet.independence import chi2
from privet.independence.counted import factors
from privet.independence.tables import TableJudge

MEASURED = 2  # given columns that interactions serve
# A test whose tables have more cells is not tried, as if nothing had been measured: two given
# columns of the most levels that tables serve need as many.
WIDEST_TABLE = 32**3
MOST_CELLS = 1 << 24  # of all tables that one search counts, since they are kept and saved
FEWEST_ROWS = 10  # for each cell of the whole table: tests on fewer have little power


@dataclass(frozen=True)
class ExactTableJudge:
    """Answers questions (x, y, *Z). ``few`` answers those with few given columns; it may be about
    a stack of replicas of ``evidence``, and then ``noise`` is what the others have.

    A question about strata with few rows has no answer, that is: infinite; and so has one that
    asks for a table which nobody can count, unless ``all_known`` says that it should be there.
    """

    evidence: TableEvidence
    counted: ExactTables
    few: TableJudge
    noise: PairNoise | None = None
    all_known: bool = True

    def strengths(self, pairs: Bools | None = None) -> Floats:
        return self.few.strengths(pairs)

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent."""
        if questions.shape[1] - 2 <= MEASURED:
            return self.few.margins(questions)
        out = np.full((*self.few.evidence.replicas, len(questions)), np.inf)
        asked = np.flatnonzero(self._answerable(questions))
        self._check_room(questions[asked])
        found = factors(self.evidence, questions[asked], self.counted.tables, self.noise)
        out[..., asked] = found - log(1 / self.few.alpha)
        return out

    def tested(self, questions: Indices) -> chi2.Tested:
        """Pooled tests of questions with more given columns than interactions serve."""
        return chi2.pooled_counted(self.evidence, questions, self.counted.tables)

    def _answerable(self, questions: Indices) -> Bools:
        levels = np.array(self.evidence.cardinalities, dtype=float)[questions]
        cells = levels[:, :2].max(axis=1) * levels[:, 2:].prod(axis=1)
        full = FEWEST_ROWS * levels.prod(axis=1) <= self.evidence.rows
        fits: Bools = full & (cells <= WIDEST_TABLE)
        if not self.all_known:
            for end in (0, 1):
                fits[fits] = self.counted.at_hand(np.delete(questions[fits], 1 - end, axis=1))
        return fits

    def _check_room(self, questions: Indices) -> None:
        """Counts the tables of these questions a bit at a time, and refuses too many."""
        step = MOST_CELLS // WIDEST_TABLE
        sets = np.concatenate([np.delete(questions, 1 - end, axis=1) for end in (0, 1)])
        for start in range(0, len(sets), step):
            self.counted.tables(sets[start : start + step])
            if (cells := self.counted.cells()) > MOST_CELLS:
                given = questions.shape[1] - 2
                raise MethodError(
                    f"tests with {given} columns given ask for tables of {cells:,} cells so far; "
                    f"at most {MOST_CELLS:,} are counted in one search; use "
                    f"⟦max_order={given - 1}⟧, or merge levels"
                )
