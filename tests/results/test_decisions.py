"""What explanations say decided, held against every question that searches ask, for every pair."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.cli.main import main
from privet.graph.graph import Graph
from privet.graph.meek import extension
from privet.independence.exact_tables import ExactTableJudge
from privet.independence.fisher_z import MomentJudge
from privet.independence.joint import JointMomentJudge, JointTableJudge
from privet.independence.tables import TableJudge
from privet.methods.decision import Decision
from privet.methods.listener import Outcome
from privet.methods.record import Record
from privet.networks.simulate import simulate
from privet.results.decided import _number, odds
from privet.results.discovery import Discovery
from privet.results.explanation import Explanation, _record, explanations
from privet.scores.noisy_tables import NoisyTables
from privet.search import compiled
from privet.search.skeleton import Separators

Told = list[tuple[type, Any, Any]]  # a judge, its questions and answers
Asked = dict[tuple[str, str], dict[frozenset[str], float]]
JUDGES = (TableJudge, MomentJudge, ExactTableJudge, JointTableJudge, JointMomentJudge)
CLOSE = 1e-9


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Every batch of questions that any judge is asked, and the answers; nothing is compiled."""
    for name in ("pc", "refine"):
        monkeypatch.setattr(compiled, name, None)
    told: Told = []

    def spied(judge: Any) -> None:
        known = judge.margins

        def margins(self: Any, questions: Any) -> Any:
            answers = known(self, questions)
            told.append((judge, np.array(questions), np.array(answers)))
            return answers

        monkeypatch.setattr(judge, "margins", margins)

    for judge in JUDGES:
        spied(judge)
    yield told


def by_pair(told: Told, names: tuple[str, ...], bar: float, sites: bool) -> Asked:
    """The log odds of each question about each pair; of sites, those that all answer together."""
    out: Asked = defaultdict(dict)
    for judge, questions, answers in told:
        if sites and judge not in (JointTableJudge, JointMomentJudge):
            continue
        for question, answer in zip(questions.tolist(), answers.tolist(), strict=True):
            x, y, *given = (names[i] for i in question)
            out[(min(x, y), max(x, y))][frozenset(given)] = answer + bar
    return out


def found(table: tuple[Any, Any], method: str, epsilon: float | None) -> Discovery:
    if epsilon is None:
        return privet.discover(*table, method=method, private=False)
    return privet.discover(*table, method=method, epsilon=epsilon, ledger=":memory:")


def hold(result: Discovery, told: Told) -> dict[str, int]:
    """Each explanation against the questions of the search; how often each thing decided."""
    saved, graph, run = result.evidence, result.graph, result.certificate
    told.clear()
    record = _record(saved, run)
    assert isinstance(record, Record)
    copies = {frozenset(pair) for pair in record.basis.copies.items()}
    assert record.graph.skeleton() == graph.skeleton() - copies
    questions = by_pair(told, graph.nodes, record.threshold, bool(saved.sites))
    counts: dict[str, int] = defaultdict(int)
    pairs = list(combinations(graph.nodes, 2))
    for each in explanations(saved, graph, run, pairs, record):
        held(each, graph, record, questions[(min(each.a, each.b), max(each.a, each.b))])
        counts[each.decided_by] += 1
    return counts


def held(
    told: Explanation, graph: Graph, record: Record, known: dict[frozenset[str], float]
) -> None:
    """One of them: what it says follows from what was asked."""
    joined, text = graph.edge(told.a, told.b) is not None, told.text
    given = frozenset(told.decided_given)
    assert (told.mark is not None) == joined
    why = f"That is why there is {'an' if joined else 'no'} edge"
    assert f"That is why there is {'no' if joined else 'an'} edge" not in text
    enough = (told.log_odds or 0.0) >= (told.threshold or 0.0) - CLOSE
    if told.decided_by in ("tests", "rule", "implied"):
        assert told.log_odds is not None and told.threshold is not None
        assert told.threshold == pytest.approx(record.threshold)
        assert odds(told.log_odds) in text or abs(told.log_odds) < 1e-6
        assert known[given] == pytest.approx(told.log_odds, abs=CLOSE)
    match told.decided_by:
        case "tests" if joined:  # all that was asked is enough
            assert why in text and min(known.values()) >= (told.log_odds or 0.0) - CLOSE and enough
        case "tests":
            assert not enough and (why in text or "too little for an edge" in text)
        case "rule":
            assert joined and not enough and why in text
            assert min(known.values()) == pytest.approx(told.log_odds, abs=CLOSE)
            refused(told, record)
        case "implied":
            parents = graph_parents(graph, told.a) | graph_parents(graph, told.b)
            assert (why in text) == (joined == enough) or "the edge stays" in text
            assert given >= parents - {told.a, told.b}
        case "score":
            scored(told, graph, record, joined)
        case "copy":
            assert {told.a, told.b} & set(record.basis.copies)
        case "knowledge":
            assert record.schema.knowledge != privet.Knowledge()
        case other:
            assert other == "weights" and record.weighed


def graph_parents(graph: Graph, node: str) -> set[str]:
    return {edge.source for edge in graph.edges if edge.mark == "-->" and edge.target == node}


def scored(told: Explanation, graph: Graph, record: Record, joined: bool) -> None:
    """The score of a whole DAG, with the edge and without."""
    if told.log_odds is None:
        assert "That is why" not in told.text
        return
    assert told.threshold == 0 and _number(abs(told.log_odds)) in told.text
    assert ("That is why" in told.text) == (joined == (told.log_odds > 0))
    local = record.basis.local or NoisyTables(record.basis.judge.margins).local
    dag = extension(record.graph.matrix())
    assert dag is not None

    if record.basis.ascent is not None and record.basis.noisy:
        return  # what it climbs by is not the score of families
    changes = []
    for cause, effect in ((told.a, told.b), (told.b, told.a)):
        x, y = graph.nodes.index(cause), graph.nodes.index(effect)
        if joined and not dag[x, y]:
            continue
        families = [[z for z in np.flatnonzero(dag[:, y]).tolist() if z != x]]
        families.append(sorted([*families[0], x]))
        without, with_x = (float(local(y, np.array([f], dtype=np.intp))[0]) for f in families)
        changes.append(with_x - without)
    assert any(abs(change - told.log_odds) < 1e-6 for change in changes)


def refused(told: Explanation, record: Record) -> None:
    """The rule that is named holds in the skeleton that tests have left."""
    tested = record.basis.listener.tested
    assert tested is not None
    names = record.graph.nodes
    x, y = (names.index(name) for name in (told.a, told.b))
    given = {names.index(name) for name in told.decided_given}
    parted, adjacent = tested.found.separators, tested.found.adjacent
    match told.rule:
        case "contradiction":
            assert any(clash(parted, z, *ends, given) for z in given for ends in ((x, y), (y, x)))
        case "circle":
            assert any(
                all(other in behind(parted, z, end) for z in given)
                for end, other in ((x, y), (y, x))
            )
        case "paths":
            both = reached(adjacent, x, y) & reached(adjacent, y, x)
            assert not given <= both
        case "neighbours":
            assert all(not adjacent[end, list(given)].all() for end in (x, y))
        case other:
            raise AssertionError(other)


def clash(parted: Separators, z: int, end: int, other: int, given: set[int]) -> bool:
    before = parted.get((min(z, end), max(z, end)))
    return before is not None and (before == (other,) or {*before} - {other} == given - {z})


def behind(parted: Separators, z: int, end: int) -> set[int]:
    seen, fresh = set[int](), [z]
    while fresh:
        at = fresh.pop()
        more = set(parted.get((min(at, end), max(at, end)), ())) - seen
        seen |= more
        fresh += more
    return seen


def reached(adjacent: Any, start: int, without: int) -> set[int]:
    seen, fresh = {start}, [start]
    while fresh:
        near = set(np.flatnonzero(adjacent[fresh.pop()]).tolist()) - seen - {without}
        if start in seen and len(seen) == 1:
            near -= {without}
        seen |= near
        fresh += near
    return seen - {start}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    """README's example; a table with a copy; numbers; and one of several causes that near tell
    each other."""
    folder = tmp_path_factory.mktemp("tables")
    out: dict[str, tuple[Any, Any]] = {}
    for name, rows in (("asia", 100_000), ("survey", 2_000), ("sachs", 3_000)):
        made = simulate(name, rows=rows, seed=1, output=folder / f"{name}.csv")
        out[name] = made.data, privet.Schema.load(made.schema)
    rng = np.random.default_rng(4)
    dag = np.triu(rng.random((14, 14)) < 0.35, 1)
    weights = dag * rng.choice([-1.0, 1.0], dag.shape) * rng.uniform(0.3, 1, dag.shape)
    values = rng.normal(size=(1_500, 14)) @ np.linalg.inv(np.eye(14) - weights)
    names = [f"x{i:02}" for i in range(14)]
    columns = [privet.Column(name=n, kind="numeric", bounds=(-20, 20)) for n in names]
    numbers = dict(zip(names, values.T.tolist(), strict=True))
    out["numbers"] = numbers, privet.Schema(name="numbers", columns=tuple(columns))
    twin = {**numbers, "x13": [value * 1.0001 for value in numbers["x00"]]}
    out["copies"] = twin, out["numbers"][1]
    known = privet.Knowledge(
        tiers=(("x00", "x01"), tuple(names[2:])), required=frozenset({("x02", "x05")})
    )
    out["known"] = numbers, replace(out["numbers"][1], knowledge=known)
    return out


TESTED = ("interaction-pc", "interaction-fci", "interaction-rfci", "interaction-exact")
CASES = [
    *(("asia", method, None) for method in ("pc", "ges", "mmhc", "fci", "mcmc", "exact")),
    *(("asia", method, 1.0) for method in (*TESTED, "interaction-ges", "interaction-mmhc")),
    *(("survey", method, 3.0) for method in ("interaction-pc", "interaction-peri")),
    *(("sachs", method, 1.0) for method in ("interaction-pc", "interaction-ges")),
    *(("numbers", m, None) for m in ("pc", "ges", "refined-pc", "rfci", "mmhc", "notears")),
    *(("numbers", f"moment-{m}", 3.0) for m in ("pc", "ges", "refined-pc", "fci", "mcmc", "mmhc")),
    *(("copies", method, epsilon) for method, epsilon in (("pc", None), ("moment-pc", 3.0))),
    *(("known", method, epsilon) for method, epsilon in (("pc", None), ("moment-ges", 3.0))),
]


@pytest.mark.parametrize(("table", "method", "epsilon"), CASES)
def test_every_pair_is_explained_by_what_was_asked(
    table: str, method: str, epsilon: float | None, tables: Any, asked: Any
) -> None:
    counts = hold(found(tables[table], method, epsilon), asked)
    assert sum(counts.values()) > 0 and "unknown" not in counts


def test_both_of_two_searches_on_sites(tables: Any, asked: Any, tmp_path: Path) -> None:
    data, schema = tables["numbers"]
    sent = []
    for site in ("north", "south"):
        ledger = tmp_path / f"{site}.db"
        made = privet.discover(
            data, schema, epsilon=3, delta=1e-6, method="moment-pc", site=site, ledger=ledger
        )
        sent.append(made.evidence)
    for method in ("moment-pc", "moment-peri"):
        assert "unknown" not in hold(privet.combine(*sent, method=method), asked)


def test_a_function_of_two_others_is_kept_by_a_rule(tables: Any, asked: Any) -> None:
    """Either is tub or lung: given both, nothing else tells of it."""
    result = found(tables["asia"], "pc", None)
    told = result.explain("either", "xray")
    assert told.decided_by == "rule" and set(told.decided_given) == {"tub", "lung"}
    assert told.log_odds is not None and told.log_odds < (told.threshold or 0)
    assert "contradicts an explanation" in told.text
    assert "xray are separated given either" in told.text
    assert told.association is not None and told.association.sign == "+"


def test_what_is_compiled_and_what_is_saved_explain_the_same(
    tables: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("moment-pc", "moment-ges", "moment-refined-pc"):
        result = found(tables["numbers"], method, 3.0)
        pairs = list(combinations(result.graph.nodes, 2))
        told = explanations(result.evidence, result.graph, result.certificate, pairs)
        assert told == explanations(
            result.evidence, result.graph, result.certificate, pairs, result.record
        )
        result.save(tmp_path / method)
        capsys.readouterr()
        assert main(["explain", str(tmp_path / method), *pairs[0], "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown == json.loads(json.dumps(told[0].to_dict()))
        assert {"decided_by", "log_odds", "threshold"} <= shown.keys()
        with monkeypatch.context() as slow:
            for name in ("pc", "refine", "search", "rounds"):
                slow.setattr(compiled, name, None)
            again = explanations(result.evidence, result.graph, result.certificate, pairs)
        for one, other in zip(told, again, strict=True):
            assert (one.decided_by, one.rule, one.decided_given) == (
                other.decided_by,
                other.rule,
                other.decided_given,
            )


@pytest.mark.parametrize("fault", ["rule", "numbers", "separators"])
def test_a_false_explanation_is_caught(
    fault: str, tables: Any, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = found(tables["asia"], "pc", None)
    if fault == "rule":
        kept = Record._kept

        def plain(self: Record, tested: Outcome, x: int, y: int) -> Decision:
            return replace(kept(self, tested, x, y), by="tests", rule=None)

        monkeypatch.setattr(Record, "_kept", plain)
    elif fault == "numbers":
        test = Record._test

        def moved(self: Record, *of: Any) -> Decision:
            return replace(test(self, *of), log_odds=(test(self, *of).log_odds or 0) + 0.01)

        monkeypatch.setattr(Record, "_test", moved)
    else:
        parted = Record._parted

        def other(self: Record, tested: Outcome, x: int, y: int) -> Decision:
            return replace(parted(self, tested, x, y), given=())

        monkeypatch.setattr(Record, "_parted", other)
    with pytest.raises(AssertionError):
        hold(result, asked)
