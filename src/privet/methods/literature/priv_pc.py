"""priv-pc: sieve and examine. A sieve finds a test that may say independent, and a second answer
with noise of its own decides.

Priv-PC of Wang, Pang, Song 2020 with a statistic whose reach is proved. The sieve has a lenient
bar, so that it misses little; what it lets through costs one positive and one examination,
whatever that finds. The number of both is fixed beforehand, and then the search stops.

Privacy. As ``svt-pc``; an examination is one more release (Laplace noise, or Gaussian where the
budget has a delta). With ``subsample`` the whole run is on a secret sample of the rows, which
allows a larger budget inside (``proofs/subsample.md``).
"""

from __future__ import annotations

from fractions import Fraction

from privet.methods.literature import separations, sequential
from privet.methods.literature.as_published import sieve as published
from privet.methods.literature.decisions import as_release
from privet.methods.literature.sequential import Bars
from privet.methods.literature.walk import Walk
from privet.methods.method import Method, Published
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.trust.curator import Curator

# [found by experiment on random networks] The sieve's bar is twice the one of the examination,
# and every second positive may be for nothing.
LENIENCE = 2.0
POSITIVES = 2
SIEVED = Fraction(1, 2)  # of the budget; the rest examines


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    if not curator.private:
        return sequential.exactly(curator, settings)
    if settings.subsample is not None:
        curator = curator.sample(settings.subsample)
    margins, bars, walk = sequential.start(curator, settings)
    cap = settings.cap or POSITIVES * walk.enough
    runs, positives = (1, cap) if curator.pure else (cap, 1)
    sieved, examined = curator.left * SIEVED / runs, curator.left * (1 - SIEVED) / cap
    queries = (bars.query([question], LENIENCE) for question in walk)  # one stream for all runs
    found = 0
    for _ in range(runs):
        for maybe in curator.sieve(queries, sieved, positives=positives, threshold=0):
            if maybe:
                _examine(curator, bars, walk, examined)
                found += 1
                settings.on_step("sieving and examining tests", 0.8 * found / cap)
    return margins, as_release(walk.separations, walk.tests, "sieve and examination")


def _examine(curator: Curator, bars: Bars, walk: Walk, share: Fraction) -> None:
    if curator.release(bars.query([walk.at]), share).values[0] > 0:
        walk.separate(*walk.at)


METHODS = (
    Method(
        name="priv-pc",
        summary="PC whose tests pass a lenient sieve and are then examined with fresh noise",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        accounting="zcdp",
        cite="Priv-PC in Wang, Pang, Song 2020",
        evidence="decisions",
        check=sequential.check,
        measure=measure,
        search=separations.search,
        alpha=sequential.usual_level,
        uses=frozenset({"statistic", "cap", "subsample"}),
        published=Published(measure=published.priv_pc, why=published.WHY_PRIV_PC),
    ),
)
