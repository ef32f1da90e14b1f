"""Ledgers for tests that need Gaussian noise."""

from __future__ import annotations

import privet


def capped(dataset: str, *, epsilon: float, delta: float = 1e-6) -> privet.Ledger:
    """A ledger in memory whose cap has this delta: a run on it is charged with a delta even where
    Laplace noise would be quieter."""
    book = privet.Ledger(":memory:")
    book.create(dataset, epsilon=epsilon, delta=delta)
    return book
