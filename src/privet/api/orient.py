"""The front door for pairs: which of two columns is the cause?

As in ``discover``, everything public is checked first, so a refusal costs nothing. Then the
budget is reserved on disk, the pairs are measured, what was not spent goes back, and what was
measured is judged. Judging is free and may be repeated on saved evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from privet.api import reuse as reuses
from privet.api.checks import (
    check_budget_options,
    check_data,
    check_flags,
    check_free,
    labelled,
    read_schema,
)
from privet.api.evidence import (
    hold_evidence,
    open_evidence,
    saved_run,
    saved_without_privacy,
)
from privet.api.methods import (
    Names,
    check_stability_test,
    check_way,
    every_pair,
    name_pairs,
)
from privet.api.progress import heard
from privet.arrays import OnStep
from privet.errors import EvidenceError, MethodError
from privet.pairs.as_published import why
from privet.pairs.measure import ROWS, measure_pairs
from privet.pairs.options import Choices, make_choices
from privet.pairs.way import (
    Orientation,
    Pair,
    Published,
    Way,
    all_ways,
    pair_of,
    way_named,
)
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import check_numeric
from privet.results import certificate as certificates
from privet.results.no_promise import Claim
from privet.results.orientations import Orientations
from privet.results.saved import Saved
from privet.schema.model import Adjacency, Schema
from privet.trust.session import LedgerLike, Session, without_privacy


def orient(
    data: object = None,
    schema: Schema | str | Path | None = None,
    *,
    cause_effect: Names | None = None,
    all_pairs: bool = False,
    epsilon: float | None = None,
    delta: float = 0.0,
    method: str = "auto",
    private: bool = True,
    as_published: bool = False,
    ledger: LedgerLike = None,
    reuse: bool | None = None,
    as_of: str | None = None,
    evidence: Saved | str | Path | None = None,
    on_step: OnStep | None = None,
    on_measured: Callable[[Saved], None] | None = None,
    **options: Any,
) -> Orientations:
    """Which of two numeric columns causes the other, with (epsilon, delta) differential privacy.

    ``cause_effect`` names the two columns, in any order; ``all_pairs`` asks about all pairs of
    numeric columns, which share the budget equally. ``data``, ``schema``, ``ledger``,
    ``reuse``, ``as_of``, ``private`` and ``evidence`` are as for ``discover``; with evidence, the
    pairs in it are judged again and nothing is spent. With delta = 0 noise is Laplace's, which is
    less for up to about six pairs; with more, a delta helps. Methods that test for stability first
    (Spearman, Kendall, ``anm-iqr-tested``) use all of delta for their tests.

    ``options``: see ``pairs.options.Choices``. ``protect`` of one half alone is a paper's idea and
    no promise: it needs ``as_published``, which charges nothing and says so. ``on_step`` and
    ``on_measured`` are as for ``discover``.

    >>> pair = ("height", "weight")
    >>> found = privet.orient(numbers, bounds, cause_effect=pair, epsilon=1, ledger=":memory:")
    >>> found[0].direction in ("-->", "<--", "undecided")
    True
    """
    with heard(on_step) as listener:
        choices = make_choices(on_step=listener, **options)
        check_flags(private=private, as_published=as_published, all_pairs=all_pairs)
        reuses.check_reuse(reuse)
        if evidence is not None:
            given = {
                "private=False": not private,
                "a ledger": ledger is not None,
                "as_of": as_of,
                "as_published": as_published,
                "data": data is not None,
                "epsilon": epsilon,
            }
            check_free("evidence", given)
            saved = open_evidence(evidence, schema)
            names = name_pairs(cause_effect, all_pairs, needed=False)
            return judge(saved, choices, method=method, names=names, reused={})
        request = prepare(
            data,
            schema,
            choices,
            cause_effect=cause_effect,
            all_pairs=all_pairs,
            epsilon=epsilon,
            delta=delta,
            method=method,
            private=private,
            as_published=as_published,
            ledger=ledger,
            as_of=as_of,
        )
        if request.paying and (
            same := reuses.find(request.session, request.key, request.schema, reuse)
        ):
            return judge(same.saved, choices, method=method, reused=same.facts)
        saved = take(request)
        with hold_evidence(saved):
            if on_measured is not None:
                on_measured(saved)
            return judge(saved, choices, method=method)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What has passed all checks of what is public."""

    data: object
    schema: Schema
    choices: Choices
    way: Way
    pairs: tuple[Pair, ...]
    epsilon: float | None
    delta: float
    ledger: LedgerLike
    published: Published | None

    @property
    def paying(self) -> bool:
        """Whether privacy is promised, and paid for."""
        return self.epsilon is not None and self.published is None

    @cached_property
    def session(self) -> Session:
        """Opens the source and holds its header against the schema; reads and charges nothing."""
        assert self.epsilon is not None
        way, delta = self.way, self.delta
        return Session(
            self.data,
            self.schema,
            ledger=self.ledger,
            epsilon=self.epsilon,
            delta=0 if way.tested else delta,
            test_delta=delta if way.tested else 0,  # what is tested takes all of it
            accounting=way.accounting,
            method=way.name,
        )

    @property
    def key(self) -> str | None:
        """The same for all runs that are the same."""
        assert self.epsilon is not None
        pairs = [(pair.x, pair.y) for pair in self.pairs]
        return reuses.key_of(
            "orient",
            self.schema,
            self.choices,
            self.epsilon,
            self.delta,
            self.session.place,
            way=self.way.name,
            pairs=pairs,
        )


def prepare(
    data: object,
    schema: Schema | str | Path | None,
    choices: Choices,
    *,
    cause_effect: Names | None,
    all_pairs: bool = False,
    epsilon: float | None,
    delta: float = 0.0,
    method: str = "auto",
    private: bool = True,
    as_published: bool = False,
    ledger: LedgerLike = None,
    as_of: str | None = None,
) -> Request:
    """What is asked, once all that is public has been checked; without privacy, rows may be
    counted."""
    known = labelled(read_schema(schema), as_of)
    check_budget_options(epsilon, delta, private)
    way = way_named(method)
    names = name_pairs(cause_effect, all_pairs, needed=True)
    if way.needs_rows and not private and known.rows is None:
        known = _count_rows(data, known)
    pairs = tuple(Pair(x=a, y=b) for a, b in (every_pair(known) if all_pairs else names))
    check_way(way, choices, private, as_published, ledger)
    for pair in pairs:
        way.check(known, pair, choices)
    if way.tested and private and not as_published:
        check_stability_test(way, known, delta)
    check_data(data)
    return Request(
        data=data,
        schema=known,
        choices=choices,
        way=way,
        pairs=pairs,
        epsilon=epsilon if private else None,
        delta=delta,
        ledger=ledger,
        published=way.published if as_published else None,
    )


def take(request: Request) -> Saved:
    """The half that reads the data and costs privacy."""
    if request.published is not None:
        claimed = float(request.epsilon or 0), float(request.delta)
        return _measure_as_published(request, request.published, *claimed)
    if request.epsilon is None:
        return _measure_exactly(request)
    saved = _measure_privately(request, request.session)
    with hold_evidence(saved):
        reuses.keep(request.session, request.key, saved)
    return saved


def _count_rows(data: object, schema: Schema) -> Schema:
    """The same with its number of rows, which without privacy need not be public."""
    check_data(data)
    (rows,) = without_privacy(data, schema).exact(ROWS).values
    return replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=max(int(rows), 1))


def _measure_as_published(request: Request, ask: Published, epsilon: float, delta: float) -> Saved:
    """Pairs as a paper would measure them; they share the claim equally."""
    curator = without_privacy(request.data, request.schema)
    claim = Claim(epsilon=epsilon, delta=delta, why=why(request.choices.protect))
    count = len(request.pairs)
    found = [
        ask(curator, pair, request.choices, epsilon / count, delta / count)
        for pair in request.pairs
    ]
    releases = tuple(release for part in found for release in part)
    return saved_without_privacy(request.schema, request.way.name, releases, claim)


def _measure_exactly(request: Request) -> Saved:
    """What the way asks for, without noise."""
    curator = without_privacy(request.data, request.schema)
    releases = measure_pairs(curator, request.way, request.pairs, request.choices)
    return saved_without_privacy(request.schema, request.way.name, releases)


def _measure_privately(request: Request, session: Session) -> Saved:
    """What the way asks for, paid from the ledger."""
    with session:
        releases = measure_pairs(session.curator(), request.way, request.pairs, request.choices)
    return saved_run(request.schema, session.statement(), releases)


def judge(
    saved: Saved,
    choices: Choices,
    *,
    method: str = "auto",
    names: tuple[Names, ...] = (),
    reused: Mapping[str, Any] | None = None,
) -> Orientations:
    """The half that costs nothing: directions from evidence, of these pairs or of all in it.
    ``reused`` says of evidence that was not measured just now whose it is."""
    measured = certificates.of_evidence(saved.certificate)
    way = _way(method, measured["method"])
    if reused == {} and choices.special():
        raise EvidenceError(
            f"{' and '.join(choices.special())} was given together with evidence, which has been "
            "measured already; leave it away, or measure again"
        )
    found = _by_pair(saved)
    wanted = names or tuple(found)
    orientations = []
    for i, (a, b) in enumerate(wanted):
        choices.on_step(f"judging {a} and {b}", i / len(wanted))
        orientations.append(_judge_one(saved.schema, way, found, (a, b), choices))
    facts = {"reused": reused is not None, **(reused or {})}
    options = certificates.of_search(measured, way.name, choices.options(), **facts)
    return Orientations(
        pairs=tuple(orientations), certificate=options, evidence=saved, method=way.name
    )


def _judge_one(
    schema: Schema,
    way: Way,
    found: dict[Names, tuple[Release, ...]],
    names: Names,
    choices: Choices,
) -> Orientation:
    """The orientation of a pair that may have been measured the other way round."""
    a, b = names
    for name in names:
        check_numeric(name, schema)
    stored = names if names in found else (b, a)
    if stored not in found:
        held = ", ".join(f"{x} and {y}" for x, y in found)
        raise EvidenceError(
            f"this evidence does not hold {a} and {b}; name one of its pairs ({held}), or measure "
            f"this one on the data"
        )
    releases = found[stored]
    if not way.holds(releases):
        fits = [other.name for other in all_ways() if other.holds(releases)]
        raise MethodError(
            f"{way.name} judges {way.evidence}, which this evidence does not hold of {a} and {b}; "
            f"use one of {', '.join(fits)}, or measure again, for a budget of its own"
        )
    answer = way.judge(schema, Pair(x=stored[0], y=stored[1]), releases, choices)
    return answer if stored == names else answer.turned


def _by_pair(saved: Saved) -> dict[Names, tuple[Release, ...]]:
    """The releases of each pair, in the order in which they were asked for."""
    found: dict[Names, tuple[Release, ...]] = {}
    for release in saved.releases:
        pair = pair_of(release)
        if pair is not None:
            found[pair] = (*found.get(pair, ()), release)
    if not found:
        raise EvidenceError(
            f"this evidence holds no pairs; it was measured by {saved.certificate['method']}; "
            "measure pairs by orient on the data, or search it by discover"
        )
    return found


def _way(method: str, measured: str) -> Way:
    """The way that is asked for; by default the one that the evidence was measured for, if it
    was measured for pairs."""
    names = {way.name for way in all_ways()}
    return way_named(measured if method == "auto" and measured in names else method)
