"""curate: PC's tests with noise, the budget of each order chosen as the search goes on.

CURATE of Bhattacharjee, Tandon 2024, by tests, with a statistic whose reach is proved. Before each
order the paper's optimisation spreads what is left over this order and the later ones, from the
edges that are left. A noisy statistic that lies clearly below its bar separates two columns, one
clearly above keeps them joined, and in between a fair coin decides, which the operating system
tosses. When the budget is spent the search stops with the graph as it is.

The tests of an order are asked in rounds: the next test of every edge that is left, in one answer.
Each test costs the same as by itself, and an edge that is gone is not asked about again; but
the ledger is written once per round.

Privacy. Margins and each round are one release (Laplace noise, or Gaussian where the budget has a
delta), every test charged before it is computed, whatever it finds; budgets and questions follow
from earlier answers and public facts, and the ledger's filter refuses what is not covered
(``proofs/curate.md``). ``subsample`` as in ``priv-pc``.
"""

from __future__ import annotations

import secrets
from fractions import Fraction
from statistics import median

from privet.methods.literature import separations, sequential
from privet.methods.literature.as_published import curate as published
from privet.methods.literature.curate_budgets import allocate
from privet.methods.literature.decisions import as_release
from privet.methods.literature.sequential import Bars
from privet.methods.literature.walk import Places, Walk
from privet.methods.method import Method, Published
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.trust.curator import Curator

FINEST = 1 << 40  # shares of a test are rounded down to this part of the budget


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    if not curator.private:
        return sequential.exactly(curator, settings)
    if settings.subsample is not None:
        curator = curator.sample(settings.subsample)
    margins, bars, walk = sequential.start(curator, settings)
    for order in range(settings.order + 1):
        if share := _share(curator, bars, walk, order, settings):
            settings.on_step(f"tests of order {order}", 0.8 * order / (settings.order + 1))
            _test(curator, bars, walk, order, share, settings)
    return margins, as_release(walk.separations, walk.tests, "noisy tests")


def _share(curator: Curator, bars: Bars, walk: Walk, order: int, settings: Settings) -> Fraction:
    """Of the whole budget, for each test of this order; 0 if there is nothing to test or to pay.

    Later orders are taken to have the tests that the graph as it is would give, but no more than
    this order [found by experiment; the paper's e * C(d-2, j) starves the first orders].
    """
    counts = [_tests(walk, j) for j in range(order, settings.order + 1)]
    if not counts[0] or not curator.private or not curator.left:
        return Fraction(0)
    tests = [min(count, counts[0]) for count in counts if count]
    bar = median(bars.height(pair) for pair in walk.edges()) / bars.reach
    sharpness = (bar * settings.beta2, bar * settings.beta1)
    power = 1 if curator.pure else 2  # epsilons add up, or their squares do
    total = curator.sharpness(curator.left) ** power
    each = allocate(
        lambda e: float(sum(t * x**power for t, x in zip(tests, e.tolist(), strict=True))),
        total,
        len(tests),
        sharpness,
    )[0]
    return Fraction(int(float(curator.left) * each**power / total * FINEST), FINEST)


def _tests(walk: Walk, order: int) -> int:
    return sum(len(walk.separators(x, y, order)) for x, y in walk.edges())


def _test(
    curator: Curator, bars: Bars, walk: Walk, order: int, share: Fraction, settings: Settings
) -> None:
    asked: set[Places] = set()
    while tests := walk.round(order, asked)[: int(curator.left / share)]:
        scores = curator.release(bars.query(tests), share * len(tests)).values.tolist()
        asked.update(tests)
        walk.tests += len(tests)
        for test, score in zip(tests, scores, strict=True):
            bar = bars.height(test)
            doubt = -settings.beta2 * bar <= score <= settings.beta1 * bar
            if secrets.randbits(1) if doubt else score > 0:
                walk.separate(*test)


METHODS = (
    Method(
        name="curate",
        summary="PC with noisy tests, the budget of each order chosen by what is left to test",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        cite="CURATE by tests in Bhattacharjee, Tandon 2024",
        evidence="decisions",
        check=sequential.check,
        measure=measure,
        search=separations.search,
        alpha=sequential.usual_level,
        uses=frozenset({"statistic", "subsample", "beta1", "beta2"}),
        published=Published(measure=published.measure, why=published.WHY),
    ),
)
