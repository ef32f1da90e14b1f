"""What the methods on reports share: nothing is measured here, since devices have done that.

Each report was private when it left its device, so whatever is made of the reports costs no more
(``proofs/local.md``). What is left to do is to know the noise: ``local/collector/independence.py``
for tables, ``local/collector/partial_correlations.py`` for numbers.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, NoReturn

import numpy as np

from privet.errors import MethodError
from privet.local.collector.correlations import MAKERS, NUMBER_ORDERS, LocalCorrelations
from privet.local.collector.counts import Reported
from privet.local.collector.independence import FEWEST, LocalJudge
from privet.local.collector.partial_correlations import LocalNumberJudge
from privet.local.collector.tables import ORDERS, LocalEvidence, level, order_for
from privet.methods.basis import Basis, on_tests
from privet.methods.options import Settings
from privet.methods.search import Search
from privet.methods.sources.source import ALL_KINDS, Source
from privet.privacy.ledger.conversion import float_up
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.search.protocols import Judge
from privet.trust.curator import Curator

Evidence = LocalEvidence | LocalCorrelations
REPORTS = "reports"  # the kind of evidence that these methods search
DEFAULT = "local-pc"


def check(schema: Schema, settings: Settings) -> None:
    most = len(NUMBER_ORDERS if schema.has_moments else ORDERS)
    if not 0 <= settings.order <= most:
        raise MethodError(
            f"⟦max_order⟧ is {settings.order}; reports serve separators of 0 to {most} "
            f"columns, as many as there is evidence for; use one of these"
        )


def measure(_curator: Curator, _settings: Settings) -> NoReturn:
    raise MethodError(
        "this method searches reports that devices have randomised, not rows; make reports with "
        "`privet randomize` and give them together with their protocol "
        "(⟦protocol='protocol.json'⟧), or use ⟦method='auto'⟧"
    )


def evidence_of(releases: tuple[Release, ...]) -> Evidence:
    """What the reports among the releases say."""
    reported = [release for release in releases if isinstance(release.query, Reported)]
    if not reported:
        raise MethodError(
            "this evidence holds no reports; search it with the method that measured it"
        )
    last = reported[-1]
    if last.asked(Reported).protocol.name in MAKERS:
        return LocalCorrelations.from_release(last)
    return LocalEvidence.from_release(last)


def level_of(schema: Schema, settings: Settings) -> float:
    return level(len(schema.columns)) if settings.alpha is None else settings.alpha


def judge_of(evidence: Evidence, alpha: float) -> LocalJudge | LocalNumberJudge:
    if isinstance(evidence, LocalEvidence):
        return LocalJudge(evidence, alpha)
    return LocalNumberJudge(evidence, alpha)


def order_of(evidence: Evidence) -> int:
    """The size of the largest separators for which there is evidence."""
    needed = ORDERS if isinstance(evidence, LocalEvidence) else NUMBER_ORDERS
    return order_for(evidence.people_worth, needed)


def notes(evidence: Evidence, settings: Settings) -> tuple[str, ...]:
    """What whoever reads the graph should know about the evidence."""
    found = []
    worth, order = evidence.people_worth, min(settings.order, order_of(evidence))
    blind, why = _blind(evidence)
    if len(blind):
        names = ", ".join(repr(evidence.names[i]) for i in blind[:5])
        more = f" and {len(blind) - 5} more" if len(blind) > 5 else ""
        found.append(f"there is no evidence on {names}{more}: {why}, so they were left alone")
    if isinstance(evidence, LocalCorrelations) and not evidence.means.kinds:
        found.append(
            "signs of pairs alone are judged as if the public centres were the medians; where they "
            "are not, columns that have nothing to do with each other may seem joined"
        )
    if order < settings.order:
        found.append(
            f"the reports tell about as much on a pair of columns as {worth:,.0f} people without "
            f"noise would, which is enough for separators of up to {order} column(s); some edges "
            f"may be explained by larger ones"
        )
    return tuple(found)


def _blind(evidence: Evidence) -> tuple[Any, str]:
    """The columns that reports do not tell enough about, and why."""
    if isinstance(evidence, LocalCorrelations):
        return np.flatnonzero(~evidence.sure), "nearly everybody is on one side of their centre"
    columns = np.arange(len(evidence.names), dtype=np.intp)[:, None]
    why = f"the reports tell less than {FEWEST:g} people without noise would"
    return np.flatnonzero(evidence.law.worth(columns) < FEWEST), why


def basis(
    schema: Schema, releases: tuple[Release, ...], settings: Settings, _search: Search
) -> Basis:
    """A judge that knows the noise of the reports, within what there is evidence for."""
    evidence, alpha = evidence_of(releases), level_of(schema, settings)

    def stack(count: int, rng: np.random.Generator) -> Judge:
        return judge_of(evidence.stack(count, rng), alpha)

    alone = on_tests(judge_of(evidence, alpha), stack, len(evidence.names))
    return replace(alone, widest=order_of(evidence), notes=notes(evidence, settings))


def facts(release: Release) -> dict[str, Any]:
    """What a certificate of reports says: who promised what, how much the reports tell, and what
    that rests on."""
    query = release.asked(Reported)
    protocol, evidence = query.protocol, evidence_of((release,))
    levels = asdict(protocol.levels())
    return {
        "epsilon": float_up(protocol.epsilon),
        "levels": levels,
        "reports": {
            "protocol": protocol.name,
            "protocol_id": protocol.id,
            "people": sum(query.people),
            "left_out": asdict(query.left_out),
            "worth": evidence.people_worth,
            "order": order_of(evidence),
        },
        "assumptions": list(ASSUMPTIONS),
    }


ASSUMPTIONS = (
    "every device randomised its answers by this protocol, with randomness of its own, before it "
    "sent anything",
    "each person sent one report; whoever sends another one, with fresh randomness, gives away the "
    "sum of both epsilons",
    "who took part, and how many did, is not protected, nor is what was asked of whom",
)

SOURCE = Source(
    prefix="local-",
    phrase="on randomised reports",
    evidence=REPORTS,
    kinds=ALL_KINDS,
    private=True,
    gives=frozenset({"tests", "gains"}),  # how well families can be scored was never measured
    check=lambda schema, settings, _search: check(schema, settings),
    measure_for=lambda _search: measure,
    basis=basis,
    kind=lambda _schema, _search: "tables",
    cite="reports of Binkyte, Pinzón, Lestyán, Jung, Arcolezi, Palamidessi 2023",
    scores=False,
    alpha=level,
)
