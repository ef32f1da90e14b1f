"""svt-pc: PC whose tests pass through a sieve that is paid for its positives alone.

SVT-PC of Wang, Pang, Song 2020 with a statistic whose reach is proved. Each test asks whether
two columns look independent; "no" is free, and after a fixed number of "yes" the search stops
with the graph as it is.

Privacy. Margins are one release. Then, with a pure budget, one AboveThreshold with all positives;
in zCDP, where a run costs epsilon^2 / 2, one positive per run, which leaves less noise at the same
price. A run is charged as a whole when its first test is asked, so the last, silent one is too
(``proofs/above-threshold.md``), and which test comes next follows from earlier answers and public
facts (``proofs/filter.md``). Statistics: ``proofs/statistics.md``.
"""

from __future__ import annotations

from privet.methods.literature import separations, sequential
from privet.methods.literature.as_published import sieve as published
from privet.methods.literature.decisions import as_release
from privet.methods.method import Method, Published
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.trust.curator import Curator


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    if not curator.private:
        return sequential.exactly(curator, settings)
    margins, bars, walk = sequential.start(curator, settings)
    cap = settings.cap or walk.enough
    runs, positives = (1, cap) if curator.pure else (cap, 1)
    share = curator.left / runs
    queries = (bars.query([question]) for question in walk)  # one stream for all runs
    for _ in range(runs):
        for independent in curator.sieve(queries, share, positives=positives, threshold=0):
            if independent:
                walk.separate(*walk.at)
                settings.on_step("sieving tests", 0.8 * len(walk.separations) / cap)
    return margins, as_release(walk.separations, walk.tests, "sieve")


METHODS = (
    Method(
        name="svt-pc",
        summary="PC whose tests pass a sieve; only those that separate two columns are paid for",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        accounting="zcdp",
        cite="SVT-PC in Wang, Pang, Song 2020; Lyu, Su, Li 2017",
        evidence="decisions",
        check=sequential.check,
        measure=measure,
        search=separations.search,
        alpha=sequential.usual_level,
        uses=frozenset({"statistic", "cap"}),
        published=Published(measure=published.svt_pc, why=published.WHY_SVT_PC),
    ),
)
