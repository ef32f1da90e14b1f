"""Tests on reports hold their level, find what is there, and say when they cannot know.

Sizes are measured on 1,000 collections of reports whose counts are drawn from their law.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from privet.local import plan_protocol
from privet.local.collector import independence as ci
from privet.local.collector.independence import LocalJudge
from privet.local.collector.laws import BlockLaw
from privet.local.collector.tables import LocalEvidence
from tests.helpers.reports import Floats, releases, schema_of, sized, stack

COLLECTIONS = 1_000
SIZES = (2, 3, 2, 3)  # of u, v, x, y: u --> x, u --> y, and v by itself
QUESTIONS = {0: [[1, 2], [1, 3]], 1: [[2, 3, 0]], 2: [[2, 3, 0, 1]]}


def common_cause(seed: int, apart: float = 0.0) -> Floats:
    """u --> x, u --> y; ``apart`` mixes in what else joins x and y."""
    rng = np.random.default_rng(seed)
    u, v = rng.dirichlet([4.0, 4.0]), rng.dirichlet([2.0, 2.0, 2.0])
    x, y = (rng.dirichlet(np.ones(k), size=2) for k in SIZES[2:])
    joint = np.einsum("u,v,ux,uy->uvxy", u, v, x, y)
    joined = np.einsum("u,v,xy->uvxy", u, v, np.array([[0.5, 0, 0], [0, 0.2, 0.3]]))
    return np.asarray((1 - apart) * joint + apart * joined)


@cache
def collected(name: str, epsilon: float, people: int = 50_000) -> LocalEvidence:
    protocol = plan_protocol(schema_of(SIZES), epsilon, name)
    rng = np.random.default_rng(11)
    return stack(releases(protocol, common_cause(1), people, COLLECTIONS, rng))


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("planned-block", 1),
        ("planned-block", 4),
        ("one-triple", 2),
        ("parity", 1),
        ("component-wise", 4),
        ("geometric", 6),
    ],
)
def test_the_level_is_held(name: str, epsilon: float) -> None:
    evidence = collected(name, epsilon)
    for order, questions in QUESTIONS.items():
        asked = np.array(questions)
        if order == 2 and not evidence.known(np.array([[0, 1, 2]])).all():
            continue
        found = ci.tested(evidence, asked)
        sure = found.freedom > 0
        assert sure.mean() > 0.99
        assert sized(found.p_value[sure]) == (True, True), order


def test_a_level_that_is_not_held_would_be_seen() -> None:
    """Reports taken for answers, or their noise reckoned a fifth too small."""
    evidence = collected("planned-block", 1)
    assert isinstance(evidence.law, BlockLaw)
    timid = replace(evidence.law, people=evidence.law.people / 0.8)
    wrong = ci.tested(replace(evidence, law=timid), np.array(QUESTIONS[0]))
    assert sized(wrong.p_value) != (True, True)


def test_reports_of_independent_channels_keep_independence() -> None:
    """Order 0 of geometric reports is tested on the reports themselves: right, and stronger."""
    protocol = plan_protocol(schema_of((5, 5), "ordinal"), 3, "geometric")
    rng = np.random.default_rng(2)
    apart = np.outer(rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5)))
    together = 0.6 * apart + 0.4 * np.eye(5) / 5
    question = np.array([[0, 1]])
    sizes: list[list[float]] = []
    powers: list[list[float]] = []
    for joint, out in ((apart, sizes), (together, powers)):
        for release in releases(protocol, joint, 20_000, 400, rng):
            evidence = LocalEvidence.from_release(release)
            assert evidence.plain is not None
            out.append([ci.tested(e, question).p_value[0] for e in (evidence.plain, evidence)])
    own, undone = np.array(powers).T
    assert sized(np.array(sizes)[:, 0])[1]
    assert (own < 0.01).mean() > (undone < 0.01).mean() + 0.2


def test_what_is_joined_is_found() -> None:
    protocol = plan_protocol(schema_of(SIZES), 4, "planned-block")
    rng = np.random.default_rng(3)
    evidence = stack(releases(protocol, common_cause(1, apart=0.3), 50_000, 50, rng))
    for order in (1, 2):
        assert (ci.tested(evidence, np.array(QUESTIONS[order])).p_value < 0.01).all()
    judge = LocalJudge(evidence, 0.2)
    assert (judge.margins(np.array(QUESTIONS[1])) > 0).all()
    assert (judge.margins(np.array(QUESTIONS[0])) < 0).mean() > 0.8
    strengths = judge.strengths()
    assert strengths.shape == (50, 4, 4) and (strengths[:, 2, 3] > strengths[:, 1, 2]).mean() > 0.9


def test_the_answer_does_not_depend_on_the_order_of_the_question() -> None:
    protocol = plan_protocol(schema_of(SIZES), 4, "planned-block")
    (release,) = releases(protocol, common_cause(2), 20_000, 1, np.random.default_rng(4))
    judge = LocalJudge(LocalEvidence.from_release(release), 0.2)
    for a, b in (((2, 3, 0, 1), (3, 2, 1, 0)), ((2, 1, 3), (1, 2, 3)), ((0, 3), (3, 0))):
        assert judge.margins(np.array([a])) == pytest.approx(judge.margins(np.array([b])))


def test_weak_strata_are_taken_together() -> None:
    """Strata of 60, 38, 1.9 and 0.1 percent of about a thousand people: the last two are one."""
    protocol = plan_protocol(schema_of((4, 2, 2)), 3, "combined")
    z = np.array([0.6, 0.38, 0.019, 0.001])
    joint = np.einsum("z,x,y->zxy", z, [0.5, 0.5], [0.5, 0.5])
    (release,) = releases(protocol, joint, 3_000, 1, np.random.default_rng(5))
    evidence = LocalEvidence.from_release(release)
    groups = ci._together(evidence, np.array([[0]]), z[None])[0]
    assert groups.tolist() == [
        [True, False, False, False],
        [False, True, True, True],
        [False, True, True, True],
        [False, True, True, True],
    ] or groups.tolist() == [
        [True, False, False, False],
        [False, True, False, False],
        [False, False, True, True],
        [False, False, True, True],
    ]
    sure = ci._together(evidence, np.array([[0]]), np.array([[0.25, 0.25, 0.25, 0.25]]))[0]
    assert sure.tolist() == np.eye(4, dtype=bool).tolist()
    lost = ci._together(evidence, np.array([[0]]), np.array([[1.02, 0.0, -0.01, -0.01]]))[0]
    assert lost.all()


def test_one_stratum_for_all_is_no_answer() -> None:
    """A column of which one level alone is seen explains nothing: the edge stays."""
    protocol = plan_protocol(schema_of((2, 2, 2)), 2, "combined")
    joint = np.einsum("z,xy->zxy", [1.0, 0.0], [[0.4, 0.1], [0.1, 0.4]])
    (release,) = releases(protocol, joint, 5_000, 1, np.random.default_rng(6))
    judge = LocalJudge(LocalEvidence.from_release(release), 0.2)
    assert judge.margins(np.array([[1, 2, 0]]))[0] == np.inf
    assert judge.margins(np.array([[1, 2]]))[0] > 0


def test_without_evidence_nothing_is_joined_and_nothing_explained() -> None:
    protocol = plan_protocol(schema_of(SIZES), 1, "one-pair")
    rng = np.random.default_rng(7)
    (few,) = releases(protocol, common_cause(1), 200, 1, rng)
    judge = LocalJudge(LocalEvidence.from_release(few), 0.2)
    pairs = np.array(list(combinations(range(4), 2)))
    assert (judge.margins(pairs) < 0).all() and (judge.strengths() <= 1e-9).all()
    (many,) = releases(protocol, common_cause(1), 200_000, 1, rng)
    judge = LocalJudge(LocalEvidence.from_release(many), 0.2)
    assert judge.margins(np.array([[2, 3, 0, 1]]))[0] == np.inf  # triples were not asked about
    assert np.isfinite(judge.margins(np.array([[2, 3, 0]])))[0]
    assert judge.margins(np.empty((0, 3), dtype=np.intp)).shape == (0,)


def test_replicas_are_judged_like_the_evidence() -> None:
    """A stack of copies without fresh errors gives the answers of the evidence, many times."""
    protocol = plan_protocol(schema_of(SIZES), 4, "planned-block")
    (release,) = releases(protocol, common_cause(1, 0.2), 20_000, 1, np.random.default_rng(8))
    evidence = LocalEvidence.from_release(release)
    layers = {
        size: replace(layer, values=np.stack([layer.values] * 3))
        for size, layer in evidence.layers.items()
    }
    copies = replace(evidence, layers=layers, basis=evidence)
    for questions in QUESTIONS.values():
        asked = np.array(questions)
        once, often = (LocalJudge(e, 0.2).margins(asked) for e in (evidence, copies))
        assert often.shape == (3, len(asked)) and often == pytest.approx(np.stack([once] * 3))
    moved = LocalJudge(evidence.stack(5, np.random.default_rng(1)), 0.2).margins(np.array([[2, 3]]))
    assert len(set(moved[:, 0].tolist())) == 5
