"""Knowledge says what may be, what must be, and refuses to contradict itself."""

from __future__ import annotations

from typing import Any

import pytest

from privet.errors import KnowledgeError
from privet.graph.knowledge import Knowledge


def test_tiers_allow_arrows_forwards_and_inside() -> None:
    known = Knowledge(tiers=(("a", "b"), ("c",)))
    assert known.may("a", "b") and known.may("b", "a") and known.may("a", "c")
    assert not known.may("c", "a")
    assert known.may("c", "free") and known.may("free", "a")
    assert known.may("c", "a") or known.may("a", "c")


def test_required_arrows_exclude_the_reverse() -> None:
    known = Knowledge(required=frozenset({("a", "b")}))
    assert known.must("a", "b") and not known.must("b", "a")
    assert known.may("a", "b") and not known.may("b", "a")


def test_forbidding_both_ways_forbids_the_edge() -> None:
    known = Knowledge(forbidden=frozenset({("a", "b"), ("b", "a")}))
    assert not (known.may("a", "b") or known.may("b", "a"))
    assert known.may("a", "c") or known.may("c", "a")


def test_lists_as_read_from_a_file_become_hashable() -> None:
    lists: dict[str, Any] = {"tiers": [["a"], ["b"]], "required": [["a", "b"]]}
    known = Knowledge(**lists | {"forbidden": [["b", "a"]]})
    assert known == Knowledge(
        tiers=(("a",), ("b",)), required=frozenset({("a", "b")}), forbidden=frozenset({("b", "a")})
    )
    assert hash(known)
    known.check(["a", "b"])
    Knowledge().check([])


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"tiers": [["smokes"]]}, "did you mean 'smoker'"),
        ({"required": [["x", "age"]]}, "'x', which is not a column; known names: 'age'"),
        ({"tiers": [["age"], ["age", "smoker"]]}, "more than once"),
        ({"required": [["age", "smoker"]], "forbidden": [["age", "smoker"]]}, "both required"),
        ({"required": [["smoker", "age"]], "tiers": [["age"], ["smoker"]]}, "back to tier 1"),
        ({"required": [["age", "smoker"], ["smoker", "age"]]}, "run in a circle"),
        (
            {"required": [["age", "lung"], ["lung", "smoker"], ["smoker", "age"]]},
            "age --> lung --> smoker --> age",
        ),
        ({"required": [["age", "age"]]}, "two different names"),
        ({"forbidden": [["age"]]}, "two different names"),
        ({"forbidden": ["ab"]}, "two different names"),
        ({"tiers": ["age"]}, "must be a list of names"),
    ],
)
def test_bad_knowledge_is_refused(facts: dict[str, Any], text: str) -> None:
    with pytest.raises(KnowledgeError, match=text):
        Knowledge(**facts).check(["age", "smoker", "lung"])
