"""The front door for pairs: which of two columns is the cause?

As in ``discover``, everything public is checked first, so a refusal costs nothing. Then the
budget is reserved on disk, the pairs are measured, what was not spent goes back, and what was
measured is judged. Judging is free and may be repeated on saved evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from privet.api.checks import (
    check_budget_options,
    check_data,
    open_evidence,
    paid,
    read_schema,
    told,
)
from privet.arrays import OnStep
from privet.errors import BudgetError, EvidenceError, MethodError, SchemaError
from privet.pairs import measure as asking
from privet.pairs import way as registry
from privet.pairs.as_published import why
from privet.pairs.way import AUTO, Choices, Orientation, Pair, Published, Way
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import check_numeric
from privet.results import certificate as certificates
from privet.results.orientations import Orientations
from privet.results.saved import Saved
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Curator

Names = tuple[str, str]
RELEASES = ("sign", "scores")
HALVES = ("both", "test", "training")


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
    ledger: Ledger | str | Path | None = None,
    evidence: Saved | str | Path | None = None,
    on_step: OnStep | None = None,
    **options: Any,
) -> Orientations:
    """Which of two numeric columns causes the other, with (epsilon, delta) differential privacy.

    ``cause_effect`` names the two columns, in any order; ``all_pairs`` asks about all pairs of
    numeric columns, which share the budget equally. ``data``, ``schema``, ``ledger``,
    ``private`` and ``evidence`` are as for ``discover``; with evidence, the pairs in it are
    judged again and nothing is spent. With delta = 0 noise is Laplace's, which is less for up to
    about six pairs; with more, a delta helps. Methods that test for stability first (Spearman,
    Kendall, ``anm-iqr-tested``) use all of delta for their tests.

    ``options``: release ("sign" or "scores"), find_bounds, ridge, bandwidth, protect and seed,
    see ``registry.Choices``. ``protect`` of one half alone is a paper's idea and no promise: it
    needs ``as_published``, which charges nothing and says so.
    """
    choices = make_choices(on_step=on_step, **options)
    if evidence is not None:
        if not private or ledger is not None or as_published:
            raise EvidenceError(
                "evidence was given together with private=False, as_published or a ledger, but "
                "what is saved is as private as its run and spends nothing; leave them away"
            )
        saved = open_evidence(evidence, data=data, schema=schema, epsilon=epsilon)
        names = _named(cause_effect, all_pairs, needed=False)
        return judge(saved, choices, method=method, names=names, reused=True)
    saved = measure(
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
    )
    with paid(saved):
        return judge(saved, choices, method=method)


def make_choices(*, on_step: OnStep | None = None, **options: Any) -> Choices:
    """The options, or a refusal; None stands for the default."""
    given = {name: value for name, value in options.items() if value is not None}
    known = ("release", "find_bounds", "ridge", "bandwidth", "protect", "seed")
    for name, value in given.items():
        if name not in known:
            raise MethodError(f"there is no option {name!r}; choose from {', '.join(known)}")
        rule = _rule(name, value)
        if rule:
            raise MethodError(f"{name} is {value!r}, but it must be {rule}")
    if on_step is not None:
        given["on_step"] = on_step
    return Choices(**given)


def _rule(name: str, value: object) -> str:
    """The rule that a value breaks, if it does."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "release":
        return "" if value in RELEASES else " or ".join(RELEASES)
    if name == "protect":
        return "" if value in HALVES else " or ".join(HALVES)
    if name == "find_bounds":
        return "" if isinstance(value, bool) else "True or False"
    if name == "seed":
        whole = isinstance(value, int) and number and value >= 0
        return "" if whole else "a whole number from 0 on"
    if name == "bandwidth" and isinstance(value, str):
        return ""  # which is refused with its reason
    return "" if number else "a number above 0"


def measure(
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
    ledger: Ledger | str | Path | None = None,
) -> Saved:
    """The half that reads the data and costs privacy; all that is public is checked before."""
    known = read_schema(schema)
    check_budget_options(epsilon, delta, private)
    way = registry.get(method)
    names = _named(cause_effect, all_pairs, needed=True)
    if way.needs_rows and not private and known.rows is None:
        known = _counted(data, known)
    pairs = [Pair(x=a, y=b) for a, b in (_all(known) if all_pairs else names)]
    _check_way(way, choices, private, as_published, ledger)
    for pair in pairs:
        way.check(known, pair, choices)
    tested = way.tested and private and not as_published
    if tested:
        _check_tested(way, known, delta)
    check_data(data)
    if as_published and way.published is not None:
        claim = certificates.Claim(
            epsilon=float(epsilon or 0), delta=float(delta), why=why(choices.protect)
        )
        return _published(data, known, way.published, way.name, pairs, choices, claim)
    if not private or epsilon is None:
        releases = asking.measure(Curator.open(data, known, None), way, pairs, choices)
        promise = certificates.without_privacy(known, way.name, releases)
        return Saved(schema=known, releases=releases, certificate=dict(promise))
    Curator.open(data, known, None)  # holds the header against the schema; reads no row
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    run = book.begin(
        known.name,
        epsilon=epsilon,
        delta=0 if tested else delta,
        method=way.name,
        unit=known.unit,
        test_delta=delta if tested else 0,
    )
    with told(run), run:
        releases = asking.measure(Curator.open(data, known, run), way, pairs, choices)
    account = book.account(known.name)
    assert account is not None  # the run is in it
    promise = certificates.of_run(known, run, releases, account, durable=book.durable)
    return Saved(schema=known, releases=releases, certificate=dict(promise))


def _counted(data: object, schema: Schema) -> Schema:
    """The same with its number of rows, which without privacy need not be public."""
    check_data(data)
    (rows,) = Curator.open(data, schema, None).exact(asking.ROWS).values
    return replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=max(int(rows), 1))


def _published(
    data: object,
    schema: Schema,
    ask: Published,
    name: str,
    pairs: Sequence[Pair],
    choices: Choices,
    claim: certificates.Claim,
) -> Saved:
    """Pairs as a paper would measure them; they share the claim equally."""
    curator = Curator.open(data, schema, None)
    epsilon, delta = claim.epsilon / len(pairs), claim.delta / len(pairs)
    found = [ask(curator, pair, choices, epsilon, delta) for pair in pairs]
    releases = tuple(release for part in found for release in part)
    promise = certificates.without_privacy(schema, name, releases, claim)
    return Saved(schema=schema, releases=releases, certificate=dict(promise))


def judge(
    saved: Saved,
    choices: Choices,
    *,
    method: str = "auto",
    names: tuple[Names, ...] = (),
    reused: bool = False,
) -> Orientations:
    """The half that costs nothing: directions from evidence, of these pairs or of all in it."""
    measured = certificates.of_evidence(saved.certificate)
    way = _way(method, measured["method"])
    if reused and choices.special():
        raise EvidenceError(
            f"{' and '.join(choices.special())} was given together with evidence, which has been "
            "measured already; leave it away, or measure again"
        )
    found = _by_pair(saved)
    wanted = names or tuple(found)
    orientations = []
    for i, (a, b) in enumerate(wanted):
        choices.on_step(f"judging {a} and {b}", i / len(wanted))
        orientations.append(_judged(saved.schema, way, found, (a, b), choices))
    options = certificates.of_search(measured, way.name, choices.options(), reused=reused)
    return Orientations(
        pairs=tuple(orientations), certificate=options, evidence=saved, method=way.name
    )


def _judged(
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
        fits = [other.name for other in registry.available() if other.holds(releases)]
        raise MethodError(
            f"{way.name} judges {way.evidence}, which this evidence does not hold of {a} and {b}; "
            f"use one of {', '.join(fits)}, or measure again, for a budget of its own"
        )
    told = way.judge(schema, Pair(x=stored[0], y=stored[1]), releases, choices)
    return told if stored == names else told.turned


def _by_pair(saved: Saved) -> dict[Names, tuple[Release, ...]]:
    """The releases of each pair, in the order in which they were asked for."""
    found: dict[Names, tuple[Release, ...]] = {}
    for release in saved.releases:
        pair = registry.pair_of(release)
        if pair is not None:
            found[pair] = (*found.get(pair, ()), release)
    if not found:
        raise EvidenceError(
            f"this evidence holds no pairs; it was measured by {saved.certificate['method']}; "
            "measure pairs with `privet orient DATA`, or search it with `privet discover`"
        )
    return found


def _way(method: str, measured: str) -> Way:
    """The way that is asked for; by default the one that the evidence was measured for, if it
    was measured for pairs."""
    names = {way.name for way in registry.available()}
    return registry.get(measured if method == "auto" and measured in names else method)


def _named(cause_effect: Names | None, all_pairs: bool, *, needed: bool) -> tuple[Names, ...]:
    if cause_effect is not None and all_pairs:
        raise MethodError(
            f"both a pair ({cause_effect!r}) and all pairs were asked for; leave one of the two "
            "away"
        )
    if cause_effect is None:
        if needed and not all_pairs:
            raise MethodError(
                "no pair was named; name two columns with --cause-effect A,B "
                "(cause_effect=(a, b)), or ask for --all-pairs (all_pairs=True)"
            )
        return ()
    names = tuple(cause_effect) if isinstance(cause_effect, list | tuple) else ()
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise MethodError(f"cause_effect is {cause_effect!r}; give the names of two columns")
    return ((names[0], names[1]),)


def _all(schema: Schema) -> tuple[Names, ...]:
    names = asking.numeric(schema)
    if len(names) < 2:
        raise SchemaError(
            f"schema {schema.name!r} has {len(names)} numeric column(s), but a pair needs 2; "
            'declare columns of numbers kind = "numeric" with bounds'
        )
    return tuple(combinations(names, 2))


def _check_way(
    way: Way,
    choices: Choices,
    private: bool,
    as_published: bool,
    ledger: Ledger | str | Path | None,
) -> None:
    """Refuse a way or a choice that does not go with the promise."""
    _check_options(way, choices)
    if as_published:
        _check_published(way, choices, private, ledger)
        return
    if choices.protect != "both":
        raise MethodError(
            f"protect is {choices.protect!r}, which promises nothing to people in the other half "
            "of the rows, so it cannot be bought from a budget; leave it away, or run it as "
            "published, which is not private (--as-published, as_published=True)"
        )
    if not private and ledger is not None:
        raise BudgetError(
            "a ledger was given together with private=False, which spends nothing; leave one of "
            "the two away"
        )
    if private and not way.private:
        raise MethodError(
            f"{way.name} is not private ({way.reason}), but an epsilon was given; add "
            f"--no-privacy and leave epsilon away, or use --method {AUTO}"
        )


def _check_tested(way: Way, schema: Schema, delta: float) -> None:
    """Refuse what a test cannot do, before the data set has a budget for it."""
    if not delta > 0:
        raise MethodError(
            f"delta is {delta!r}, but {way.name} asks for what a noisy test has found stable, and "
            f"such a test misleads with a small probability, which is part of delta; give one far "
            f"below 1 / (number of people), such as --delta 1e-6, or use --method {AUTO}"
        )
    if schema.rows_per_person > 1:
        raise MethodError(
            f"rows_per_person = {schema.rows_per_person}, but {way.name} tests for stability "
            f"against one record; use --method {AUTO}, or anm-sqrt-hsic"
        )


def _check_published(
    way: Way, choices: Choices, private: bool, ledger: Ledger | str | Path | None
) -> None:
    if not private or ledger is not None:
        raise MethodError(
            "a method as published was asked for together with --no-privacy or a ledger, but it "
            "has a claimed epsilon of its own and is never charged; leave them away"
        )
    if way.published is None or choices.find_bounds:
        what = way.name if way.published is None else f"{way.name} with find_bounds"
        named = [other.name for other in registry.available() if other.published]
        raise MethodError(
            f"{what} cannot be run as published; choose one of {', '.join(named)}, without "
            "find_bounds"
        )
    if choices.protect == "both":
        raise MethodError(
            "as published, a method protects one half of the rows; say which: --protect test or "
            "--protect training"
        )


def _check_options(way: Way, choices: Choices) -> None:
    """Refuse an option that this way does not use."""
    for name, value in choices.special().items():
        if name not in way.uses:
            users = [other.name for other in registry.available() if name in other.uses]
            raise MethodError(
                f"{name} is {value!r}, but {way.name} has no such option; leave it away, or use "
                f"one of {', '.join(users)}"
            )
