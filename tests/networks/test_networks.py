from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet import networks
from privet.errors import DataError, GraphError
from privet.networks import Network, load, random_linear_gaussian, random_network
from privet.networks.network import BLOCK

ALPHA = 1e-6
SIZES = {
    "asia": (8, 8),
    "cancer": (5, 4),
    "earthquake": (5, 4),
    "survey": (6, 6),
    "sachs": (11, 17),
    "child": (20, 25),
    "alarm": (37, 46),
    "insurance": (27, 52),
    "hailfinder": (56, 66),
}


def g_test(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """p-value of the G test; cells with a small expectation are pooled into one."""
    counts, expected = counts.ravel(), probabilities.ravel() * counts.sum()
    assert not counts[expected == 0].any(), "the impossible was drawn"
    small = expected < 20
    seen = np.append(counts[~small], counts[small].sum())
    wanted = np.append(expected[~small], expected[small].sum())
    keep = wanted > 0
    if keep.sum() < 2:
        return 1.0
    wanted *= seen.sum() / wanted.sum()
    return float(stats.power_divergence(seen[keep], wanted[keep], lambda_="log-likelihood").pvalue)


def count(
    sample: dict[str, np.ndarray], columns: tuple[str, ...], shape: tuple[int, ...]
) -> np.ndarray:
    cell = np.ravel_multi_index([sample[column] for column in columns], shape)
    return np.bincount(cell, minlength=prod(shape))


def brute_force_joint(network: Network) -> np.ndarray:
    """Every cell as the product of its conditional probabilities, looked up one by one."""
    sizes = [len(network.levels[name]) for name in network.names]
    joint = np.ones(sizes)
    for cell in itertools.product(*map(range, sizes)):
        at = dict(zip(network.names, cell, strict=True))
        for name in network.names:
            parents = network.parents[name]
            rows = list(itertools.product(*(range(len(network.levels[p])) for p in parents)))
            joint[cell] *= network.tables[name][rows.index(tuple(at[p] for p in parents)), at[name]]
    return joint


def test_the_catalogue_is_complete() -> None:
    assert set(networks.available()) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_network_is_what_it_says(name: str) -> None:
    network = load(name)
    graph = network.graph()
    assert (len(graph.nodes), len(graph.edges)) == SIZES[name]
    assert graph.kind == "dag" and graph.nodes == network.names
    assert network.source
    place = {node: i for i, node in enumerate(network.order)}
    assert all(place[parent] < place[node] for node in place for parent in network.parents[node])
    for node in network.names:
        table = network.tables[node]
        assert (table >= 0).all() and np.abs(table.sum(axis=1) - 1).max() < 1e-9
    schema = network.schema()
    assert schema.name == name and schema.names == network.names
    assert all(schema.column(node).levels == network.levels[node] for node in network.names)


def conditional(network: Network, node: str, level: str, **given: str) -> float:
    row = 0
    for parent in network.parents[node]:
        row = row * len(network.levels[parent]) + network.levels[parent].index(given[parent])
    return float(network.tables[node][row, network.levels[node].index(level)])


def test_tables_hold_the_published_numbers() -> None:
    cancer, asia = load("cancer"), load("asia")
    assert conditional(cancer, "Cancer", "True", Pollution="low", Smoker="True") == 0.03
    assert conditional(cancer, "Cancer", "True", Pollution="high", Smoker="False") == 0.02
    assert conditional(asia, "dysp", "yes", bronc="yes", either="no") == 0.8
    assert conditional(asia, "dysp", "yes", bronc="no", either="yes") == 0.7
    assert conditional(asia, "either", "yes", lung="no", tub="no") == 0


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "survey"])
def test_marginals_equal_brute_force(name: str) -> None:
    network = load(name)
    joint = brute_force_joint(network)
    assert np.allclose(network.marginal(network.names), joint, atol=1e-14)
    for a, b in itertools.permutations(range(len(network.names)), 2):
        rest = tuple(i for i in range(joint.ndim) if i not in (a, b))
        pair = joint.sum(axis=rest)
        exact = network.marginal((network.names[a], network.names[b]))
        assert np.allclose(exact, pair if a < b else pair.T, atol=1e-14)


@pytest.mark.parametrize("name", SIZES)
def test_rows_follow_the_network(name: str) -> None:
    """Each family in large networks; all columns together where the table is small enough."""
    network = load(name)
    sample = network.sample(200_000, np.random.default_rng(0))
    families = [(*network.parents[node], node) for node in network.names]
    if prod(len(levels) for levels in network.levels.values()) <= 200_000:
        families.append(network.names)
    for family in families:
        shape = tuple(len(network.levels[member]) for member in family)
        p = g_test(count(sample, family, shape), network.marginal(family))
        assert p > ALPHA / len(families), family


def test_the_g_test_catches_a_wrong_table() -> None:
    network = load("asia")
    other = dict(network.tables) | {"smoke": np.array([[0.51, 0.49]])}
    shifted = Network(
        name="shifted",
        names=network.names,
        levels=network.levels,
        parents=network.parents,
        tables=other,
    )
    sample = shifted.sample(200_000, np.random.default_rng(0))
    assert g_test(count(sample, ("smoke",), (2,)), network.marginal(("smoke",))) < ALPHA


def test_seeds_reproduce_across_blocks() -> None:
    network = load("survey")
    rows = BLOCK + 10
    one = network.sample(rows, np.random.default_rng(5))
    two = network.sample(rows, np.random.default_rng(5))
    other = network.sample(rows, np.random.default_rng(6))
    assert all(np.array_equal(one[name], two[name]) for name in network.names)
    assert not all(np.array_equal(one[name], other[name]) for name in network.names)
    assert all(len(one[name]) == rows and one[name].dtype == np.uint8 for name in network.names)
    assert not np.array_equal(one["A"][:10], one["A"][BLOCK:])


def test_no_rows_is_an_empty_sample() -> None:
    assert all(
        len(codes) == 0 for codes in load("asia").sample(0, np.random.default_rng()).values()
    )


def test_unknown_names_are_refused_with_the_near_ones() -> None:
    with pytest.raises(DataError, match="did you mean 'asia'"):
        load("aisa")
    with pytest.raises(DataError, match="hailfinder"):
        load("../asia")
    with pytest.raises(DataError, match="did you mean 'smoke'"):
        load("asia").marginal(("smok",))


def test_a_network_must_be_sound() -> None:
    levels = {"a": ("0", "1"), "b": ("0", "1")}
    parts: dict[str, Any] = {"name": "n", "names": ("a", "b"), "levels": levels}
    half, wide = np.full((1, 2), 0.5), np.full((2, 2), 0.5)
    with pytest.raises(GraphError, match="circle"):
        Network(**parts, parents={"a": ("b",), "b": ("a",)}, tables={"a": wide, "b": wide})
    with pytest.raises(DataError, match="shape"):
        Network(**parts, parents={"a": (), "b": ("a",)}, tables={"a": half, "b": half})
    with pytest.raises(DataError, match="sum to 1"):
        Network(**parts, parents={"a": (), "b": ()}, tables={"a": half, "b": half * 1.1})


def test_random_networks_have_the_density_asked_for() -> None:
    rng = np.random.default_rng(1)  # 6 nodes: nobody can have more than 5 parents
    edges = [len(random_network(6, density=0.3, rng=rng).graph().edges) for _ in range(500)]
    assert stats.binomtest(sum(edges), 500 * 15, 0.3).pvalue > ALPHA


def test_random_networks_have_the_levels_asked_for() -> None:
    rng = np.random.default_rng(1)
    drawn = [random_network(20, density=0.1, levels=(2, 4), rng=rng) for _ in range(50)]
    sizes = [len(levels) for network in drawn for levels in network.levels.values()]
    counts = np.bincount(sizes)[2:]
    assert len(counts) == 3 and stats.chisquare(counts).pvalue > ALPHA


def test_dense_random_networks_stay_small() -> None:
    network = random_network(12, density=1, rng=np.random.default_rng(2))
    parents = [len(network.parents[name]) for name in network.names]
    assert max(parents) == 5 and sum(parents) == 0 + 1 + 2 + 3 + 4 + 5 * 7
    assert network.graph().kind == "dag"


def test_the_order_of_random_graphs_is_random() -> None:
    rng = np.random.default_rng(3)
    forward = sum(
        bool(random_linear_gaussian(2, density=1, rng=rng).weights[0, 1]) for _ in range(400)
    )
    assert stats.binomtest(forward, 400).pvalue > ALPHA


def test_a_linear_gaussian_model_is_standard_and_exact() -> None:
    model = random_linear_gaussian(20, density=0.2, rng=np.random.default_rng(4))
    sigma = model.covariance()
    assert np.allclose(np.diag(sigma), 1)
    rest = np.eye(20) - model.weights  # e = x @ rest
    assert np.allclose(rest.T @ sigma @ rest, np.diag(model.noise**2))
    arrows = {(a, b) for a, b in model.graph().arcs()}
    at = {name: i for i, name in enumerate(model.names)}
    assert arrows and all(model.weights[at[a], at[b]] != 0 for a, b in arrows)
    assert len(arrows) == np.count_nonzero(model.weights)


def test_gaussian_rows_follow_the_covariance() -> None:
    model = random_linear_gaussian(10, density=0.3, rng=np.random.default_rng(4))
    rows = 100_000
    sample = model.sample(rows, np.random.default_rng(5))
    x = np.column_stack([sample[name] for name in model.names])
    sigma = model.covariance()
    error = (x.T @ x / rows - sigma) / np.sqrt((1 + sigma**2) / rows)
    assert np.abs(error).max() < stats.norm.isf(ALPHA / error.size)
    assert np.abs(x.mean(axis=0)).max() * np.sqrt(rows) < stats.norm.isf(ALPHA / 20)
    column = model.schema().columns[0]
    assert column.bounds == (-4, 4) and column.cuts == (-2, 0, 2)


@pytest.mark.parametrize(
    ("nodes", "density", "levels", "said"),
    [
        (1, 0.1, (2, 5), "1 nodes"),
        (2.5, 0.1, (2, 5), "2.5 nodes"),
        (10, 1.1, (2, 5), "1.1"),
        (10, float("nan"), (2, 5), "nan"),
        (10, 0.1, (1, 5), "1 to 5"),
        (10, 0.1, (4, 3), "4 to 3"),
        (10, 0.1, (2, 300), "300"),
    ],
)
def test_impossible_wishes_are_refused(
    nodes: int, density: float, levels: tuple[int, int], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        random_network(nodes, density=density, levels=levels, rng=np.random.default_rng())
