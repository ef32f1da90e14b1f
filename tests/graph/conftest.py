"""All small DAGs, by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]


def _all_dags(size: int) -> Iterator[Matrix]:
    pairs = list(combinations(range(size), 2))
    for states in product(range(3), repeat=len(pairs)):
        A = np.zeros((size, size), dtype=np.bool_)
        for (i, j), state in zip(pairs, states, strict=True):
            A[i, j], A[j, i] = state == 1, state == 2
        orders = (np.array(order) for order in permutations(range(size)))
        if any(not np.tril(A[np.ix_(order, order)]).any() for order in orders):
            yield A


def _colliders(A: Matrix) -> frozenset[tuple[int, int, int]]:
    size = len(A)
    return frozenset(
        (i, k, j)
        for i, j in combinations(range(size), 2)
        for k in range(size)
        if A[i, k] and A[j, k] and not A[i, j] and not A[j, i]
    )


@pytest.fixture(scope="session")
def dags3() -> list[Matrix]:
    return list(_all_dags(3))


@pytest.fixture(scope="session")
def dags4() -> list[Matrix]:
    return list(_all_dags(4))


@pytest.fixture(scope="session")
def classes4(dags4: list[Matrix]) -> list[list[Matrix]]:
    """The DAGs on four nodes, grouped by skeleton and colliders."""
    found: dict[object, list[Matrix]] = {}
    for dag in dags4:
        found.setdefault(((dag | dag.T).tobytes(), _colliders(dag)), []).append(dag)
    return list(found.values())
