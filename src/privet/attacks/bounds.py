"""What runs on two neighbours say about epsilon: a lower bound with a stated confidence.

If a run is (epsilon, delta)-DP, P(event | one table) <= exp(epsilon) P(event | the other) + delta.
The event, a threshold on some score, is chosen on some runs and judged on others by an exact test,
so an honest run is convicted with the stated probability at most. No audit proves privacy; the
proofs do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from privet.arrays import Floats

Two = tuple[Floats, Floats]  # scores of runs on the table and on its neighbour

FALSE_ALARM = 1e-6
MOST = 50.0  # no number of runs shows more
UNLIKELY = np.concatenate([[0.0], np.geomspace(1e-6, 1, 400)])
QUANTILES = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True, kw_only=True)
class Event:
    """A score of at least the threshold (on the neighbour: ``added``) or of at most it (on the
    table), which is likelier there than on the other."""

    threshold: float
    added: bool

    def sides(self, scores: Two) -> Two:
        """Whose runs it is likely in, and the other's, turned so that large scores are in it."""
        without, present = scores
        return (present, without) if self.added else (-without, -present)

    def counts(self, scores: Two) -> tuple[int, int]:
        """How often it happened where it is likely, and where it is not."""
        bar = self.threshold if self.added else -self.threshold
        likely, unlikely = self.sides(scores)
        return int((likely >= bar).sum()), int((unlikely >= bar).sum())


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Epsilon is at least ``lower`` at this delta, or chance has misled with probability
    ``false_alarm``: in ``runs`` on either table the event happened so often."""

    lower: float
    event: Event
    hits: int
    misses: int
    runs: int


def lower_bound(chosen: Two, judged: Two, delta: float, false_alarm: float = FALSE_ALARM) -> Bound:
    """The bound that the judged runs give, by the event that the chosen ones say is best."""
    runs = len(judged[0])
    event = best_event(chosen, runs, delta, false_alarm)
    hits, misses = event.counts(judged)
    lower = smallest_epsilon(hits, misses, runs, delta, false_alarm)
    return Bound(lower=lower, event=event, hits=hits, misses=misses, runs=runs)


def best_event(scores: Two, rest: int, delta: float, false_alarm: float) -> Event:
    """The event that would speak loudest if the ``rest`` were like these runs, with some bad luck.
    A tail that they hardly show is taken to be at least the normal one: an event that is too rare
    makes a verdict that depends on a few runs."""
    return max(_events(scores, rest, delta, false_alarm), key=lambda each: each[0])[1]


def loudness(scores: Two, rest: int, delta: float, false_alarm: float) -> float:
    """How loud the best event of some scores would be."""
    return max(loud for loud, _ in _events(scores, rest, delta, false_alarm))


def _events(scores: Two, rest: int, delta: float, false_alarm: float) -> list[tuple[float, Event]]:
    from scipy.stats import beta, norm

    found: list[tuple[float, Event]] = []
    for added in (True, False):
        likely, unlikely = Event(threshold=0.0, added=added).sides(scores)
        for bar in np.unique(np.quantile(likely, QUANTILES, method="lower")).tolist():
            tail = norm.sf(bar, unlikely.mean(), unlikely.std() + 1e-9)
            p, q = (likely >= bar).mean(), max((unlikely >= bar).mean(), tail)
            hits = max(p - 2 * np.sqrt(p / rest), 0.0) * rest
            misses = min(q + 2 * np.sqrt(q / rest), 1.0) * rest
            low = beta.ppf(false_alarm / 2, hits, rest - hits + 1) if hits else 0.0
            high = beta.ppf(1 - false_alarm / 2, misses + 1, rest - misses) if misses < rest else 1
            loud = (low - delta) / high  # at most 0 if delta explains it all
            found.append((loud, Event(threshold=bar if added else -bar, added=added)))
    return found


def smallest_epsilon(
    hits: int, misses: int, runs: int, delta: float, false_alarm: float = FALSE_ALARM
) -> float:
    """The epsilon from which on so many hits and misses are no wonder; 0 if they never are."""
    low, high = 0.0, MOST
    if chance(hits, misses, runs, low, delta) >= false_alarm:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        wonder = chance(hits, misses, runs, middle, delta) < false_alarm
        low, high = (middle, high) if wonder else (low, middle)
    return low


def chance(hits: int, misses: int, runs: int, epsilon: float, delta: float) -> float:
    """A p-value of so many hits on one table and misses on the other, if the promise is kept.

    If an event has probability q on the one, it has min(1, exp(epsilon) q + delta) on the other at
    most. The two tails are independent p-values, so their product c is as small by chance with
    probability c (1 - log c) at most [Fisher]. The worst q between two neighbours of the grid gives
    no more than the first tail at the upper and the second at the lower one.
    """
    from scipy.stats import binom

    most = np.minimum(1.0, np.exp(epsilon) * UNLIKELY[1:] + delta)
    product = (binom.sf(hits - 1, runs, most) * binom.cdf(misses, runs, UNLIKELY[:-1])).max()
    return float(product * (1 - log(product))) if product > 0 else 0.0
