"""Each method is counted as serves it best, by what it really spends its budget on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import privet
from privet.api.discover import measure
from privet.methods import catalogue
from privet.methods.method import Method
from privet.methods.options import make_settings
from privet.pairs.way import all_ways
from privet.privacy.mechanisms import Gaussian
from privet.privacy.vault import Vault
from tests.golden.cases import tables

QUARTER = Fraction(1, 4)
# One for each way of measuring: searches that share a measurement share its accounting.
MEASURING: dict[object, Method] = {
    method.measure: method
    for method in catalogue.available()
    if method.private and method.evidence != "reports"
}


@pytest.mark.parametrize("method", MEASURING.values(), ids=lambda method: method.name)
def test_zcdp_is_for_methods_that_live_on_pure_answers(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Selections, sieves and Laplace noise are dearer in GDP, so that a quarter is too much."""
    costs = {True: Fraction(0), False: Fraction(0)}
    charge = Vault._charge

    def listening(self: Vault, mechanism: Any, what: str) -> None:
        charge(self, mechanism, what)
        costs[isinstance(mechanism, Gaussian)] += mechanism.cost("zcdp")

    monkeypatch.setattr(Vault, "_charge", listening)
    data, schema = tables()["categories" if "categorical" in method.kinds else "numbers"]
    book = privet.Ledger(":memory:")
    book.create(schema.name, epsilon=4.0, delta=1e-6, accounting=method.accounting)
    saved = measure(data, schema, make_settings(), method=method.name, epsilon=4.0, ledger=book)
    share = costs[False] / sum(costs.values())
    assert (share > QUARTER) == (method.accounting == "zcdp"), float(share)
    assert saved.certificate["accounting"] == method.accounting


def test_searches_on_one_measurement_have_one_accounting() -> None:
    for method in catalogue.available():
        if method.measure in MEASURING:
            assert method.accounting == MEASURING[method.measure].accounting


def test_ways_that_select_are_in_zcdp() -> None:
    assert {way.name for way in all_ways() if way.accounting == "zcdp"} == {"anm-iqr"}
