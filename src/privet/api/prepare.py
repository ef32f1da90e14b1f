"""What is asked of a table, checked as far as it is public, before anything is read or paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from privet.api import reuse as reuses
from privet.api.checks import (
    check_budget_options,
    check_data,
    check_site,
    labelled,
    read_schema,
)
from privet.api.methods import (
    best_delta,
    check_options,
    check_shared,
    choose,
    names_of,
    published_by,
    share_for_pairs,
)
from privet.methods.method import Method, Published
from privet.methods.options import Settings
from privet.schema.cuts import fixed
from privet.schema.model import Schema
from privet.trust.session import LedgerLike, Session, cap_delta


@dataclass(frozen=True, kw_only=True)
class Request:
    """What has passed all checks of what is public; ``share`` is that of the budget for pairs."""

    data: object
    schema: Schema
    settings: Settings
    methods: tuple[Method, ...]
    share: Fraction
    site: str | None = None
    epsilon: float | None
    delta: float
    ledger: LedgerLike
    paper: Published | None

    @property
    def paying(self) -> bool:
        """Whether privacy is promised, and paid for."""
        return self.epsilon is not None and self.paper is None

    @cached_property
    def session(self) -> Session:
        """Opens the source and holds its header against the schema; reads and charges nothing."""
        assert self.epsilon is not None
        first = self.methods[0]
        return Session(
            self.data,
            self.schema,
            ledger=self.ledger,
            epsilon=self.epsilon,
            delta=self.delta,
            accounting=first.accounting,
            method=first.name,
        )

    @property
    def key(self) -> str | None:
        """The same for all runs that are the same."""
        assert self.epsilon is not None
        names = [method.name for method in self.methods]
        return reuses.key_of(
            "discover",
            self.schema,
            self.settings,
            self.epsilon,
            self.delta,
            self.session.place,
            methods=names,
            site=self.site,
        )


def prepare(
    data: object,
    schema: Schema | str | Path | None,
    settings: Settings,
    *,
    epsilon: float | None,
    delta: float | None = None,
    method: str | Sequence[str] = "auto",
    private: bool = True,
    ledger: LedgerLike = None,
    as_published: bool = False,
    site: str | None = None,
    as_of: str | None = None,
) -> Request:
    """What is asked, once all that is public has been checked. Reads no row and costs nothing."""
    known = labelled(read_schema(schema), as_of)
    if site is not None:  # sites that are combined must all cut alike
        known = fixed(known)
    check_site(site, promised=private and not as_published)
    check_budget_options(epsilon, delta, private)
    if delta is None or (private and not as_published):
        cap = cap_delta(ledger, known) if private and not as_published else None
        delta = best_delta(names_of(method), known, epsilon, cap, delta)
    chosen = tuple(choose(name, known, delta, private) for name in names_of(method))
    check_options(chosen, settings)
    for each in chosen:
        each.serve(known, delta, settings)
    share = share_for_pairs(chosen, known, settings, as_published)
    check_data(data)
    paper = published_by(chosen, private, ledger) if as_published else None
    if private and not as_published:
        check_shared(chosen)
    return Request(
        data=data,
        schema=known,
        settings=settings,
        methods=chosen,
        share=share,
        site=site,
        epsilon=epsilon if private else None,
        delta=delta,
        ledger=ledger,
        paper=paper,
    )
