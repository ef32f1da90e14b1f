"""What a source of evidence is: what it asks of the rows, and the basis that it gives a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from privet.evidence.plan import Effects
from privet.evidence.prior import default_level
from privet.methods.basis import Basis
from privet.methods.method import BestDelta, Play, largest_delta
from privet.methods.options import Settings
from privet.methods.search import Need, Search
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.trust.curator import Curator

ALL_KINDS = frozenset({"categorical", "ordinal", "numeric"})
NUMERIC = frozenset({"numeric"})
TESTS_AND_SCORES: frozenset[Need] = frozenset({"tests", "gains", "families"})

Measure = Callable[[Curator, Settings], tuple[Release, ...]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """``prefix`` begins the names of its methods and ``phrase`` ends their summaries; ``gives``
    are the needs of searches that it meets. ``measure_for`` is what is asked of the rows for a
    search: the same function for searches that can share one measurement; ``play_for`` the same,
    where searches are played to hear what they ask for. ``kind`` says which
    scores there are; ``scores`` is False where the search has no choice of them. ``delta`` is
    the best one, of which a run that names none gets the promise; ``plan`` says which effects
    will show, from public facts; ``uses`` are its own special options."""

    prefix: str
    phrase: str
    evidence: str
    kinds: frozenset[str]
    private: bool
    gives: frozenset[Need]
    check: Callable[[Schema, Settings, Search], None]
    measure_for: Callable[[Search], Measure]
    basis: Callable[[Schema, tuple[Release, ...], Settings, Search], Basis]
    kind: Callable[[Schema, Search], str]
    play_for: Callable[[Search], Play | None] = lambda _search: None
    needs_delta: bool = False
    cite: str = ""
    scores: bool = True
    delta: BestDelta = largest_delta
    alpha: Callable[[int], float] = default_level
    plan: Effects | None = None
    uses: frozenset[str] = frozenset()


def by_site(releases: Sequence[Release]) -> list[tuple[Release, ...]]:
    """The releases of each site, in the order of their names; all, if none has a name."""
    names = sorted({release.site for release in releases}) or [""]
    return [tuple(one for one in releases if one.site == name) for name in names]
