"""Why two columns are joined, or not: effects with the noise in them, what decided in the search,
and how sure the graph is. It reads evidence only, so it is free.

The search keeps a record of its decisions (``methods/record.py``); for files it is made again on
the evidence, without replicas, to have one. The effect of a test is what the noise leaves of it: a
bias-corrected Cramér's V, pooled over the levels of what is given, or a partial correlation. Its
interval holds 95 of 100 times and contains both the noise of privacy and chance in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import log
from typing import Any

import numpy as np

from privet.arrays import Indices
from privet.errors import EvidenceError, SchemaError
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence
from privet.graph.copies import ORIGIN as COPY
from privet.graph.edge import DASHED, Edge
from privet.graph.graph import Graph
from privet.graph.notebook import arrow_of
from privet.independence.effects import of_tables
from privet.independence.fisher_z import MomentJudge, fisher_z
from privet.independence.joint import JointMomentJudge, JointTableJudge
from privet.independence.tables import TableJudge
from privet.markup.pieces import notebook, paragraphs, share
from privet.methods import catalogue
from privet.methods.decision import Decides, Decision
from privet.methods.options import Settings, make_settings
from privet.methods.sources.source import by_site
from privet.pairs.way import pair_of
from privet.results.association import Association, of_levels, of_numbers
from privet.results.decided import NOTHING, TEN, odds, sentences
from privet.results.saved import Saved, kind
from privet.search.protocols import Judge

WIDE = 1.96  # deviations of a 95% interval
CRAMER = "Cramér's V"
WIDEST = 2  # columns given beside which tables of evidence tell an effect
UNKNOWN = Decision(by="unknown")

Question = tuple[int, ...]  # (x, y, *Z)
# The effects of questions, each with its interval.
Effects = Callable[[Sequence[Question]], list[tuple[float, float, float]]]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An effect given some columns, its interval, and the logarithm (base 10) of the Bayes factor
    for dependence; ``joins`` says whether that is enough for an edge."""

    given: tuple[str, ...]
    effect: float
    low: float
    high: float
    log10_bayes: float
    joins: bool

    @property
    def odds(self) -> str:
        return odds(self.log10_bayes * TEN)

    @property
    def sized(self) -> str:
        return f"{self.effect:.3f} (between {self.low:.3f} and {self.high:.3f}, noise included)"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """``text`` is one paragraph for a person; ``tests`` has the effect given nothing and, if
    another test or a score decided, given what it did.

    ``decided_by`` names what decided: "tests" (each that was asked is enough for an edge, or one is
    not), "rule" (of the search, against a test), "implied" (what the graph implies was tested), a
    "score", "weights", "knowledge", a "copy", "confidence" (less than was asked for) or "unknown".
    ``decided_given`` are the columns given there, ``log_odds`` the natural logarithm of the odds
    for a dependence, and ``threshold`` what an edge needs; of a score, what the edge adds to its
    logarithm, and 0. ``association`` says whether more of one goes with more of the other."""

    a: str
    b: str
    mark: str | None
    what: str
    confidence: float | None
    arrow_confidence: float | None
    decided_by: str
    decided_given: tuple[str, ...]
    log_odds: float | None
    threshold: float | None
    rule: str | None
    association: Association | None
    tests: tuple[Answer, ...]
    text: str

    def to_dict(self) -> dict[str, Any]:
        signed = None if self.association is None else self.association.to_dict()
        return {**asdict(self), "association": signed}

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """A paragraph, which a notebook breaks between words."""
        return notebook(paragraphs([self.text]))


def explain(
    saved: Saved,
    graph: Graph,
    run: Mapping[str, Any],
    a: str,
    b: str,
    record: Decides | None = None,
) -> Explanation:
    """About two columns of a graph that a run found in this evidence; ``run`` has the method and
    the options of its search, as a certificate. Without its ``record`` the search is repeated."""
    for name in (a, b):
        saved.schema.column(name)  # a name that is not there is refused, with what was meant
    if a == b:
        raise SchemaError(f"both columns are {a!r}; name two different ones")
    return explanations(saved, graph, run, [(a, b)], record)[0]


def explanations(
    saved: Saved,
    graph: Graph,
    run: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    record: Decides | None = None,
) -> tuple[Explanation, ...]:
    """About each of these pairs; the evidence is read once."""
    if graph.nodes != saved.schema.names:
        raise EvidenceError("the graph has other columns than the evidence; give both from one run")
    what, judge, effects = _read(saved, float(run["options"]["alpha"]))
    decisions = _decisions(record or _record(saved, run), graph, run, pairs)
    at = {name: i for i, name in enumerate(graph.nodes)}
    asked = []
    for (a, b), decision in zip(pairs, decisions, strict=True):
        given = decision.given if what != CRAMER or len(decision.given) <= WIDEST else ()
        sets = dict.fromkeys(((), given))
        asked.append([(at[a], at[b], *sorted(at[z] for z in each)) for each in sets])
    answers = _answers(graph.nodes, judge, effects, asked, 1 / float(run["options"]["alpha"]))
    signs = _signs(saved, what, effects, pairs)
    each = zip(pairs, decisions, answers, signs, strict=True)
    return tuple(_explanation(graph, what, *of) for of in each)


def _decisions(
    record: Decides | None, graph: Graph, run: Mapping[str, Any], pairs: Sequence[tuple[str, str]]
) -> list[Decision]:
    if record is None:
        return [UNKNOWN] * len(pairs)
    least = float(run["options"].get("min_confidence", 0))
    return [_decision(record, graph, least, *pair) for pair in pairs]


def _record(saved: Saved, run: Mapping[str, Any]) -> Decides | None:
    """That of the same search, made once more on the same evidence. What it conditions on by itself
    depends on the evidence; whoever asked for another number of columns gets that."""
    names = {field.name for field in fields(Settings)} - {"max_order", "orient_pairs"}
    options = {name: value for name, value in run["options"].items() if name in names}
    releases = tuple(release for release in saved.releases if pair_of(release) is None)
    search = catalogue.get(run["method"]).search
    for order in (None, int(run["options"]["max_order"])):
        settings = replace(make_settings(**options, max_order=order), replicas=0)
        found = search(saved.schema, releases, settings)
        if found.order in (None, int(run["options"]["max_order"])):
            return found.record
    return None


def _decision(record: Decides, graph: Graph, least: float, a: str, b: str) -> Decision:
    joined = graph.edge(a, b) is not None
    found = record.decision(a, b)
    if found.by == "copy":
        return found
    if joined == (record.graph.edge(a, b) is not None):
        return found
    return UNKNOWN if joined or not least else Decision(by="confidence")


def _answers(
    names: Sequence[str],
    judge: Judge,
    effects: Effects,
    asked: Sequence[Sequence[Question]],
    bar: float,
) -> list[list[Answer]]:
    """To the questions about each pair, but for those that the evidence does not answer."""
    every = [question for each in asked for question in each]
    sized, margins = effects(every), np.full(len(every), np.inf)
    for places, questions in _by_size(every):
        margins[places] = judge.margins(questions)
    for at in np.flatnonzero(np.abs(margins + log(bar)) < NOTHING).tolist():
        sized[at] = (0.0, 0.0, 1.0)  # given these, one of the two does not vary
    found = iter(zip(every, sized, margins.tolist(), strict=True))
    out = []
    for each in asked:
        some = [next(found) for _ in each]
        out.append(
            [
                Answer(
                    given=tuple(names[i] for i in question[2:]),
                    effect=effect,
                    low=low,
                    high=high,
                    log10_bayes=(margin + log(bar)) / TEN,
                    joins=margin >= 0,
                )
                for question, (effect, low, high), margin in some
                if np.isfinite(margin)
            ]
        )
    return out


def _signs(
    saved: Saved, what: str, effects: Effects, pairs: Sequence[tuple[str, str]]
) -> list[Association | None]:
    if what == CRAMER:
        return of_levels(saved, pairs)
    at = {name: i for i, name in enumerate(saved.schema.names)}
    sized = effects([(at[a], at[b]) for a, b in pairs])
    columns = [(saved.schema.column(a), saved.schema.column(b)) for a, b in pairs]
    return [of_numbers(*two, *each) for two, each in zip(columns, sized, strict=True)]


def _explanation(
    graph: Graph,
    what: str,
    pair: tuple[str, str],
    decision: Decision,
    tests: list[Answer],
    association: Association | None,
) -> Explanation:
    (a, b), edge = pair, graph.edge(*pair)
    return Explanation(
        a=a,
        b=b,
        mark=None if edge is None else str(edge),
        what=what,
        confidence=None if edge is None else edge.confidence,
        arrow_confidence=None if edge is None else edge.arrow_confidence,
        decided_by=decision.by,
        decided_given=decision.given,
        log_odds=decision.log_odds,
        threshold=decision.threshold,
        rule=decision.rule,
        association=association,
        tests=tuple(tests),
        text=" ".join(_text(pair, graph, what, decision, tests, association)),
    )


def _text(
    pair: tuple[str, str],
    graph: Graph,
    what: str,
    decision: Decision,
    tests: Sequence[Answer],
    association: Association | None,
) -> Iterator[str]:
    (a, b), edge = pair, graph.edge(*pair)
    yield f"{a} and {b} are not joined." if edge is None else f"{a} and {b} are joined ({edge})."
    first = next((test for test in tests if not test.given), None)
    if first is not None:
        yield f"Given nothing, their effect ({what}) is {first.sized}."
    if association is not None:
        yield association.text
    same = (test.sized for test in tests if set(test.given) == set(decision.given))
    yield from sentences(
        pair, edge is not None, decision, next(same, None) if decision.given else None
    )
    if edge is not None and edge.confidence is not None:
        yield _confident(edge)
    if {a, b} in [set(each) for each in graph.undecided]:
        yield "A strong dependence is not ruled out, so the graph calls this pair undecided."
    yield from _copies(graph, a, b)


def _read(saved: Saved, alpha: float) -> tuple[str, Judge, Effects]:
    held = {kind(release, saved.schema) for release in saved.releases}
    if "tables" in held:
        read = [
            TableEvidence.from_releases(saved.schema, saved.schema.names, part)
            for part in by_site(saved.releases)
        ]
        if all(2 in site.layers for site in read):
            sites = tuple(read)
            one = len(sites) == 1
            judge: Judge = TableJudge(sites[0], alpha) if one else JointTableJudge(sites, alpha)
            judges = [TableJudge(site, alpha) for site in sites]
            return CRAMER, judge, partial(_of_tables, judges)
    elif "moments" in held:
        moments = tuple(MomentEvidence.from_releases(part) for part in by_site(saved.releases))
        one = len(moments) == 1
        judge = MomentJudge(moments[0], alpha) if one else JointMomentJudge(moments, alpha)
        return "partial correlation", judge, partial(_of_moments, moments)
    raise EvidenceError(
        f"this evidence holds {' and '.join(sorted(held))}, of which no effects of pairs can be "
        "made; explain a graph of an interaction-… or moment-… method, or of one without privacy"
    )


def _by_size(questions: Sequence[Question]) -> Iterator[tuple[list[int], Indices]]:
    """Questions with as many given columns together, and where they stand."""
    for size in sorted(set(map(len, questions))):
        at = [i for i, question in enumerate(questions) if len(question) == size]
        yield at, np.array([questions[i] for i in at], dtype=np.intp)


def _of_tables(
    judges: Sequence[TableJudge], questions: Sequence[Question]
) -> list[tuple[float, float, float]]:
    effects = np.zeros((len(questions), 3))
    for at, asked in _by_size(questions):
        found = of_tables(judges, asked)
        effects[at] = np.column_stack([found.sizes(), *found.intervals()])
    return [(effect, low, high) for effect, low, high in effects.tolist()]


def _of_moments(
    sites: Sequence[MomentEvidence], questions: Sequence[Question]
) -> list[tuple[float, float, float]]:
    effects = np.zeros((len(questions), 3))
    for at, asked in _by_size(questions):
        tested = [fisher_z(site, asked) for site in sites]
        weights = np.array([1 / one.variance for one in tested])
        z = (weights * np.array([one.z for one in tested])).sum(axis=0) / weights.sum(axis=0)
        wide = WIDE / np.sqrt(weights.sum(axis=0))
        effects[at] = np.tanh(np.column_stack([z, z - wide, z + wide]))
    return [(effect, low, high) for effect, low, high in effects.tolist()]


def _confident(edge: Edge) -> str:
    """Scores: shares of redrawn evidence, and of an edge that all of it has, its odds too."""
    arrow = arrow_of(edge)
    direction = "" if arrow is None else f", that of its arrow {share(arrow)}"
    why = f" The arrow is tentative: {edge.why}." if edge.shown == DASHED else ""
    why = f" Its direction is open: {edge.why}." if edge.why and not why else why
    return f"The confidence of the edge is {share(edge.confidence or 0.0)}{direction}.{why}"


def _copies(graph: Graph, a: str, b: str) -> Iterable[str]:
    for name in (a, b):
        for edge in graph.edges:
            if edge.origin == COPY and name in (edge.source, edge.target):
                yield f"{edge.source} and {edge.target} say the same; the search got one of them."
                return
