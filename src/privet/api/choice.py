"""Which methods are meant, and whether they can do what is asked, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence

from privet.errors import MethodError
from privet.methods import catalogue
from privet.methods.method import USUAL_DELTA, Method, Published
from privet.methods.options import Settings
from privet.results import saved as evidence_file
from privet.results.certificate import Certificate
from privet.results.saved import Saved
from privet.schema.model import Schema


def published_by(chosen: Sequence[Method], private: bool, ledger: object) -> Published:
    """The one method as its paper has it, or a refusal."""
    if not private or ledger is not None:
        raise MethodError(
            "a method as published was asked for together with --no-privacy or a ledger, but it "
            "has a claimed epsilon of its own and is never charged; leave them away"
        )
    paper = chosen[0].published
    if len(chosen) > 1 or paper is None:
        named = [method.name for method in catalogue.available() if method.published]
        raise MethodError(
            f"{' and '.join(method.name for method in chosen)} cannot be run as published, or not "
            f"together; choose one of {', '.join(named)}"
        )
    return paper


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


def check_options(chosen: Sequence[Method], settings: Settings) -> None:
    """Refuse an option that none of the methods uses."""
    for name, value in settings.special().items():
        if not any(name in method.uses for method in chosen):
            users = [method.name for method in catalogue.available() if name in method.uses]
            raise MethodError(
                f"{name} is {value!r}, but {' and '.join(m.name for m in chosen)} has no such "
                f"option; leave it away, or use one of {', '.join(users)}"
            )


def check_shared(chosen: Sequence[Method]) -> None:
    """Several methods on one budget must live on one measurement."""
    first = chosen[0]
    for other in chosen[1:]:
        if other.measure is not first.measure:
            raise MethodError(
                f"{other.name} measures {other.evidence} of its own, and {first.name} measures "
                f"{first.evidence}; methods that are run together share one measurement: name "
                f"some of {', '.join(_sharing(first))}, or make two runs, each with its own budget"
            )


def _sharing(method: Method) -> list[str]:
    return [m.name for m in catalogue.available() if m.measure is method.measure]


def check_evidence(chosen: Method, saved: Saved, measured: Certificate) -> None:
    """Whether this method can search this evidence; if not, what it lacks and what would serve."""
    held = {evidence_file.kind(release, saved.schema) for release in saved.releases}
    by = catalogue.get(measured["method"])
    if chosen.evidence == "exact" and measured["private"]:
        raise MethodError(
            f"{chosen.name} searches exact evidence ({chosen.reason}), but this was measured with "
            f"privacy by {by.name}; use one of {', '.join(_sharing(by))}, which know the noise"
        )
    if chosen.evidence not in ("exact", *held):
        fits = all(column.kind in chosen.kinds for column in saved.schema.columns)
        again = f", or run {chosen.name} on the data, for a budget of its own" if fits else ""
        if fits and measured["spent"]:
            spent = measured["spent"]["epsilon"]
            again += f" (as much again would make it epsilon {2 * spent:.3g} at most together)"
        raise MethodError(
            f"{chosen.name} searches {chosen.evidence}, which this evidence does not hold (it has "
            f"{' and '.join(sorted(held))}, measured by {by.name}); use one of "
            f"{', '.join(_sharing(by))}{again}"
        )
    if evidence_file.told(saved) and chosen is not by:
        raise MethodError(
            f"this evidence holds the answers that {by.name} was told step by step, of which "
            f"{chosen.name} can make nothing; use --method {by.name}, or run {chosen.name} on the "
            "data, for a budget of its own"
        )


def check_told(saved: Saved, settings: Settings) -> None:
    """Refuse options of questions that were asked long ago."""
    given = {**settings.special(), "alpha": settings.alpha}
    given["max_order"] = None if settings.max_order == Settings.max_order else settings.max_order
    free = {"threshold", "steps", "sparsity"}  # of weights, which check these themselves
    named = [name for name, value in given.items() if value is not None and name not in free]
    if evidence_file.told(saved) and named:
        raise MethodError(
            f"{named[0]} is {given[named[0]]!r}, but this evidence holds the answers to questions "
            f"that were asked without it; leave it away, or run the method on the data with it"
        )


def best_delta(
    names: Sequence[str], schema: Schema, epsilon: float | None, cap: float | None
) -> float:
    """The delta of a run that names none: what serves its method best, or fits the cap of its
    data set, which counts either with a delta or without."""
    if cap is not None or epsilon is None:
        return 0.0 if cap == 0 else USUAL_DELTA
    first = names[0]
    method = catalogue.auto(schema, USUAL_DELTA, True) if first == "auto" else catalogue.get(first)
    return method.delta(schema, epsilon)


def choose(name: str, schema: Schema, delta: float, private: bool) -> Method:
    chosen = catalogue.auto(schema, delta, private) if name == "auto" else catalogue.get(name)
    if private and not chosen.private:
        raise MethodError(
            f"{chosen.name} is not private ({chosen.reason}), but an epsilon was given; add "
            f"--no-privacy and leave epsilon away, or use --method auto"
        )
    return chosen
