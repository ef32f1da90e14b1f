"""Why two columns are joined, or not: effects with the noise in them, the tests that decided, and
how sure the graph is. It reads evidence only, so it is free.

The effect of a test is what the noise leaves of it: a bias-corrected Cramér's V, pooled over the
levels of what is given, or a partial correlation. Its interval holds 95 of 100 times and contains
both the noise of privacy and chance in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from math import log, log10
from typing import Any

import numpy as np

from privet.arrays import Indices
from privet.errors import EvidenceError, SchemaError
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence
from privet.graph.copies import ORIGIN as COPY
from privet.graph.edge import DASHED, Edge
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.notebook import arrow_of
from privet.independence.effects import of_tables
from privet.independence.fisher_z import MomentJudge, fisher_z
from privet.independence.joint import JointMomentJudge, JointTableJudge
from privet.independence.tables import TableJudge
from privet.markup.pieces import notebook, paragraphs, share
from privet.methods.sources.source import by_site
from privet.results.saved import Saved, kind
from privet.search.protocols import Judge

WIDE = 1.96  # deviations of a 95% interval
LARGEST = 2  # columns given
CERTAIN = 9  # digits of odds beyond which there is no doubt

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
        size = abs(self.log10_bayes)
        shown = "more than a billion"
        if size < CERTAIN:
            shown = f"{10**size:.3g}" if size < 3 else f"{round(10**size):,}"
        return f"{shown} to 1 {'for' if self.log10_bayes >= 0 else 'against'}"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """``text`` is one paragraph for a person; ``tests`` has the effect given nothing, and given
    the one and the two columns that come closest to explaining it."""

    a: str
    b: str
    mark: str | None
    what: str
    confidence: float | None
    arrow_confidence: float | None
    tests: tuple[Answer, ...]
    text: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """A paragraph, which a notebook breaks between words."""
        return notebook(paragraphs([self.text]))


def explain(saved: Saved, graph: Graph, options: Mapping[str, Any], a: str, b: str) -> Explanation:
    """About two columns of a graph that was found in this evidence with these options."""
    for name in (a, b):
        saved.schema.column(name)  # a name that is not there is refused, with what was meant
    if a == b:
        raise SchemaError(f"both columns are {a!r}; name two different ones")
    return explanations(saved, graph, options, [(a, b)])[0]


def explanations(
    saved: Saved, graph: Graph, options: Mapping[str, Any], pairs: Sequence[tuple[str, str]]
) -> tuple[Explanation, ...]:
    """About each of these pairs; the evidence is read once."""
    if graph.nodes != saved.schema.names:
        raise EvidenceError("the graph has other columns than the evidence; give both from one run")
    what, judge, effects = _read(saved, float(options["alpha"]))
    asked = _closest(judge, graph, pairs, min(LARGEST, int(options["max_order"])))
    sized = effects([question for each in asked for question, _ in each])
    made, bar = [], 1 / float(options["alpha"])
    for pair, each in zip(pairs, asked, strict=True):
        tests = [
            Answer(
                given=tuple(graph.nodes[i] for i in question[2:]),
                effect=effect,
                low=low,
                high=high,
                log10_bayes=(margin + log(bar)) / log(10),
                joins=margin >= 0,
            )
            for (question, margin), (effect, low, high) in zip(each, sized, strict=False)
        ]
        sized = sized[len(each) :]
        made.append(_explanation(*pair, graph, what, tests, bar, saved.schema.knowledge))
    return tuple(made)


def _explanation(
    a: str,
    b: str,
    graph: Graph,
    what: str,
    tests: Sequence[Answer],
    bar: float,
    knowledge: Knowledge,
) -> Explanation:
    edge = graph.edge(a, b)
    open_ = {a, b} in [set(each) for each in graph.undecided]
    text = _text(a, b, edge, what, tests, bar, knowledge)
    doubt = ["A strong dependence is not ruled out, so the graph calls this pair undecided."]
    return Explanation(
        a=a,
        b=b,
        mark=None if edge is None else str(edge),
        what=what,
        confidence=None if edge is None else edge.confidence,
        arrow_confidence=None if edge is None else edge.arrow_confidence,
        tests=tuple(tests),
        text=" ".join([text, *(doubt if open_ else []), *_copies(graph, a, b)]),
    )


def _closest(
    judge: Judge, graph: Graph, pairs: Sequence[tuple[str, str]], most: int
) -> list[list[tuple[Question, float]]]:
    """For each pair and number of given columns, the question with neighbours of either that
    speaks least for dependence, and by how much it does."""
    near = _neighbours(graph)
    at = {name: i for i, name in enumerate(graph.nodes)}
    asked: dict[int, list[Question]] = {size: [] for size in range(most + 1)}
    for a, b in pairs:
        beside = [at[name] for name in graph.nodes if name in (near[a] | near[b]) - {a, b}]
        for size, questions in asked.items():
            questions += [(at[a], at[b], *given) for given in combinations(beside, size)]
    found: dict[tuple[int, int], list[tuple[Question, float]]] = {}
    for questions in asked.values():
        margins = judge.margins(np.array(questions, dtype=np.intp)) if questions else np.zeros(0)
        least: dict[tuple[int, int], tuple[Question, float]] = {}
        for question, margin in zip(questions, map(float, margins), strict=True):
            pair = question[0], question[1]
            if np.isfinite(margin) and (pair not in least or margin < least[pair][1]):
                least[pair] = question, margin
        for pair, each in least.items():
            found.setdefault(pair, []).append(each)
    return [found.get((at[a], at[b]), []) for a, b in pairs]


def _neighbours(graph: Graph) -> dict[str, set[str]]:
    """Of each column, but for copies, which explain everything and nothing."""
    near: dict[str, set[str]] = {name: set() for name in graph.nodes}
    for edge in graph.edges:
        if edge.origin != COPY:
            near[edge.source].add(edge.target)
            near[edge.target].add(edge.source)
    return near


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
            return "Cramér's V", judge, partial(_of_tables, judges)
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


def _text(
    a: str,
    b: str,
    edge: Edge | None,
    what: str,
    tests: Sequence[Answer],
    bar: float,
    knowledge: Knowledge,
) -> str:
    joined = f"{a} and {b} are not joined." if edge is None else f"{a} and {b} are joined ({edge})."
    parts = [joined]
    if edge is not None and edge.origin == "knowledge":
        parts.append("The schema requires this arrow, so nothing was asked of the data.")
    if edge is None and not (knowledge.may(a, b) or knowledge.may(b, a)):
        parts.append("The schema forbids it, so nothing was asked of the data.")
    for test in tests[:1]:
        parts.append(f"Given nothing, their effect ({what}) is {_sized(test)}: {_weighed(test)}.")
    if len(tests) > 1:
        closest = min(tests[1:], key=lambda test: test.log10_bayes)
        parts.append(
            f"Of all that could explain it, {_and(closest.given)} comes closest: given that, "
            f"{_sized(closest)} is left: {_weighed(closest)}."
        )
    parts += _verdict(edge, tests, bar)
    if edge is not None and edge.confidence is not None:
        parts.append(_confident(edge))
    return " ".join(parts)


def _confident(edge: Edge) -> str:
    """Scores: shares of redrawn evidence, and of an edge that all of it has, its odds too."""
    arrow = arrow_of(edge)
    direction = "" if arrow is None else f", that of its arrow {share(arrow)}"
    why = f" The arrow is tentative: {edge.why}." if edge.shown == DASHED else ""
    why = f" Its direction is open: {edge.why}." if edge.why and not why else why
    return f"The confidence of the edge is {share(edge.confidence or 0.0)}{direction}.{why}"


def _sized(test: Answer) -> str:
    return f"{test.effect:.3f} (between {test.low:.3f} and {test.high:.3f}, noise included)"


def _weighed(test: Answer) -> str:
    return f"the evidence is {test.odds} a dependence"


def _verdict(edge: Edge | None, tests: Sequence[Answer], bar: float) -> list[str]:
    if not tests or (edge is not None and edge.origin in ("knowledge", COPY)):
        return []
    lowest = min(tests, key=lambda test: test.log10_bayes)
    needs = f"an edge needs odds of {bar:.3g} to 1 in every test"
    if edge is None and lowest.joins:
        return [
            f"So no test with their neighbours separates them now ({needs}); the search dropped "
            "the pair given a column that is a neighbour no longer."
        ]
    if edge is None and lowest.log10_bayes > -log10(bar):
        return [f"That is too little for an edge ({needs}), and no proof that there is none."]
    return [f"That is why there is {'no' if edge is None else 'an'} edge ({needs})."]


def _copies(graph: Graph, a: str, b: str) -> Iterable[str]:
    for name in (a, b):
        for edge in graph.edges:
            if edge.origin == COPY and name in (edge.source, edge.target):
                yield f"{edge.source} and {edge.target} say the same; the search got one of them."
                return


def _and(names: Sequence[str]) -> str:
    return " with ".join(names)
