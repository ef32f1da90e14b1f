"""Runs whose results must not change by accident: every method, with noise that can be repeated.

The noise of a private run comes from the system's entropy and has no seed. Here, and only here, it
is taken from a seeded generator in its place, so that evidence, graphs and certificates can be held
against those that are kept in ``kept.json`` (``test_golden.py``). A case is a name and a function,
which is called when the case is played. ``python -m tests.golden.cases`` writes them anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import privet
from privet.methods import catalogue
from privet.methods.literature import curate
from privet.networks import network
from privet.networks.generated import random_linear_gaussian
from privet.pairs import way as ways
from privet.privacy import mechanisms
from privet.results import saved as saved_file

HERE = Path(__file__).parent
KEPT = HERE / "kept.json"
ROWS = 3000


def seeded(seed: int = 7) -> dict[str, Callable[[float], Any]]:
    """What OpenDP would draw, from a generator that starts anew in every run."""
    rng = np.random.default_rng(seed)

    def adding(draw: Callable[[float, int], Any]) -> Callable[[float], Any]:
        def make(scale: float) -> Any:
            return lambda values: [
                int(value + noise)
                for value, noise in zip(values, draw(scale, len(values)), strict=True)
            ]

        return make

    def noisy_max(scale: float) -> Any:
        return lambda values: int(np.argmax(np.asarray(values) + rng.gumbel(0, scale, len(values))))

    return {
        "_gaussian": adding(lambda scale, size: np.rint(rng.normal(0, scale, size))),
        "_laplace": adding(lambda scale, size: np.rint(rng.laplace(0, scale, size))),
        "_noisy_max": noisy_max,
    }


@contextmanager
def repeatable() -> Iterator[None]:
    draws: dict[str, Any] = seeded()
    coins = cycle((1, 0))
    with (
        mock.patch.multiple(mechanisms, **draws),
        mock.patch.object(curate, "secrets", SimpleNamespace(randbits=lambda _bits: next(coins))),
    ):
        yield


@cache
def tables() -> dict[str, tuple[dict[str, list[Any]], privet.Schema]]:
    """A table of categories, one of numbers, one of both."""
    rng = np.random.default_rng(11)
    a = rng.integers(0, 3, ROWS)
    b = (a + (rng.random(ROWS) < 0.3)) % 3
    c = rng.integers(0, 2, ROWS)
    d = (b > 0) ^ (c == 1) ^ (rng.random(ROWS) < 0.1)
    codes = {"a": a, "b": b, "c": c, "d": d.astype(int)}
    levels = {name: tuple(str(k) for k in range(int(v.max()) + 1)) for name, v in codes.items()}
    categories = {name: [str(k) for k in values] for name, values in codes.items()}
    kinds = {"a": "ordinal", "b": "categorical", "c": "categorical", "d": "categorical"}
    columns = [
        privet.Column(name=name, kind=kinds[name], levels=levels[name])  # type: ignore[arg-type]
        for name in codes
    ]
    u = rng.exponential(1, ROWS) - 1
    x = np.clip(u, -3, 6)
    y = np.clip(x**2 / 4 + rng.uniform(-1, 1, ROWS), -9, 12)
    z = np.clip(0.8 * x + rng.normal(0, 1, ROWS), -9, 12)
    w = np.clip(y - z + rng.normal(0, 1, ROWS), -20, 20)
    numbers = {"x": x.tolist(), "y": y.tolist(), "z": z.tolist(), "w": w.tolist()}
    bounds = {"x": (-3.0, 6.0), "y": (-9.0, 12.0), "z": (-9.0, 12.0), "w": (-20.0, 20.0)}
    numeric = [privet.Column(name=name, kind="numeric", bounds=bounds[name]) for name in numbers]
    knowledge = privet.Knowledge(forbidden=frozenset({("d", "a")}))
    return {
        "categories": (
            categories,
            privet.Schema(name="categories", columns=tuple(columns), knowledge=knowledge),
        ),
        "numbers": (numbers, privet.Schema(name="numbers", columns=tuple(numeric))),
        "both": (
            {**categories, "x": numbers["x"], "z": numbers["z"]},
            privet.Schema(
                name="both",
                columns=(*columns, *(c for c in numeric if c.name in "xz")),
                rows=ROWS,
                adjacency=privet.Adjacency.REPLACE_ONE,
            ),
        ),
    }


def digest(value: Any) -> str:
    """Of a document; its floats to nine digits, since linear algebra differs in the last ones."""
    text = json.dumps(_rounded(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def outcome(found: privet.Discovery) -> dict[str, Any]:
    certificate = json.loads(found.certificate.to_json())
    if certificate.get("ledger"):
        certificate["ledger"] |= {"run": 0, "people": 0}  # which are random
    certificate.pop("site", None)  # which no run here has
    certificate.pop("version")  # which changes with each release
    evidence = json.loads(saved_file.to_json(found.evidence))
    return {
        "graph": [
            [str(edge), edge.confidence, edge.arrow_confidence, edge.origin]
            for edge in found.graph.edges
        ],
        "tests": found.tests,
        "notes": list(found.notes),
        "certificate": digest(certificate),
        "releases": digest(evidence["releases"]),
        "schema": digest(evidence["schema"]),
    }


EPSILON = 4.0
# These part the rows into halves by the system's entropy, which has no seed.
SECRET_HALVES = {"anm-hsic", "anm-sqrt-hsic", "anm-iqr"}

Outcome = dict[str, Any]
Case = Callable[[], Outcome]


def central() -> Iterator[tuple[str, Case]]:
    """Every method on every table: with a budget, without privacy, as published."""
    for name in tables():
        for method in catalogue.available():
            yield f"{name}, {method.name}", partial(on_table, name, method.name)
            if method.published:
                yield (
                    f"{name}, {method.name} as published",
                    partial(on_table, name, method.name, as_published=True),
                )
    yield (
        "numbers, directions of pairs",
        partial(on_table, "numbers", "moment-pc", orient_pairs=0.5),
    )
    two = ["interaction-pc", "interaction-ges"]
    yield "categories, two methods", partial(on_table, "categories", two)
    for search in ("pc", "fci", "ges"):
        yield (
            f"categories, {search} of order 3",
            partial(on_table, "categories", search, max_order=3),
        )
    yield (
        "categories, with a delta",
        partial(on_table, "categories", "interaction-pc", delta=1e-6),
    )


def on_table(name: str, method: str | list[str], **options: Any) -> Outcome:
    return played(*tables()[name], method, **options)


def played(data: object, schema: privet.Schema, method: str | list[str], **options: Any) -> Outcome:
    if not catalogue.get(method if isinstance(method, str) else method[0]).private:
        options = {"private": False} | options
        options.pop("delta", None)
    else:
        options.setdefault("epsilon", EPSILON)
        if not options.get("as_published"):
            options["ledger"] = privet.Ledger(":memory:")
    try:
        with repeatable():
            return outcome(privet.discover(data, schema, method=method, **options))
    except privet.PrivetError as error:
        return {"refused": str(error)}


def larger() -> Iterator[tuple[str, Case]]:
    """Searches on networks of ten columns and more, where there is much to decide."""
    for name, searches in (
        ("asia", ("pc", "ges", "fci", "rfci", "mmhc", "mcmc")),
        ("sachs", ("pc", "ges", "fci", "rfci", "mmhc")),
    ):
        for search in searches:
            for method in (search, f"interaction-{search}"):
                yield f"{name}, {method}", partial(on_network, name, method)
    for search in ("pc", "ges", "fci", "rfci", "mmhc"):
        for method in (search, f"moment-{search}"):
            yield f"gaussian, {method}", partial(on_gaussian, method)


def on_network(name: str, method: str) -> Outcome:
    model = network.load(name)
    return played(drawn(name), model.schema(), method, delta=1e-6)


@cache
def drawn(name: str) -> dict[str, list[Any]]:
    model = network.load(name)
    codes = model.sample(5 * ROWS, np.random.default_rng(5))
    return {n: np.array(model.levels[n])[codes[n]].tolist() for n in model.names}


def on_gaussian(method: str) -> Outcome:
    return played(*gaussian(), method)


@cache
def gaussian() -> tuple[dict[str, list[float]], privet.Schema]:
    model = random_linear_gaussian(12, density=0.3, rng=np.random.default_rng(2))
    rows = model.sample(2 * ROWS, np.random.default_rng(3))
    return {n: values.tolist() for n, values in rows.items()}, model.schema()


def uneven() -> Iterator[tuple[str, Case]]:
    """Searches where levels are rare, so that rows are weighed."""
    for search in ("pc", "ges", "fci", "mmhc"):
        yield f"uneven, interaction-{search}", partial(on_rare_levels, f"interaction-{search}")


def on_rare_levels(method: str) -> Outcome:
    return played(*rare_levels(), method, epsilon=0.5, delta=1e-6)


@cache
def rare_levels() -> tuple[dict[str, list[Any]], privet.Schema]:
    rng = np.random.default_rng(23)
    a, e = (rng.random(ROWS) < share for share in (0.12, 0.06))
    b = np.where(rng.random(ROWS) < 0.55, a, rng.random(ROWS) < 0.1)
    c = rng.choice(3, ROWS, p=[0.85, 0.1, 0.05])
    d = (b | (c > 0)) & (rng.random(ROWS) < 0.7) | (rng.random(ROWS) < 0.04)
    codes = {"a": a, "b": b, "c": c, "d": d, "e": e}
    columns = [
        privet.Column(name=name, kind="ordinal", levels=tuple("012" if name == "c" else "01"))
        for name in codes
    ]
    rows = {name: [str(int(code)) for code in values] for name, values in codes.items()}
    return rows, privet.Schema(name="uneven", columns=tuple(columns))


def paired() -> Iterator[tuple[str, Case]]:
    """Every way to tell the cause of a pair."""
    for way in ways.all_ways():
        if way.name not in SECRET_HALVES:
            yield f"pair, {way.name}", partial(told, way)


def told(way: ways.Way) -> Outcome:
    data, schema = tables()["numbers"]
    schema = replace(schema, rows=ROWS, adjacency=privet.Adjacency.REPLACE_ONE)
    budget: dict[str, Any] = {"private": False}
    if way.private:
        budget = {"epsilon": EPSILON, "ledger": privet.Ledger(":memory:")}
        budget["delta"] = 1e-6 if way.tested else 0.0
    try:
        with repeatable():
            found = privet.orient(data, schema, cause_effect=("x", "y"), method=way.name, **budget)
    except privet.PrivetError as error:
        return {"refused": str(error)}
    return {"answers": [one.to_dict() for one in found]}


def again() -> Iterator[tuple[str, Case]]:
    """Files that were written before: evidence of real runs, and reports of devices."""
    for file in sorted(HERE.glob("*.evidence.json")):
        for method in catalogue.available():
            yield f"{file.name}, {method.name}", partial(searched, method.name, evidence=file)
    for protocol in sorted(HERE.glob("*.protocol.json")):
        reports = protocol.with_name(protocol.name.replace(".protocol.json", ".reports.csv"))
        for name in catalogue.on_evidence("reports"):
            yield (
                f"{reports.name}, {name}",
                partial(searched, name, data=reports, protocol=protocol),
            )


def searched(method: str, **what: Any) -> Outcome:
    try:
        return outcome(privet.discover(method=method, **what))
    except privet.PrivetError as error:
        return {"refused": str(error)}


def cases() -> dict[str, Case]:
    return dict([*central(), *larger(), *uneven(), *paired(), *again()])


def record() -> dict[str, Outcome]:
    return {name: play() for name, play in cases().items()}


if __name__ == "__main__":
    KEPT.write_text(json.dumps(record(), indent=1, sort_keys=True) + "\n")
