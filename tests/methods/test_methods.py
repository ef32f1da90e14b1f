"""Every method through the front door: it runs, says what it is, honours knowledge, and a second
search on paid evidence costs nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.api.discover import measure, search
from privet.errors import EvidenceError, KnowledgeError, MethodError, SchemaError
from privet.evidence.exact_tables import ExactTables
from privet.graph.agreement import agreement
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.methods import catalogue
from privet.methods.listener import Listener
from privet.methods.options import make_settings
from privet.methods.search import run
from privet.methods.searches.causal_order import CausalOrder
from privet.methods.sources import exact
from privet.networks import load as load_network
from privet.networks import random_linear_gaussian
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components, Tables
from privet.results.folder import OTHERS
from privet.results.saved import Saved, load, to_json
from privet.schema.model import Schema
from privet.trust.central import Central

ALL = {method.name: method for method in catalogue.available()}
TABLES = [name for name, method in ALL.items() if method.evidence == "tables"]
MOMENTS = [name for name, method in ALL.items() if method.evidence == "moments"]
EXACT = [name for name, method in ALL.items() if method.evidence == "exact"]
MUST_BE = {
    "pc",
    "ges",
    "fci",
    "rfci",
    "mmhc",
    "mcmc",
    "exact",
    "notears",
    "dagma",
    "lingam",
    "interaction-pc",
    "interaction-ges",
    "interaction-fci",
    "interaction-peri",
    "interaction-mmhc",
    "interaction-mcmc",
    "interaction-exact",
    "moment-pc",
    "moment-ges",
    "moment-fci",
    "moment-peri",
    "moment-notears",
    "moment-dagma",
}
NUMBERS_ONLY = {"notears", "dagma", "lingam", "refined-pc"}
KNOWN = Knowledge(
    tiers=(("asia", "smoke"),),
    required=frozenset({("asia", "bronc")}),
    forbidden=frozenset(
        {("smoke", "lung"), ("dysp", "either"), ("smoke", "bronc"), ("bronc", "smoke")}
    ),
)
KNOWN_NUMBERS = Knowledge(
    required=frozenset({("x5", "x1")}),
    forbidden=frozenset({("x1", "x2"), ("x2", "x3"), ("x3", "x2")}),
)


@cache
def words() -> tuple[Schema, dict[str, Any]]:
    model = load_network("asia")
    codes = model.sample(5_000, np.random.default_rng(3))
    return model.schema(), {n: np.array(model.levels[n])[codes[n]] for n in model.names}


@cache
def numbers() -> tuple[Schema, dict[str, Any]]:
    rng = np.random.default_rng(4)
    model = random_linear_gaussian(6, density=0.4, rng=rng)
    return model.schema(), model.sample(4_000, rng)


@cache
def evidence(kind: str) -> Saved:
    schema, data = words() if kind == "tables" else numbers()
    method = "interaction-pc" if kind == "tables" else "moment-pc"
    return measure(
        data,
        schema,
        make_settings(),
        epsilon=20.0,
        delta=1e-6,
        method=method,
        ledger=Ledger(":memory:"),
    )


def test_all_that_was_promised_is_there() -> None:
    assert set(ALL) >= MUST_BE


@pytest.mark.parametrize("name", [*TABLES, *MOMENTS])
def test_a_second_search_on_paid_evidence(name: str) -> None:
    """It reads no data (there are none), says that it cost nothing, and is what it says it is."""
    saved = evidence(ALL[name].evidence)
    found = privet.discover(evidence=saved, method=name)
    assert found.graph.kind == ALL[name].graph and found.graph.nodes == saved.schema.names
    assert found.certificate["reused"] and found.certificate["method"] == name
    assert found.certificate["spent"] == saved.certificate["spent"]
    assert "cost nothing" in str(found.certificate)
    assert found.graph.edges and all(0 <= value <= 1 for value in found.confidence.values())
    assert set(found.confidence) == set(found.graph.edges)
    assert privet.discover(evidence=saved, method=name).graph == found.graph


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("data", [words, numbers], ids=["words", "numbers"])
def test_without_privacy(name: str, data: Any, tmp_path: Path) -> None:
    """And again from the file that was saved: the same graph, without the data."""
    schema, table = data()
    if name in NUMBERS_ONLY and data is words:
        with pytest.raises(MethodError, match="numeric"):
            privet.discover(table, schema, private=False, method=name)
        return
    found = privet.discover(table, schema, private=False, method=name)
    assert not found.certificate.private and found.graph.kind == ALL[name].graph
    (tmp_path / "evidence.json").write_text(to_json(found.evidence))
    again = search(load(tmp_path / "evidence.json"), make_settings())
    assert again.graph == found.graph


def broken(graph: Graph, knowledge: Knowledge) -> list[str]:
    """What in a graph speaks against knowledge; in a PAG, o-> may still be a hidden cause."""
    out = [f"{a} --> {b}" for a, b in knowledge.required if not has(graph, a, b)]
    for e in graph.edges:
        if e.mark == "-->" and not knowledge.may(e.source, e.target):
            out.append(str(e))
        if e.mark == "---" and not (
            knowledge.may(e.source, e.target) and knowledge.may(e.target, e.source)
        ):
            out.append(str(e))
    return out


def has(graph: Graph, a: str, b: str) -> bool:
    edge = graph.edge(a, b)
    return edge is not None and (edge.source, edge.mark, edge.origin) == (a, "-->", "knowledge")


@pytest.mark.parametrize("name", [*TABLES, *MOMENTS])
def test_knowledge_is_honoured_on_noisy_evidence(name: str) -> None:
    saved = evidence(ALL[name].evidence)
    knowledge = KNOWN if ALL[name].evidence == "tables" else KNOWN_NUMBERS
    known = replace(saved, schema=replace(saved.schema, knowledge=knowledge))
    few = replace(make_settings(), replicas=2)
    assert broken(search(known, few, method=name).graph, knowledge) == []


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    ("data", "knowledge"), [(words, KNOWN), (numbers, KNOWN_NUMBERS)], ids=["words", "numbers"]
)
def test_knowledge_is_honoured_without_privacy(name: str, data: Any, knowledge: Knowledge) -> None:
    schema, table = data()
    if name in NUMBERS_ONLY and data is words:
        with pytest.raises(MethodError, match="numeric"):
            privet.discover(table, schema, private=False, method=name)
        return
    schema = replace(schema, knowledge=knowledge)
    found = privet.discover(table, schema, private=False, method=name)
    assert broken(found.graph, knowledge) == []


def test_the_check_of_knowledge_can_fail() -> None:
    nodes = ("a", "b", "c")
    knowledge = Knowledge(required=frozenset({("a", "b")}), forbidden=frozenset({("b", "c")}))
    bad = Graph("mpdag", nodes, (Edge("b", "c", "-->"),))
    assert broken(bad, knowledge) == ["a --> b", "b --> c"]


def test_contradictory_knowledge_is_refused() -> None:
    schema, table = words()
    circle = Knowledge(required=frozenset({("asia", "tub"), ("tub", "asia")}))
    with pytest.raises(KnowledgeError, match="circle"):
        privet.discover(table, replace(schema, knowledge=circle), private=False, method="ges")


def test_several_methods_pay_once_and_agree_on_what_is_plain(tmp_path: Path) -> None:
    schema, table = words()
    ledger = Ledger(tmp_path / "ledger.db")
    names = ["interaction-pc", "interaction-ges", "interaction-fci"]
    found = privet.discover(table, schema, epsilon=20.0, method=names, ledger=ledger)
    account = ledger.account(schema.name)
    assert account is not None and len(account.runs) == 1
    assert [found.method, *(other.method for other in found.others)] == names
    assert all(other.certificate["spent"] == found.certificate["spent"] for other in found.others)
    lines = {(line.a, line.b): line for line in found.agreement()}
    assert lines["smoke", "bronc"].joined == 3
    files = found.save(tmp_path / "out")
    assert {f"{name}.graph.json" for name in names[1:]} <= {path.name for path in files}
    kept = privet.load_graph(tmp_path / "out" / OTHERS / "interaction-fci.graph.json")
    assert kept == found.others[1].graph
    assert "interaction-ges" in (tmp_path / "out" / "report.html").read_text("utf-8")
    one = privet.discover(evidence=found.evidence, method="interaction-ges")
    (tmp_path / "out" / OTHERS / "notes.txt").write_text("mine")
    found.save(tmp_path / "out", force=True)
    one.save(tmp_path / "out", force=True)  # no graph of an older run stays behind, but notes do
    assert [path.name for path in (tmp_path / "out" / OTHERS).iterdir()] == ["notes.txt"]
    (tmp_path / "out" / OTHERS / "notes.txt").unlink()
    one.save(tmp_path / "out", force=True)
    assert not (tmp_path / "out" / OTHERS).exists()


def test_agreement_reads_marks_from_the_first_to_the_second() -> None:
    nodes = ("a", "b", "c")
    lines = agreement(
        {
            "one": Graph("mpdag", nodes, (Edge("b", "a", "-->"), Edge("b", "c", "---"))),
            "two": Graph("pag", nodes, (Edge("b", "a", "o->"),)),
        }
    )
    assert [(line.a, line.b, line.marks) for line in lines] == [
        ("a", "b", ("<--", "<-o")),
        ("b", "c", ("---", "")),
    ]
    assert [line.joined for line in lines] == [2, 1] and not lines[0].unanimous


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("moment-ges", {}, ("moments", "does not hold", "interaction-ges")),
        ("ges", {}, ("exact", "privacy", "interaction-ges")),
        ("lingam", {}, ("row by row", "no bound", "interaction-ges")),
        ("interaction-ges", {"score": "bge"}, ("bge", "moments of numeric", "auto")),
        ("interaction-ges", {"score": "bdeu"}, ("bdeu", "exact tables", "private=False")),
        ("interaction-ges", {"score": "best"}, ("'best'", "bic")),
        ("interaction-ges", {"score": ["bic"]}, ("['bic']", "name")),
        (None, {}, ("None", "name")),
        (3, {}, ("3", "name")),
        ("interaction-ges", {"penalty": 2.0}, ("penalty", "alpha")),
        ("interaction-fci", {"max_order": 3}, ("max_order is 3", "three columns", "times as")),
        ("interaction-pc", {"score": "nonsense"}, ("score", "no such option", "interaction-ges")),
        ("interaction-mmhc", {"max_parents": 1}, ("max_parents", "interaction-ges")),
        (["auto", "interaction-pc"], {}, ("auto", "one of several")),
        (["interaction-pc", "interaction-pc"], {}, ("twice", "once")),
        ([], {}, ("none", "at least one")),
        ("interaction-gas", {}, ("'interaction-gas'", "did you mean", "interaction-ges")),
    ],
)
def test_what_this_evidence_cannot_give(
    method: Any, options: dict[str, Any], said: tuple[str, ...]
) -> None:
    with pytest.raises(MethodError) as refused:
        privet.discover(evidence=evidence("tables"), method=method, **options)
    for part in said:
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"penalty": 0}, "penalty is 0"),
        ({"penalty": float("nan")}, "penalty is nan"),
        ({"threshold": -1.0}, "threshold is -1.0"),
        ({"sparsity": True}, "sparsity is True"),
        ({"max_parents": 0}, "max_parents is 0"),
        ({"alpah": 0.1}, "did you mean 'alpha'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(MethodError, match=said):
        privet.discover(evidence=evidence("tables"), method="interaction-ges", **options)


def test_tables_that_were_never_counted_are_named() -> None:
    """Evidence of one exact search, searched by another that needs other tables."""
    schema, table = words()
    found = privet.discover(table, schema, private=False, method="pc")
    with pytest.raises(EvidenceError, match=r"never counted.*private=False"):
        search(found.evidence, make_settings(), method="ges")


def test_private_methods_that_measure_different_things_are_not_run_together() -> None:
    schema, table = numbers()
    ledger = Ledger(":memory:")
    with pytest.raises(MethodError, match="share one measurement"):
        privet.discover(
            table, schema, epsilon=1.0, method=["moment-pc", "interaction-pc"], ledger=ledger
        )
    assert ledger.account(schema.name) is None  # refused before anything was spent


def test_exact_methods_may_be_run_together() -> None:
    schema, table = words()
    found = privet.discover(table, schema, private=False, method=["pc", "ges", "exact"])
    alone = privet.discover(table, schema, private=False, method="ges")
    assert found.others[0].graph == alone.graph


def test_an_edge_that_was_found_is_looked_for_in_replicas() -> None:
    """Even one that some question spoke against without doubt, and that was kept all the same."""
    listener = Listener()
    against = listener.by(lambda questions: np.where(questions[:, 1] == 1, -9.0, -0.5))
    against(np.array([[0, 1], [2, 0], [1, 2]]))
    near = listener.near(3)
    assert near is not None and not near[0, 1] and near[0, 2] and near[1, 2]
    listener.joined = np.zeros((3, 3), dtype=bool)
    listener.joined[0, 1] = listener.joined[1, 0] = True
    again = listener.near(3)
    assert again is not None and again[0, 1] and again[1, 0] and not again[0, 0]
    assert Listener().near(3) is None


@pytest.mark.parametrize("name", ["interaction-exact", "interaction-ges", "interaction-mcmc"])
def test_a_bound_on_parents_that_knowledge_exceeds_is_refused_before_it_costs(name: str) -> None:
    schema, table = words()
    required = frozenset({("smoke", "dysp"), ("bronc", "dysp")})
    schema = replace(schema, knowledge=Knowledge(required=required))
    ledger = Ledger(":memory:")
    with pytest.raises(MethodError, match="2 parents of 'dysp'"):
        privet.discover(table, schema, epsilon=1.0, method=name, max_parents=1, ledger=ledger)
    assert ledger.account(schema.name) is None


def test_a_search_that_fails_gives_the_paid_evidence_back(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, table = words()

    def fail(*_: object) -> None:
        raise RuntimeError("in the middle of it")

    monkeypatch.setattr("privet.methods.searches.pc.skeleton", fail)
    with pytest.raises(RuntimeError) as stopped:
        privet.discover(table, schema, epsilon=1.0, ledger=":memory:")
    assert "was spent" in stopped.value.__notes__[0]
    monkeypatch.undo()
    saved = stopped.value.evidence  # type: ignore[attr-defined]
    assert privet.discover(evidence=saved).certificate["reused"]


@pytest.mark.parametrize("name", ["interaction-ges", "interaction-mmhc", "interaction-fci"])
def test_replicas_differ_from_each_other(name: str) -> None:
    """Few rows, so that some edge is in some replicas and not in others."""
    schema, table = words()
    few = {column: cells[:600] for column, cells in table.items()}
    saved = measure(
        few, schema, make_settings(), epsilon=None, delta=0.0, method=name, private=False
    )
    confidence = search(saved, make_settings(), method=name).confidence.values()
    assert any(0.1 < value < 0.9 for value in confidence)


def test_what_scores_alone_have_left_out_is_not_tested() -> None:
    """GES asks for no triples; tests without them would be blunt and say nothing of it."""
    schema, table = words()
    ges = privet.discover(table, schema, private=False, method="ges")
    asked = [release.query for release in ges.evidence.releases]
    assert not any(isinstance(query, Components) and len(query.sets[0]) > 2 for query in asked)
    assert privet.discover(evidence=ges.evidence, method="ges").graph == ges.graph
    for method in ("pc", "fci", "mmhc", "mcmc", "interaction-pc"):
        with pytest.raises(EvidenceError, match=r"scores alone.*private=False"):
            privet.discover(evidence=ges.evidence, method=method)
    both = privet.discover(table, schema, private=False, method=("ges", "pc"))
    alone = privet.discover(table, schema, private=False, method="pc")
    assert (both.graph, both.others[0].graph) == (ges.graph, alone.graph)


@pytest.mark.parametrize("name", ["ges", "mmhc", "exact", "mcmc", "pc"])
def test_what_was_found_while_measuring_is_what_a_search_of_the_evidence_finds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that is played to hear which tables it asks for is not played twice; other settings
    are searched with, and what is kept is no part of the result."""
    schema, table = words()
    runs: list[object] = []
    for place in (exact, catalogue):
        monkeypatch.setattr(place, "run", lambda *args: runs.append(args) or run(*args))
    found = privet.discover(table, schema, private=False, method=name, max_order=3)
    assert len(runs) == 1 and found.evidence.played == ()
    again = privet.discover(evidence=found.evidence, method=name, max_order=3)
    assert len(runs) == 2
    for one in ("graph", "tests", "notes", "confidence"):
        assert getattr(again, one) == getattr(found, one)
    settings = make_settings(max_order=3)
    saved = measure(table, schema, settings, epsilon=None, delta=0.0, method=name, private=False)
    search(saved, settings, method=name)
    assert len(runs) == 3 and [one.method for one in saved.played] == [name]
    search(saved, make_settings(max_order=3, seed=1), method=name)
    assert len(runs) == 4


def test_noisy_tables_are_not_taken_for_exact_ones() -> None:
    schema, _ = words()
    query = Tables((("asia", "tub"),))
    values = np.array([1, 2, 3, 4])
    noisy = Release(query=query, values=values, variance=4.0, mechanism="Gaussian(rho=1)")
    assert ExactTables.from_releases(schema, [noisy]).releases() == ()
    exact = replace(noisy, variance=0.0, mechanism="Exact()")
    assert len(ExactTables.from_releases(schema, [exact]).releases()) == 1


@pytest.mark.parametrize("damage", ["order", "counts", "promise"])
def test_answers_that_no_data_can_have_given_are_refused(damage: str, tmp_path: Path) -> None:
    schema, table = numbers() if damage == "order" else words()
    method = "lingam" if damage == "order" else "ges"
    found = privet.discover(table, schema, private=False, method=method)
    document = json.loads(to_json(found.evidence))
    if damage == "order":
        document["releases"][0]["values"][0] = 99
    elif damage == "counts":
        document["releases"][-1]["values"][0] = -1
    else:  # tables without noise under a promise of noise
        document["certificate"]["private"] = True
        document["releases"] = [
            {**release, "variance": 0.0, "mechanism": "Gaussian(rho=1)"}
            for release in document["releases"]
        ]
    (tmp_path / "evidence.json").write_text(json.dumps(document))
    with pytest.raises(EvidenceError, match="damaged"):
        load(tmp_path / "evidence.json")


def test_methods_whose_graphs_have_other_nodes_can_be_compared(tmp_path: Path) -> None:
    """lingam leaves out the column that marks groups."""
    schema, table = numbers()
    site = privet.Column(name="site", kind="categorical", levels=("north", "south"))
    both = replace(schema, columns=(*schema.columns, site))
    rows = len(next(iter(table.values())))
    table = {**table, "site": np.array(["north", "south"] * (rows // 2))}
    found = privet.discover(table, both, private=False, method=["lingam", "pc"])
    assert found.graph.nodes == schema.names and found.others[0].graph.nodes == both.names
    assert {name for line in found.agreement() for name in (line.a, line.b)} <= set(schema.names)
    found.save(tmp_path / "out")


def test_exact_numbers_may_condition_on_more_columns_and_the_certificate_says_so() -> None:
    schema, table = numbers()
    asked: dict[str, dict[str, Any]] = {
        "exactly": {"private": False},
        "privately": {"epsilon": 1, "ledger": ":memory:"},
    }
    for how, order in (("exactly", 4), ("privately", 2)):
        found = privet.discover(table, schema, **asked[how])
        assert found.certificate["options"]["max_order"] == order
    found = privet.discover(table, schema, private=False, max_order=1)
    assert found.certificate["options"]["max_order"] == 1


def test_numbers_of_numpy_are_numbers() -> None:
    settings = make_settings(max_order=np.int64(1), penalty=np.float32(2), alpha=None)
    assert settings.max_order == 1 and settings.penalty == 2.0 and settings.alpha is None
    assert type(settings.max_order) is int and type(settings.penalty) is float


def test_evidence_takes_no_options_of_a_run() -> None:
    for options in ({"private": False}, {"ledger": ":memory:"}):
        with pytest.raises(EvidenceError, match="spends nothing"):
            privet.discover(evidence=evidence("tables"), **options)
    with pytest.raises(EvidenceError, match=r"path of an evidence\.json"):
        privet.discover(evidence={"a": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["moment-ges", "moment-mcmc", "moment-exact", "moment-mmhc"])
def test_nothing_is_found_where_noise_drowns_everything(name: str) -> None:
    """Independent columns, and noise so large that it leaves no telling rows."""
    schema, _ = numbers()
    rng = np.random.default_rng(5)
    table = {column: rng.normal(size=60) for column in schema.names}
    found = privet.discover(table, schema, epsilon=0.1, method=name, ledger=":memory:")
    assert not found.graph.edges


def test_lingam_refuses_numbers_that_may_be_missing_as_a_level() -> None:
    schema, table = numbers()
    first, *others = schema.columns
    odd = replace(schema, columns=(replace(first, missing="level", missing_value=None), *others))
    with pytest.raises(MethodError, match="no number"):
        privet.discover(table, odd, private=False, method="lingam")


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_question_without_a_bound_is_refused_before_it_costs(delta: float) -> None:
    """DirectLiNGAM's order at the private door: no row is read and nothing is charged."""
    schema, table = numbers()
    ledger = Ledger(":memory:")
    run = ledger.begin(schema.name, epsilon=1.0, delta=delta, method="lingam", unit=schema.unit)
    with run, pytest.raises(SchemaError, match="no known bound"):
        Central.open(table, schema, run).release(CausalOrder(columns=schema.names), Fraction(1))
    assert not run.entries


@pytest.mark.parametrize("name", ["moment-exact", "moment-mcmc"])
def test_confidence_on_noisy_moments_comes_from_replicas(name: str) -> None:
    """A posterior within the edges that tests found would call every one of them certain."""
    found = privet.discover(evidence=evidence("moments"), method=name)
    assert all(value < 1 for value in found.confidence.values())
