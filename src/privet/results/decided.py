"""What a search has decided about two columns, in sentences that its own record entails."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from privet.methods.decision import Decision
from privet.search.skeleton import Rule

CERTAIN = 9  # digits of odds beyond which there is no doubt
TEN = log(10)
NOTHING = 1e-6  # log odds of a column that does not vary given others

# Why a test that speaks against an edge does not explain it.
KEPT: dict[Rule | None, str] = {
    "contradiction": "it contradicts an explanation that the search has taken before",
    "circle": "explanations would go round in a circle: what should explain this edge was itself "
    "explained by its ends",
    "paths": "not all of it lies on paths between the two",
    "neighbours": "it is not among the neighbours of either of the two",
    None: "its rules forbid it",
}


def odds(log_odds: float) -> str:
    """Odds for or against, in digits that a reader wants."""
    return f"{_size(log_odds)} to 1 {'for' if log_odds >= 0 else 'against'}"


def weighed(log_odds: float) -> str:
    """What the evidence of a test says."""
    if abs(log_odds) < NOTHING:
        return "the evidence says nothing (odds of 1 to 1)"
    return f"the evidence is {odds(log_odds)} a dependence"


def _size(log_odds: float) -> str:
    size = abs(log_odds) / TEN
    if size >= CERTAIN:
        return "more than a billion"
    return f"{10**size:.3g}" if size < 3 else f"{round(10**size):,}"


def sentences(
    pair: tuple[str, str], joined: bool, decision: Decision, left: str | None
) -> list[str]:
    """Of two columns that are joined, or not; ``left`` is the effect that the test left."""
    if decision.by in ("tests", "rule", "implied"):
        return _of_test(joined, decision, left)
    if decision.by == "score":
        return _of_score(pair, joined, decision)
    return [_of_others(joined, decision)]


def _of_test(joined: bool, decision: Decision, left: str | None) -> list[str]:
    assert decision.log_odds is not None and decision.threshold is not None
    given = f"given {names(decision.given)}" if decision.given else "given nothing"
    found = weighed(decision.log_odds)
    found = (
        found
        if left is None or abs(decision.log_odds) < NOTHING
        else f"{left} is left, and {found}"
    )
    enough = decision.log_odds >= decision.threshold
    bar = f"an edge needs odds of {_size(decision.threshold)} to 1"
    if decision.by == "implied":
        return [
            f"Given the parents of both in the graph ({given}), {found}.",
            _implied(joined, decision),
        ]
    if joined and decision.by == "tests":
        return [
            f"Of all tests of the two that the search asked, the one {given} speaks least for an "
            f"edge: {found}. That is why there is an edge ({bar} in every test)."
        ]
    if joined:
        return [
            f"The search also asked {given}: {found}, where {bar}. It does not take that as an "
            f"explanation, because {KEPT[decision.rule]}{_against(decision)}. That is why there is "
            "an edge."
        ]
    asked = f"{given[0].upper()}{given[1:]}, {found}."
    if enough:
        return [asked, "The search had this test in other company; so what decided is not known."]
    if decision.log_odds > -decision.threshold:
        little = f"That is too little for an edge ({bar} in every test)"
        return [asked, f"{little}, and no proof that there is none."]
    return [asked, f"That is why there is no edge ({bar} in every test)."]


def _against(decision: Decision) -> str:
    if not decision.against:
        return ""
    z, end, *given = decision.against
    return f" ({z} and {end} are separated given {names(given) if given else 'nothing'})"


def _implied(joined: bool, decision: Decision) -> str:
    assert decision.log_odds is not None and decision.threshold is not None
    enough = decision.log_odds >= decision.threshold
    bar = f"odds of {_size(decision.threshold)} to 1"
    if joined == enough:
        what = "an edge" if joined else "no edge"
        return f"That is why there is {what} (to join two columns takes {bar})."
    if joined and decision.log_odds >= 0:
        return (
            f"To join the two would take {bar}, but only odds against a dependence take an edge "
            "away. That is why the edge stays."
        )
    return (
        "That contradicts the graph: of all graphs that the search has tried, it keeps the one "
        "that tests contradict least."
    )


def _of_score(pair: tuple[str, str], joined: bool, decision: Decision) -> list[str]:
    gain = decision.log_odds
    if gain is None or decision.effect is None:
        full = " A column has as many parents as it may have." if decision.rule == "parents" else ""
        return [f"The score of whole graphs decided, no single test.{full}"]
    parents = f"Beside {names(decision.given)}" if decision.given else "Alone"
    cause = pair[pair[0] == decision.effect]
    does = "adds" if joined else "would add"
    size = f"{does} {_number(gain)} to"
    if gain < 0:
        size = f"{'takes' if joined else 'would take'} {_number(-gain)} from"
    among = "among the pairs that tests had left" if decision.tested else "and no single test"
    first = (
        f"A score decided, {among}. {parents}, {cause} as a cause of {decision.effect} "
        f"{size} the logarithm of the score of the graph."
    )
    if joined and gain > 0:
        return [first, "That is why there is an edge."]
    if not joined and gain <= 0:
        return [first, "That is why there is no edge."]
    if joined:
        return [first, "The search goes step by step, and has taken no step that removes the edge."]
    if decision.rule == "parents":
        return [first, f"But {decision.effect} has as many parents as it may have."]
    return [first, "The search goes step by step, and has taken no step that joins the two."]


def _number(gain: float) -> str:
    return f"{gain:,.0f}" if gain >= 100 else f"{gain:.3g}"


def _of_others(joined: bool, decision: Decision) -> str:
    if decision.by == "knowledge" and decision.rule == "circle":
        return (
            "The search has joined them, but what the schema forbids would have left a circle of "
            "arrows, of which this edge was the weakest."
        )
    if decision.by == "knowledge":
        what = "requires this arrow" if joined else "forbids it"
        return f"The schema {what}, so nothing was asked of the data."
    if decision.by == "copy":
        return (
            "One says the same as the other: that is why they are joined."
            if joined
            else "One is a copy of another column, beside which it was left out of the search."
        )
    if decision.by == "weights":
        return (
            "The weights of a linear model decided, no single test: they are fitted to all columns "
            "together, and small ones are dropped."
        )
    if decision.by == "confidence":
        return "The search has joined them, with less confidence than was asked for."
    return "What decided is not known: the search keeps no record of it."


def names(given: Sequence[str]) -> str:
    return " with ".join(given)
