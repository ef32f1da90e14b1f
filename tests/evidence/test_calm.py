"""Triples are drawn to their pairs as arrays have it, where that was compiled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.evidence import completion
from privet.evidence.layers import Layer
from privet.evidence.tables import TableEvidence
from tests.helpers.weighed import weighed

needed = pytest.mark.skipif(completion.compiled is None, reason="there was no compiler")


def both(evidence: TableEvidence, monkeypatch: pytest.MonkeyPatch) -> tuple[Layer, Layer]:
    """The triples as they are, and as arrays have them."""
    usual = replace(evidence).calm.layers[3]
    with monkeypatch.context() as without:
        without.setattr(completion, "compiled", None)
        return usual, replace(evidence).calm.layers[3]


@needed
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_both_draw_triples_as_far(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = weighed(copies)
    usual, arrays = both(evidence, monkeypatch)
    assert np.abs(usual.values - arrays.values).max() < 1e-12 * np.abs(arrays.values).max()
    assert usual.variances == pytest.approx(arrays.variances, rel=1e-9, abs=1e-9)
    before = evidence.layers[3]
    assert np.abs(usual.values - before.values).max() > 1e-3 * np.abs(before.values).max()
    assert (usual.variances < before.variances).all()


@needed
def test_arrays_serve_where_a_pair_was_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weighed(1)
    layer, end = whole.layers[2], int(whole.layers[2].offsets[-2])
    fewer = Layer(layer.keys[:-1], layer.offsets[:-1], layer.values[:end], layer.variances[:-1])
    usual, arrays = both(replace(whole, layers={**whole.layers, 2: fewer}), monkeypatch)
    assert np.array_equal(usual.values, arrays.values)
    assert not np.array_equal(usual.values, replace(whole).calm.layers[3].values)


@needed
def test_arrays_that_do_not_fit_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = completion.compiled, list[Any]()

    class Spy:
        drawn = staticmethod(calls.append)

    monkeypatch.setattr(completion, "compiled", Spy)
    assert replace(weighed(2)).calm is not None
    (arrays,) = calls
    real.drawn(arrays)
    wrong = [(at, each[:-1]) for at, each in enumerate(arrays) if at != 2]
    wrong.append((2, np.append(arrays[2], 0.0)))  # one row less might be that of larger copies
    for at, change in [*wrong, (9, arrays[9] + 1), (9, arrays[9] - 1), (8, arrays[8] + 1)]:
        changed = [*arrays]
        changed[at] = np.ascontiguousarray(change)
        with pytest.raises(ValueError, match="arrays do not fit each other"):
            real.drawn(tuple(changed))
    for shift in (-1, 1):
        starts = arrays[10] + shift * np.arange(7) * 1000
        with pytest.raises(ValueError, match="arrays do not fit each other"):
            real.drawn((*arrays[:10], starts))
    with pytest.raises(ValueError, match="wrong number of arrays"):
        real.drawn(arrays[:-1])
