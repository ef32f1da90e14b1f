"""Sites that hold rows of one causal graph: alike, or with mechanisms that differ.

All sites share the arrows; ``differ`` says what else they share. ``root``: the first root leans,
at half of the sites one way and at the others the other way. ``tilt``: all roots lean so, each
site's the same way; pooled, their rows join roots that are independent at every site (Simpson).
``all``: every mechanism of every site is its own.

A site is fixed by the seed and its number, however many sites there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError
from privet.networks.generated import LinearGaussian, standardised
from privet.networks.network import Network
from privet.schema.column import did_you_mean

Model = Network | LinearGaussian

DIFFER = ("none", "root", "tilt", "all")
LEAN = 1.5  # log odds of the last level against the first; half of it are the units of a number
JITTER = 0.5  # standard deviation of the logarithm of what multiplies each parameter
MOST_SITES = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """One site: its name, its model, and the seed of its rows."""

    name: str
    model: Model
    seed: tuple[int, ...]

    def rng(self) -> np.random.Generator:
        """A fresh generator of its rows, the same each time."""
        return np.random.default_rng(self.seed)

    def sample(self, rows: int) -> dict[str, NDArray[Any]]:
        return dict(self.model.sample(rows, self.rng()))

    def blocks(self, rows: int) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows of ``sample``, some at a time."""
        yield from self.model.blocks(rows, self.rng())


def sites_of(model: Model, count: int, *, differ: str = "none", seed: int) -> tuple[Site, ...]:
    """So many sites of one graph, named site-1, site-2, ..."""
    check_sites(count, differ)
    return tuple(
        Site(
            name=site_name(number),
            model=_DIFFER[differ](model, number, np.random.default_rng((seed, number, 0))),
            seed=(seed, number, 1),
        )
        for number in range(1, count + 1)
    )


def site_name(number: int) -> str:
    return f"site-{number}"


def check_sites(count: object, differ: str) -> None:
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not 2 <= count <= MOST_SITES:  # type: ignore[operator]
        raise DataError(
            f"sites = {count!r}; give a whole number from 2 to {MOST_SITES}, or leave it away for "
            "rows of one table"
        )
    if differ not in DIFFER:
        raise DataError(
            f"differ = {differ!r}{did_you_mean(differ, DIFFER)}; choose one of {', '.join(DIFFER)}"
        )


def _alike(model: Model, _number: int, _rng: np.random.Generator) -> Model:
    return model


def _first_root(model: Model, number: int, _rng: np.random.Generator) -> Model:
    return _leaning(model, _roots(model)[:1], number)


def _all_roots(model: Model, number: int, _rng: np.random.Generator) -> Model:
    return _leaning(model, _roots(model), number)


def _all_mechanisms(model: Model, _number: int, rng: np.random.Generator) -> Model:
    if isinstance(model, LinearGaussian):
        weights = model.weights * _jitter(model.weights.shape, rng)
        noise = model.noise * _jitter(model.noise.shape, rng)
        weights, noise = standardised(weights, noise)
        return replace(model, weights=weights, noise=noise)
    tables = {
        name: _distributions(table * _jitter(table.shape, rng))
        for name, table in model.tables.items()
    }
    return replace(model, tables=tables)


_DIFFER: dict[str, Callable[[Model, int, np.random.Generator], Model]] = {
    "none": _alike,
    "root": _first_root,
    "tilt": _all_roots,
    "all": _all_mechanisms,
}


def _roots(model: Model) -> list[str]:
    if isinstance(model, LinearGaussian):
        found = ~(model.weights != 0).any(axis=0)
        return [name for name, root in zip(model.names, found, strict=True) if root]
    return [name for name in model.names if not model.parents[name]]


def _leaning(model: Model, roots: list[str], number: int) -> Model:
    """These roots lean to their last levels at sites with odd numbers, to their first at others;
    numbers move up or down."""
    lean = LEAN if number % 2 else -LEAN
    if isinstance(model, LinearGaussian):
        means = np.array([lean / 2 if name in roots else 0.0 for name in model.names])
        return replace(model, means=means * model.noise)
    tables = dict(model.tables)
    for name in roots:
        ladder = np.linspace(0.0, 1.0, len(model.levels[name]))
        tables[name] = _distributions(tables[name] * np.exp(lean * ladder))
    return replace(model, tables=tables)


def _jitter(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.exp(JITTER * rng.standard_normal(shape))


def _distributions(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def columns_of(model: Model, drawn: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The columns of a table from what was drawn: numbers, or the labels of levels."""
    if isinstance(model, LinearGaussian):
        return drawn
    return {name: np.array(model.levels[name], object)[codes] for name, codes in drawn.items()}
