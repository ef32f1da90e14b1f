"""Which methods and which pairs are meant, and whether they can do what is asked, from public
facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from privet.api.checks import check_free, check_never_charged, check_private, check_uses
from privet.errors import MethodError, SchemaError
from privet.methods import catalogue
from privet.methods.method import USUAL_DELTA, Method, Published
from privet.methods.options import Settings
from privet.methods.sources import reports
from privet.pairs.measure import numeric
from privet.pairs.options import Choices
from privet.pairs.way import AUTO, Way, all_ways
from privet.schema.model import Schema

Names = tuple[str, str]


# -- methods that find graphs


def names_of(method: str | Sequence[str]) -> tuple[str, ...]:
    names = (method,) if isinstance(method, str) else method
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        raise MethodError(f"the method is {method!r}; give its name, or a list of names")
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        what = f"{twice[0]!r} twice" if names else "none"
        raise MethodError(f"the methods name {what}; name each method once, at least one")
    if len(names) > 1 and "auto" in names:
        raise MethodError(
            "auto stands for one method and cannot be one of several; name it, such as "
            "interaction-pc"
        )
    return names


def best_delta(
    names: Sequence[str],
    schema: Schema,
    epsilon: float | None,
    cap: float | None,
    most: float | None = None,
) -> float:
    """The delta that a run promises, at most the one that it names (``most``): the one that serves
    its method best, or that fits the cap of its data set, which counts either with a delta or
    without."""
    usual = USUAL_DELTA if most is None else float(most)
    if epsilon is None:
        return usual
    if cap is None:
        return catalogue.best_delta(schema, epsilon, names[0], usual)
    if cap > 0 or (most and names[0] != "auto" and catalogue.get(names[0]).needs_delta):
        return usual
    return 0.0


def choose(name: str, schema: Schema, delta: float, private: bool) -> Method:
    chosen = catalogue.auto(schema, delta, private) if name == "auto" else catalogue.get(name)
    check_private(chosen, private)
    return chosen


def choose_for_reports(name: str) -> Method:
    chosen = catalogue.get(reports.DEFAULT if name == "auto" else name)
    if chosen.evidence != reports.REPORTS:
        raise MethodError(
            f"{chosen.name} searches {chosen.evidence}, not reports that devices have randomised; "
            f"use one of {', '.join(catalogue.on_evidence(reports.REPORTS))}"
        )
    return chosen


def check_options(chosen: Sequence[Method], settings: Settings) -> None:
    check_uses(chosen, catalogue.available(), settings.special())


def check_shared(chosen: Sequence[Method]) -> None:
    """Several methods on one budget must live on one measurement."""
    first = chosen[0]
    for other in chosen[1:]:
        if other.measure is not first.measure:
            raise MethodError(
                f"{other.name} measures {other.evidence} of its own, and {first.name} measures "
                f"{first.evidence}; methods that are run together share one measurement: name "
                f"some of {', '.join(sharing(first))}, or make two runs, each with its own budget"
            )


def sharing(method: Method) -> list[str]:
    """The methods that live on the same measurement."""
    return [m.name for m in catalogue.available() if m.measure is method.measure]


def published_by(chosen: Sequence[Method], private: bool, ledger: object) -> Published:
    """The one method as its paper has it, or a refusal."""
    check_never_charged(private, ledger)
    paper = chosen[0].published
    if len(chosen) > 1 or paper is None:
        named = [method.name for method in catalogue.available() if method.published]
        raise MethodError(
            f"{' and '.join(method.name for method in chosen)} cannot be run as published, or not "
            f"together; choose one of {', '.join(named)}"
        )
    return paper


def share_for_pairs(
    chosen: Sequence[Method], schema: Schema, settings: Settings, as_published: bool
) -> Fraction:
    """The share of the budget for pairs, or a refusal."""
    if settings.orient_pairs is None:
        return Fraction(0)
    problem = ""
    if as_published or settings.subsample is not None:
        problem = (
            "goes neither with ⟦as_published=True⟧ nor with ⟦subsample⟧, which have no share left"
        )
    elif chosen[0].graph != "cpdag":
        problem = f"is for undirected edges, and {chosen[0].name} finds a {chosen[0].graph.upper()}"
    elif len(numeric(schema)) < 2:
        problem = "needs two numeric columns, and there are fewer in the schema"
    if problem:
        raise MethodError(f"⟦orient_pairs⟧ {problem}; leave it away")
    return Fraction(repr(settings.orient_pairs))


def check_no_pairs(settings: Settings) -> None:
    if settings.orient_pairs is not None:
        raise MethodError("⟦orient_pairs⟧ asks rows, and here are reports only; leave it away")


# -- ways to orient pairs


def name_pairs(cause_effect: Names | None, all_pairs: bool, *, needed: bool) -> tuple[Names, ...]:
    """The pair that was named; none if all are meant, or if none is ``needed``."""
    if cause_effect is not None and all_pairs:
        raise MethodError(
            f"both a pair ({cause_effect!r}) and all pairs were asked for; leave one of the two "
            "away"
        )
    if cause_effect is None:
        if needed and not all_pairs:
            raise MethodError(
                "no pair was named; name two columns with "
                "⟦cause_effect=('A', 'B')¦--cause-effect A,B⟧, or ask for ⟦all_pairs=True⟧"
            )
        return ()
    names = tuple(cause_effect) if isinstance(cause_effect, list | tuple) else ()
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise MethodError(f"cause_effect is {cause_effect!r}; give the names of two columns")
    return ((names[0], names[1]),)


def every_pair(schema: Schema) -> tuple[Names, ...]:
    names = numeric(schema)
    if len(names) < 2:
        raise SchemaError(
            f"schema {schema.name!r} has {len(names)} numeric column(s), but a pair needs 2; "
            'declare columns of numbers kind = "numeric" with bounds'
        )
    return tuple(combinations(names, 2))


def check_way(
    way: Way, choices: Choices, private: bool, as_published: bool, ledger: object
) -> None:
    """Refuse a way or a choice that does not go with the promise."""
    check_uses([way], all_ways(), choices.special())
    if as_published:
        check_never_charged(private, ledger)
        _check_published(way, choices)
        return
    if choices.protect != "both":
        raise MethodError(
            f"protect is {choices.protect!r}, which promises nothing to people in the other half "
            "of the rows, so it cannot be bought from a budget; leave it away, or run it as "
            "published, which is not private (⟦as_published=True⟧)"
        )
    if not private:
        check_free("private=False", {"a ledger": ledger is not None})
    check_private(way, private)


def _check_published(way: Way, choices: Choices) -> None:
    if way.published is None or choices.find_bounds:
        what = way.name if way.published is None else f"{way.name} with find_bounds"
        named = [other.name for other in all_ways() if other.published]
        raise MethodError(
            f"{what} cannot be run as published; choose one of {', '.join(named)}, without "
            "find_bounds"
        )
    if choices.protect == "both":
        raise MethodError(
            "as published, a method protects one half of the rows; say which: ⟦protect='test'⟧ or "
            "⟦protect='training'⟧"
        )


def check_stability_test(way: Way, schema: Schema, delta: float) -> None:
    """Refuse what a test cannot do, before the data set has a budget for it."""
    if not delta > 0:
        raise MethodError(
            f"delta is {delta!r}, but {way.name} asks for what a noisy test has found stable, and "
            f"such a test misleads with a small probability, which is part of delta; give one far "
            f"below 1 / (number of people), such as ⟦delta=1e-6⟧, or use ⟦method={AUTO!r}⟧"
        )
    if schema.rows_per_person > 1:
        raise MethodError(
            f"rows_per_person = {schema.rows_per_person}, but {way.name} tests for stability "
            f"against one record; use ⟦method={AUTO!r}⟧, or anm-sqrt-hsic"
        )
