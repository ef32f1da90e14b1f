"""Searches on reports: they find what is there, honour knowledge, say what they could not see; and
what a plan promises is what reports turn out to be worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest

from privet.errors import BudgetError, MethodError
from privet.graph.knowledge import Knowledge
from privet.graph.metrics import compare
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector.collect import collect
from privet.local.collector.correlations import LocalCorrelations
from privet.local.collector.counts import LeftOut
from privet.local.collector.plan import LocalLine, plan_local
from privet.local.collector.tables import LocalEvidence
from privet.methods import catalogue
from privet.methods.options import Settings
from privet.methods.sources import reports as local
from privet.networks import load, random_linear_gaussian
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Tables
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.reports import releases, schema_of

LOCAL = [m.name for m in catalogue.available() if m.evidence == "reports"]


def reported(protocol: Protocol, codes: np.ndarray) -> Release:
    made = Randomizer(protocol).report_codes(codes)
    ids = np.array([protocol.id] * len(codes), dtype=object)
    return collect({"protocol": ids, **made}, protocol)


@cache
def words(epsilon: float = 8.0, people: int = 20_000) -> tuple[Schema, Release]:
    model = load("cancer")
    codes = model.sample(people, np.random.default_rng(3))
    rows = np.stack([codes[name] for name in model.names], axis=1).astype(np.int64)
    return model.schema(), reported(plan_protocol(model.schema(), epsilon, "planned-block"), rows)


@cache
def numbers() -> tuple[Schema, Release]:
    model = random_linear_gaussian(6, density=0.4, rng=np.random.default_rng(5))
    data = model.sample(20_000, np.random.default_rng(6))
    protocol = plan_protocol(model.schema(), 8)
    codes = [np.searchsorted(c.cuts, data[c.name], side="right") for c in protocol.columns]
    assert protocol.name == "sign-block"
    return model.schema(), reported(protocol, np.stack(codes, axis=1))


def test_all_searches_are_there() -> None:
    assert set(LOCAL) >= {"local-pc", "local-fci", "local-rfci", "local-ges", "local-mmhc"}


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("data", [words, numbers], ids=["words", "numbers"])
def test_a_search_finds_what_is_there(
    name: str, data: Callable[[], tuple[Schema, Release]]
) -> None:
    schema, release = data()
    method = catalogue.get(name)
    method.check(schema, Settings())
    found = method.search(schema, (release,), Settings())
    assert found.graph.kind == method.graph and found.graph.nodes == schema.names
    assert found.tests > 0 and found.graph.edges
    sure = [edge.confidence for edge in found.graph.edges]
    assert all(value is not None and 0 < value < 1 for value in sure)
    assert method.search(schema, (release,), Settings()).graph == found.graph


def test_the_graph_is_right_where_evidence_is_plenty() -> None:
    model = load("sachs")
    codes = model.sample(100_000, np.random.default_rng(4))
    rows = np.stack([codes[name] for name in model.names], axis=1).astype(np.int64)
    release = reported(plan_protocol(model.schema(), 8), rows)
    found = catalogue.get("local-pc").search(model.schema(), (release,), Settings(replicas=0))
    assert compare(model.graph(), found.graph).skeleton_f1 > 0.9
    assert found.notes == ()


@pytest.mark.parametrize("name", LOCAL)
def test_knowledge_is_honoured(name: str) -> None:
    schema, release = words()
    known = Knowledge(
        required=frozenset({("Pollution", "Xray")}), forbidden=frozenset({("Smoker", "Cancer")})
    )
    schema = replace(schema, knowledge=known)
    graph = catalogue.get(name).search(schema, (release,), Settings(replicas=2)).graph
    edge = graph.edge("Pollution", "Xray")
    assert edge is not None and (edge.source, edge.mark) == ("Pollution", "-->")
    edge = graph.edge("Smoker", "Cancer")
    assert edge is None or not (edge.source == "Smoker" and edge.mark == "-->")


def test_little_evidence_means_small_separators_and_is_said() -> None:
    schema, release = words(2.0, 2_000)
    evidence = local.evidence_of((release,))
    assert local.order_of(evidence) == 0 and evidence.people_worth < 500
    found = catalogue.get("local-pc").search(schema, (release,), Settings(replicas=0))
    assert any("separators of up to 0 column(s)" in note for note in found.notes)
    none = catalogue.get("local-pc").search(*_almost_nothing(), Settings(replicas=0))
    assert not none.graph.edges and any("no evidence on 'Pollution'" in n for n in none.notes)


def _almost_nothing() -> tuple[Schema, tuple[Release, ...]]:
    schema, release = words(0.1, 1_000)
    return schema, (release,)


def test_the_level_is_its_own_and_may_be_given() -> None:
    schema, _ = words()
    assert catalogue.get("local-pc").alpha(5) == local.level_of(schema, Settings()) == 0.4
    assert local.level_of(schema, Settings(alpha=0.01)) == 0.01


def test_what_cannot_be_done_is_refused() -> None:
    schema, release = words()
    method = catalogue.get("local-pc")
    with pytest.raises(MethodError, match="separators of 0 to 2"):
        method.check(schema, Settings(max_order=3))
    method.check(numbers()[0], Settings(max_order=3))
    with pytest.raises(MethodError, match="privet randomize"):
        method.measure(None, Settings())  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="holds no reports"):
        method.search(schema, (replace(release, query=Tables((("a",),))),), Settings())
    with pytest.raises(MethodError, match="score"):
        catalogue.get("local-ges").check(schema, Settings(score="bdeu"))


def test_a_certificate_can_say_all_there_is_to_say() -> None:
    _, release = words()
    told_facts = json.loads(json.dumps(local.facts(release)))
    reports = told_facts["reports"]
    assert reports["people"] == 20_000 and reports["left_out"] == asdict(LeftOut())
    assert 10_000 < reports["worth"] <= 20_000 and reports["order"] == 2
    assert told_facts["epsilon"] == 8 and 7.999 < told_facts["levels"]["epsilon_ldp"] <= 8
    assert any("one report" in line for line in told_facts["assumptions"])


# Plans


def test_a_plan_says_what_reports_turn_out_to_be_worth() -> None:
    schema = schema_of((2, 3, 2, 4))
    made = plan_local(schema, 20_000, 2)
    joint = np.full((2, 3, 2, 4), 1 / 48)
    for line in made.lines:
        protocol = plan_protocol(schema, 2, line.protocol)
        (release,) = releases(protocol, joint, 20_000, 1, np.random.default_rng(1))
        worth = LocalEvidence.from_release(release).people_worth
        assert line.worth == pytest.approx(worth, rel=0.02)
        assert line.cost == pytest.approx(20_000 / line.worth)


def test_a_plan_of_numbers_says_what_reports_turn_out_to_be_worth() -> None:
    """With cuts at the medians, and bounds three deviations away."""
    rng = np.random.default_rng(2)
    schema = random_linear_gaussian(4, density=0.0, rng=rng).schema()
    columns = tuple(replace(c, bounds=(-3.0, 3.0), cuts=(0.0,)) for c in schema.columns)
    schema = replace(schema, columns=columns)
    made = plan_local(schema, 40_000, 2)
    assert made.best == "sign-block"
    for name in ("sign-bit", "sign-block", "piecewise"):
        protocol = plan_protocol(schema, 2, name)
        data = rng.standard_normal((40_000, 4)).T
        codes = [
            np.searchsorted(c.cuts, x, side="right")
            for c, x in zip(protocol.columns, data, strict=True)
        ]
        evidence = LocalCorrelations.from_release(reported(protocol, np.stack(codes, axis=1)))
        (line,) = [line for line in made.lines if line.protocol == name]
        assert line.worth == pytest.approx(evidence.people_worth, rel=0.15), name
        assert line.what == "correlation"


def test_costs_are_those_of_the_formula() -> None:
    """All pairs of five binary columns: ten times as many people, each with k-RR on four cells."""
    (line,) = [x for x in plan_local(schema_of((2,) * 5), 1, 1).lines if x.protocol == "one-pair"]
    assert line.cost == pytest.approx(10 * ((np.e + 3) / (np.e - 1)) ** 2, rel=1e-9)


def test_a_plan_is_kept() -> None:
    """The smallest effect that is promised in 8 of 10 runs shows in about as many."""
    schema, people = schema_of((3, 3)), 20_000
    made = plan_local(schema, people, 2)
    (line,) = [x for x in made.lines if x.protocol == "one-pair"]
    even = np.full((3, 3), 1 / 9)
    joint = (1 - line.effect) * even + line.effect * np.eye(3) / 3  # Cramér's V is the share
    protocol = plan_protocol(schema, 2, "one-pair")
    found = releases(protocol, joint, people, 400, np.random.default_rng(3))
    bar = catalogue.get("local-pc").alpha(2)
    shown = sum(
        local.judge_of(LocalEvidence.from_release(one), bar).margins(np.array([[0, 1]]))[0] > 0
        for one in found
    )
    assert 0.68 < shown / 400 < 0.92  # 6 deviations of 0.02 to either side


def uneven(share: float) -> Schema:
    column = Column(name="a", kind="categorical", levels=("0", "1"), shares=(1 - share, share))
    return Schema(name="reports", columns=(column, replace(column, name="b")))


def test_a_plan_heeds_the_shares_in_the_schema() -> None:
    """With one person in ten in a level, reports show far less than with one in two."""
    assert shown_by_one_pair(uneven(0.5)).effect == shown_by_one_pair(schema_of((2, 2))).effect
    schema, people = uneven(0.1), 20_000
    line = shown_by_one_pair(schema)
    assert line.effect > 2.5 * shown_by_one_pair(uneven(0.5)).effect
    share = np.array([0.9, 0.1])
    joint = np.outer(share, share) + line.effect * 0.09 * np.array([[1, -1], [-1, 1]])
    protocol = plan_protocol(schema, 2, "one-pair")
    found = releases(protocol, joint, people, 400, np.random.default_rng(4))
    bar = catalogue.get("local-pc").alpha(2)
    shown = sum(
        local.judge_of(LocalEvidence.from_release(one), bar).margins(np.array([[0, 1]]))[0] > 0
        for one in found
    )
    assert 0.68 < shown / 400 < 0.92  # 6 deviations of 0.02 to either side


def shown_by_one_pair(schema: Schema) -> LocalLine:
    return next(x for x in plan_local(schema, 20_000, 2).lines if x.protocol == "one-pair")


def test_no_plan_names_an_effect_that_does_not_exist() -> None:
    """Cramér's V and correlations lie below 1; what would have to be larger is not shown."""
    for people in (1, 10, 100, 1000, 10_000):
        effects = [line.effect for line in plan_local(schema_of((2, 3, 4)), people, 1).lines]
        assert all(effect < 1 or effect == np.inf for effect in effects)
    assert np.inf in effects and min(effects) < 1


def test_more_people_show_less() -> None:
    schema = schema_of((2, 3, 2, 4))
    few, many = (plan_local(schema, people, 1, effect=0.1) for people in (10_000, 1_000_000))
    assert few.epsilon == 1 and {x.protocol for x in few.lines} == {x.protocol for x in many.lines}
    for a in few.lines:
        (b,) = [line for line in many.lines if line.protocol == a.protocol]
        assert b.effect <= a.effect and b.worth == pytest.approx(100 * a.worth)
        assert b.order >= a.order
        assert a.people is not None and b.people is not None
        assert a.people == pytest.approx(b.people, rel=0.05)
        (again,) = [x for x in plan_local(schema, a.people, 1).lines if x.protocol == a.protocol]
        assert again.effect == pytest.approx(0.1, rel=0.05)


def test_plans_that_make_no_sense_are_refused() -> None:
    schema = schema_of((2, 3))
    with pytest.raises(MethodError, match="at least 1 person"):
        plan_local(schema, 0, 1)
    with pytest.raises(BudgetError, match="epsilon"):
        plan_local(schema, 10, 0)
    with pytest.raises(BudgetError, match="effect"):
        plan_local(schema, 10, 1, effect=2.0)
    large = plan_local(schema_of((4,) * 8), 1000, 1)
    (line,) = [x for x in large.lines if x.protocol == "geometric-combined"]
    assert line.refused is not None and "too large" in line.refused and line == large.lines[-1]
