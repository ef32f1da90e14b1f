"""A run on a secret sample of the rows, amplified once.

Each row is in the sample by itself with probability q. Nobody learns which rows are, so a run
that is epsilon'-DP for the sample is ln(1 + q (exp(epsilon') - 1))-DP for the table; the run as a
whole, not each of its answers. The ledger is charged all of the outer epsilon before anything is
read, and the answers from the sample are paid from a ledger in memory with the larger epsilon'.
Proof: ``proofs/subsample.md``.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from privet.errors import MethodError
from privet.privacy.ledger.book import MEMORY, Ledger
from privet.privacy.ledger.conversion import DIGITS, SLACK
from privet.schema.model import Adjacency, Schema
from privet.trust.central import GRID, Central

WORDS = 1 << 32  # a row is kept if a random word of 32 bits lies below ``keep``


def check(schema: Schema) -> None:
    """Refuse, from public facts, where the theorem does not apply."""
    if schema.adjacency is not Adjacency.ADD_REMOVE or schema.rows_per_person != 1:
        raise MethodError(
            f"⟦subsample⟧ draws rows one by one, which protects a person who may be in the table "
            f"or not, with one row; the schema promises by {schema.unit!r}; declare adjacency = "
            f'"{Adjacency.ADD_REMOVE.value}" and rows_per_person = 1, or leave ⟦subsample⟧ away'
        )


def sample(curator: Central, rate: float) -> Central:
    """The same table, from now on seen through a secret sample of about this share of rows."""
    run, schema = curator.run, curator.schema
    check(schema)
    if run is None or not curator.pure:
        raise MethodError(
            "⟦subsample⟧ needs a pure budget, since its theorem speaks of epsilon alone; give "
            "⟦delta=0⟧, or leave it away"
        )
    keep = int(rate * WORDS)
    if not 1 <= keep < WORDS:
        raise MethodError(
            f"⟦subsample⟧ is {rate!r}, but it must lie between 0 and 1: it is the share of rows "
            "that is looked at"
        )
    inner = Ledger(MEMORY).begin(
        schema.name,
        epsilon=amplified(run.left, Fraction(keep, WORDS)),
        delta=0,
        method=run.method,
        unit=schema.unit,
    )
    curator.vault.sample(keep, price=run.left, run=inner)
    return Central(vault=curator.vault, run=inner)


def amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """The largest epsilon', on a fine grid, with 1 + rate (exp(epsilon') - 1) <= exp(epsilon).

    As ln((exp(epsilon) - 1) / rate + 1) = epsilon + ln(1/rate - (1/rate - 1) exp(-epsilon)), with
    100 digits, of which a little is given up, as everywhere in ``accounting``.
    """
    with localcontext() as context:
        context.prec = DIGITS
        outer = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        inverse = Decimal(rate.denominator) / Decimal(rate.numerator)
        inner = outer + (inverse - (inverse - 1) * (-outer).exp()).ln()
    exact = Fraction(inner) * SLACK
    return Fraction(int(exact * GRID), GRID)
