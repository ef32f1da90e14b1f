"""What is assumed before looking: how large effects are, and how often two columns are joined."""

from __future__ import annotations

# Effect sizes that a Bayes factor for dependence averages over: φ of tables, and correlations.
EFFECTS = (0.03, 0.1, 0.3)


def default_level(columns: int) -> float:
    """The odds that two of so many columns are joined, if each has about two neighbours; but at
    most one in five, since an edge must survive many tests.

    An edge is believed if the Bayes factor for it exceeds one over this.
    """
    return min(0.2, 2 / max(columns - 1, 1))


def most_odds(columns: int) -> float:
    """The same, if each has about ten neighbours: for scores without noise, which are to find dense
    graphs, too, but not one edge in four hundred pairs that have none."""
    return min(1.0, 10 / max(columns - 1, 1))
