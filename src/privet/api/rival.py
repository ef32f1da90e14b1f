"""The front door for comparison over the rows of several sites: PERI and its rivals as papers have
them. Nothing is charged and nothing is promised; ``combine`` is the private door.
"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from privet.api.checks import (
    check_budget_options,
    check_data,
    check_never_charged,
    read_schema,
)
from privet.arrays import OnStep, say_nothing
from privet.errors import DataError, MethodError
from privet.graph.graph import Graph
from privet.methods.literature.as_published import peri as noisy
from privet.methods.literature.as_published import rivals
from privet.methods.literature.as_published.rivals import Agreement, Choices, Rival
from privet.methods.sources.tables import check_size
from privet.results import certificate as certificates
from privet.results.comparison import Comparison
from privet.results.no_promise import Claim, not_private
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.regret import Objective
from privet.trust.session import without_privacy

USUAL: dict[str, Any] = {"score": None, "objective": "worst", "share": 1.0}


def rival(
    *data: object,
    schema: Schema | str | Path | None,
    method: str = "peri",
    private: bool = True,
    as_published: bool = False,
    epsilon: float | None = None,
    score: str | None = None,
    objective: Objective = "worst",
    share: float = 1.0,
    seed: int = 0,
    on_step: OnStep | None = None,
) -> Comparison:
    """One graph from the rows of several sites, for comparison only: nothing here is private.

    ``data`` are the tables of the sites, as ``discover`` takes them. All methods need
    ``private=False``; ``peri`` can also be run ``as_published`` with the noise for which its paper
    claims ``epsilon``. ``share`` is the part of the sites that ``peri`` asks in an iteration.
    """
    known, chosen = read_schema(schema), rivals.get(method)
    _check_promise(chosen, private, as_published, epsilon)
    options = {"score": score, "objective": objective, "share": share}
    _check_options(chosen, options)
    chosen.check(known)
    choices = Choices(
        score=chosen.score(known, score),
        objective=objective,
        share=share,
        seed=seed,
        epsilon=epsilon,
    )
    if not known.has_moments:
        check_size(known)
    if len(data) < 2:
        raise DataError(f"{len(data)} table(s) were given, but sites are at least 2; name them all")
    for table in data:
        check_data(table)
    (on_step or say_nothing)("asking the sites", 0.1)
    curators = [without_privacy(table, known) for table in data]
    found = chosen.run(curators, Constraints.of(known.names, known.knowledge), choices)
    return _result(known, chosen, choices, found, len(data))


def _check_promise(chosen: Rival, private: bool, as_published: bool, epsilon: float | None) -> None:
    if as_published:
        check_never_charged(private, None)
        check_budget_options(epsilon, None, True)
        if chosen.name != "peri":
            raise MethodError(
                f"{chosen.name} has no noise of its own, so it cannot be run as published; use "
                "⟦private=False⟧, or peri"
            )
    elif private:
        raise MethodError(
            f"{chosen.name} over the rows of sites is not private; add ⟦private=False⟧ to compare "
            "with it, or let each site run discover with ⟦site⟧ and put their evidence "
            "together by combine with ⟦method='interaction-peri'⟧"
        )
    else:
        check_budget_options(epsilon, None, False)


def _check_options(chosen: Rival, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value != USUAL[name] and name not in chosen.uses:
            raise MethodError(f"{name} is {value!r}, but {chosen.name} has none; leave it away")
    if options["objective"] not in get_args(Objective):
        raise MethodError(
            f"there is no objective {options['objective']!r}; choose "
            f"{' or '.join(get_args(Objective))}"
        )
    share = options["share"]
    if isinstance(share, bool) or not isinstance(share, int | float) or not isfinite(share):
        raise MethodError(f"share is {share!r}; give a part of the sites, such as 0.2")
    if not 0 < share <= 1:
        raise MethodError(f"share is {share:g}, but it must be above 0 and at most 1 (all sites)")


def _result(
    schema: Schema, chosen: Rival, choices: Choices, found: Agreement, sites: int
) -> Comparison:
    claim = None
    if choices.epsilon is not None:
        claim = Claim(epsilon=choices.epsilon, delta=0.0, why=noisy.WHY)
    measured = not_private(schema, chosen.name, (), claim)
    asked = {name: value for name, value in asdict(choices).items() if name in chosen.uses}
    traffic = None if found.traffic is None else asdict(found.traffic)
    notes = ["All rows would have to be in one place."]
    if found.traffic is not None:
        notes = [
            f"{found.traffic.iterations:,} iteration(s): {sites} sites send "
            f"{found.traffic.messages:,} messages with {found.traffic.bytes_up:,} bytes and are "
            f"sent {found.traffic.bytes_down:,} bytes."
        ]
    return Comparison(
        graph=Graph.from_matrix(schema.names, found.matrix, chosen.graph),
        certificate=certificates.of_search(
            measured, chosen.name, {**asked, "seed": choices.seed}, sites=sites, traffic=traffic
        ),
        method=chosen.name,
        notes=tuple(notes),
    )
