"""The central trust model: one vault with all rows, asked on behalf of one run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.ledger import Run
from privet.mechanisms import Exact, Gaussian, Laplace
from privet.queries import Query, Release
from privet.schema import Schema
from privet.vault import Vault


@dataclass(frozen=True, kw_only=True)
class Curator:
    """Asks the vault, paying with shares of one run's budget."""

    vault: Vault
    run: Run | None

    @staticmethod
    def open(data: Any, schema: Schema, run: Run | None) -> Curator:
        return Curator(vault=Vault(data, schema, run), run=run)

    @property
    def schema(self) -> Schema:
        return self.vault.schema

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon, so that noise must be Laplace's."""
        return self.run is not None and self.run.currency == "pure"

    def release(self, query: Query, share: Fraction) -> Release:
        """The answer, for this share of the run's whole budget (exact if nothing is private)."""
        if self.run is None:
            return self.exact(query)
        if self.pure:
            return self.vault.release(query, Laplace(epsilon=self.run.budget * share))
        return self.vault.release(query, Gaussian(rho=self.run.budget * share))

    def exact(self, query: Query) -> Release:
        """The answer itself; the vault refuses this when the run is private."""
        return self.vault.release(query, Exact())
