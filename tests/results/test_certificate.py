"""What a certificate says, and what it must never say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.errors import EvidenceError
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import Gaussian, Laplace
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Tables
from privet.privacy.vault import Vault
from privet.results import certificate as certificates
from privet.results.certificate import Certificate
from privet.results.no_promise import not_private
from privet.results.report.page import method_of
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust import statement

SCHEMA = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="categorical", levels=("no", "yes")) for n in "ab"),
)
ROWS = 1237  # odd enough to be recognised


def certify(
    schema: Schema = SCHEMA, *, delta: float = 1e-6, rows: int = ROWS, **budget: Any
) -> tuple[Certificate, Ledger]:
    """The certificate of a run that asks twice."""
    ledger = Ledger(":memory:")
    epsilon = budget.get("epsilon", 1.0)
    run = ledger.begin(
        schema.name, epsilon=epsilon, delta=delta, method="counting", unit=schema.unit
    )
    data = {name: ["yes", "no"] * (rows // 2) + ["no"] * (rows % 2) for name in schema.names}
    releases: list[Release] = []
    with run:
        vault = Vault(data, schema, run)
        for share in (Fraction(1, 4), Fraction(1, 2)):
            price = run.budget * share
            mechanism = Gaussian(rho=price) if delta else Laplace(epsilon=price)
            releases.append(vault.release(Tables((("a", "b"),)), mechanism))
    account = ledger.account(schema.name)
    assert account is not None
    made = certificates.of_run(
        schema, statement.of_run(run, account, durable=ledger.durable), releases
    )
    return certificates.of_search(made, "counting", {"alpha": 0.1}, reused=False), ledger


def test_the_fixed_part_of_the_format() -> None:
    found = json.loads(certify()[0].to_json())
    assert found["private"] is True
    assert (found["epsilon"], found["delta"], found["adjacency"]) == (1.0, 1e-6, "add-remove")
    assert found["method"] == "counting" and found["options"] == {"alpha": 0.1}
    assert found["trust"] == "central" and found["schema"] == "people"
    assert set(found["spent"]) == {"epsilon", "delta", "test_delta", "rho", "rho_exact"}
    keys = {"what", "cost", "currency", "test_delta", "mechanism", "noise_sd"}
    assert keys == set(found["queries"][0])
    assert found["spent"]["test_delta"] == found["ledger"]["cap_test_delta"] == 0
    assert found["ledger"]["cap_set_by_this_run"] is True and found["ledger"]["durable"] is False


def test_what_was_spent_is_what_the_ledger_says() -> None:
    found, ledger = certify()
    account = ledger.account("people")
    assert account is not None
    assert Fraction(found["spent"]["rho_exact"]) == account.spent
    assert found["spent"]["rho"] == float(account.spent)
    assert sum(q["cost"] for q in found["queries"]) == pytest.approx(found["spent"]["rho"])
    assert found["spent"]["epsilon"] == account.spent_epsilon < 1
    assert found["ledger"]["left_epsilon"] == account.left_epsilon
    assert found["ledger"]["run"] == account.runs[0].id


def test_the_noise_beside_each_question_is_its_own() -> None:
    queries = certify()[0]["queries"]
    assert [q["mechanism"] for q in queries] == ["Gaussian", "Gaussian"]
    for q in queries:  # one row moves one count by 1
        assert q["noise_sd"] == pytest.approx(math.sqrt(1 / (2 * q["cost"]) + 0.1))


def test_it_says_how_it_was_counted() -> None:
    found = certify()[0]
    assert found["accounting"] == "gdp"
    assert "Accounting: Gaussian differential privacy." in str(found)
    old = Certificate({key: value for key, value in found.items() if key != "accounting"})
    assert "Accounting: zero-concentrated differential privacy." in str(old)


def test_a_pure_budget_is_told_in_epsilon() -> None:
    found = certify(delta=0)[0]
    assert found["accounting"] == "pure" and "Accounting: pure" in str(found)
    old = Certificate({key: value for key, value in found.items() if key != "accounting"})
    assert "Accounting: pure" in str(old)
    assert found["spent"]["rho"] is None and found["spent"]["epsilon"] == 0.75
    assert found["spent"]["epsilon_exact"] == "3/4"
    assert {q["currency"] for q in found["queries"]} == {"epsilon"}
    assert ", plus" not in found["promise"]


def test_it_says_nothing_about_the_rows() -> None:
    """Two tables give the same certificate but for the random names of run and people."""
    both = [certify(rows=rows)[0] for rows in (3, ROWS)]
    drawn = [(c["ledger"]["run"], c["ledger"]["people"]) for c in both]
    few, many = (
        c.to_json().replace(run, "").replace(people, "")
        for c, (run, people) in zip(both, drawn, strict=True)
    )
    assert few == many and str(ROWS) not in many


def test_unconfirmed_facts_are_assumptions() -> None:
    """All of them in one line, with their number."""
    schema = replace(SCHEMA, unconfirmed=("a.levels", "b.kind"))
    assumed = certify(schema)[0]["assumptions"]
    [line] = [text for text in assumed if "nobody has confirmed" in text]
    assert line.startswith("2 facts") and all(fact in line for fact in schema.unconfirmed)
    assert len(assumed) == len(certify()[0]["assumptions"]) + 1
    one = certify(replace(SCHEMA, unconfirmed=("a.levels",)))[0]["assumptions"]
    assert any("a.levels is public knowledge" in text for text in one)


def test_the_promise_speaks_of_the_neighbours_of_the_schema() -> None:
    assert "is in the data or not" in certify()[0]["promise"]
    swap = replace(SCHEMA, adjacency=Adjacency.REPLACE_ONE, rows=ROWS, rows_per_person=3)
    found = certify(swap)[0]
    assert "these data or any others" in found["promise"]
    assert "at most 3 rows" in found["promise"]
    assert any("more than 3 rows" in text for text in found["assumptions"])
    assert any(str(ROWS) in text and "public" in text for text in found["assumptions"])


@pytest.mark.parametrize("epsilon", (1e-9, 1e5))
def test_extreme_budgets_have_a_text(epsilon: float) -> None:
    assert f"epsilon {epsilon:g}" in str(certify(epsilon=epsilon)[0])


def test_without_privacy_nothing_is_promised() -> None:
    exact = Release(
        query=Tables((("a",),)), values=np.array([1, 2]), variance=0.0, mechanism="Exact()"
    )
    found = not_private(SCHEMA, "pc", [exact])
    assert not found.private and found["epsilon"] is None and found["spent"] is None
    assert "NOT PRIVATE" in str(found) and found["reason"] in str(found)
    assert certificates.of_evidence(json.loads(found.to_json())) == found


def test_it_reads_like_a_dict_and_as_plain_words() -> None:
    found = certify()[0]
    assert dict(found) == json.loads(found.to_json())
    text = str(found)
    assert found["promise"] in text and "It assumes that" in text and "in memory" in text
    again = certificates.of_search(found, "other", {}, reused=True)
    assert "cost nothing" in str(again) and again["method"] == "other"


def test_a_certificate_from_a_file_is_checked() -> None:
    facts = json.loads(certify()[0].to_json())
    assert certificates.of_evidence(facts) == Certificate(facts)
    for key in ("private", "promise", "epsilon", "spent", "queries", "assumptions", "method"):
        with pytest.raises(EvidenceError, match=key):
            certificates.of_evidence({k: v for k, v in facts.items() if k != key})
        with pytest.raises(EvidenceError, match=key):
            certificates.of_evidence({**facts, key: None})
    (asked, *_) = facts["queries"]
    for listed in (
        {"queries": [{**asked, "cost": "x"}]},
        {"queries": [{**asked, "mechanism": None}]},
        {"queries": [3]},
        {"assumptions": [None]},
    ):
        with pytest.raises(EvidenceError, match="not whole"):
            certificates.of_evidence({**facts, **listed})


def test_a_page_tells_options_in_few_digits() -> None:
    told = method_of({"method": "pc", "options": {"alpha": 2 / 19, "max_order": 2, "penalty": 1.0}})
    assert told == "Method pc (alpha 0.105263, max_order 2, penalty 1) by Privet"
