"""Simulated cause-effect pairs, to try out what tells a cause from its effect.

Additive-noise models, effect = f(cause) + noise with noise independent of the cause, in which the
direction can be told; pairs that are none, since nobody knows of real data that they are; and
straight lines with Gaussian columns, which are the same in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.arrays import Floats
from privet.errors import DataError

ADDITIVE = ("gp", "sigmoid", "poly", "exp", "linear")
OTHER = ("post-nonlinear", "heteroscedastic", "confounded")
EITHER_WAY = ("gaussian",)  # nothing can tell the direction of these
KINDS = (*ADDITIVE, *OTHER, *EITHER_WAY)
CAUSES = ("gaussian", "uniform", "mixture")
NOISES = ("gaussian", "uniform", "laplace")
NOISE = (0.2, 0.7)  # standard deviation of the noise for a signal of standard deviation 1
CURVES = ("gp", "sigmoid", "poly", "exp")  # that pairs which are no additive models are made of
BASIS = 60  # cosines that a random smooth function is made of
FEWEST_ROWS = 2
REACH = 3.0  # standard deviations from the mean to the bounds that a careful analyst would declare


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two columns, of which one causes the other."""

    kind: str
    x: Floats
    y: Floats
    forward: bool  # x causes y

    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Mean ± 3 standard deviations of each column, as an analyst would know them."""
        x, y = (
            (float(v.mean() - REACH * v.std()), float(v.mean() + REACH * v.std()))
            for v in (self.x, self.y)
        )
        return x, y


def random_pair(kind: str, rows: int, rng: np.random.Generator) -> Pair:
    """A pair of a kind in ``KINDS``; a coin decides which column is the cause."""
    if kind not in KINDS:
        raise DataError(f"no pairs of kind {kind!r}; choose from {', '.join(KINDS)}")
    if rows < FEWEST_ROWS:
        raise DataError(f"{rows} rows; a pair needs at least {FEWEST_ROWS}")
    if kind not in OTHER:
        cause, effect = _additive(kind, rows, rng)
    else:
        cause, effect = _OTHERS[kind](rows, rng)
    if rng.random() < 0.5:
        return Pair(kind=kind, x=cause, y=effect, forward=True)
    return Pair(kind=kind, x=effect, y=cause, forward=False)


def _additive(kind: str, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    cause, noise = _laws(kind, rng)
    x = _cause(cause, rows, rng)
    return x, _curve(kind, x, rng) + rng.uniform(*NOISE) * _noise(noise, rows, rng)


def _laws(kind: str, rng: np.random.Generator) -> tuple[str, str]:
    """A straight line needs a law that is not Gaussian on both sides to be told from its
    inverse."""
    if kind in EITHER_WAY:
        return "gaussian", "gaussian"
    skip = 1 if kind == "linear" else 0
    return str(rng.choice(CAUSES[skip:])), str(rng.choice(NOISES[skip:]))


def _post_nonlinear(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """effect = g(f(cause) + noise), g increasing and curved."""
    x, y = _additive(str(rng.choice(CURVES)), rows, rng)
    y = _standard(y)
    bend = rng.uniform(0.5, 1.5)
    return x, np.sinh(bend * y) if rng.random() < 0.5 else np.tanh(bend * y)


def _heteroscedastic(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The noise is larger where the cause is, by a factor of up to several."""
    x = _cause(str(rng.choice(CAUSES)), rows, rng)
    spread = np.exp(rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.8) * x)
    noise = spread * _noise(str(rng.choice(NOISES)), rows, rng)
    return x, _curve(str(rng.choice(CURVES)), x, rng) + rng.uniform(*NOISE) * _standard(noise)


def _confounded(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A hidden third variable moves both, besides the cause moving the effect."""
    hidden = _cause(str(rng.choice(CAUSES)), rows, rng)
    pull = rng.uniform(0.3, 0.7)
    x = _standard(
        pull * _curve(str(rng.choice(CURVES)), hidden, rng)
        + np.sqrt(1 - pull**2) * _cause(str(rng.choice(CAUSES)), rows, rng)
    )
    own = rng.uniform(*NOISE) * _noise(str(rng.choice(NOISES)), rows, rng)
    shared = rng.uniform(0.3, 0.7) * _curve(str(rng.choice(CURVES)), hidden, rng)
    return x, _curve(str(rng.choice(CURVES)), x, rng) + shared + own


_OTHERS = {
    "post-nonlinear": _post_nonlinear,
    "heteroscedastic": _heteroscedastic,
    "confounded": _confounded,
}


def _cause(law: str, rows: int, rng: np.random.Generator) -> Floats:
    """A law of mean 0 and variance 1 in the population."""
    if law == "gaussian":
        return rng.standard_normal(rows)
    if law == "uniform":
        return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), rows)
    share, gap, ratio = rng.uniform(0.3, 0.7), rng.uniform(1.5, 4.0), rng.uniform(0.5, 1.5)
    centres, spreads = np.array([0.0, gap]), np.array([1.0, ratio])
    weights = np.array([share, 1 - share])
    mean = weights @ centres
    deviation = np.sqrt(weights @ (centres**2 + spreads**2) - mean**2)
    at = (rng.random(rows) >= share).astype(int)
    return np.asarray((centres[at] + spreads[at] * rng.standard_normal(rows) - mean) / deviation)


def _noise(law: str, rows: int, rng: np.random.Generator) -> Floats:
    if law == "laplace":
        return rng.laplace(scale=np.sqrt(0.5), size=rows)
    return _cause(law, rows, rng)


def _curve(kind: str, x: Floats, rng: np.random.Generator) -> Floats:
    """A random function of this kind at x, with standard deviation 1 over the rows."""
    sign = rng.choice([-1.0, 1.0])
    if kind == "gp":
        width = rng.uniform(0.5, 1.5)
        frequencies, phases = rng.normal(size=BASIS) / width, rng.uniform(0, 2 * np.pi, BASIS)
        weights = rng.normal(size=BASIS)
        values = np.zeros_like(x)
        for frequency, phase, weight in zip(frequencies, phases, weights, strict=True):
            values += weight * np.cos(frequency * x + phase)
        return _standard(values)
    if kind == "sigmoid":
        return _standard(sign * np.tanh(rng.uniform(1.0, 3.0) * (x - rng.uniform(-1.0, 1.0))))
    if kind == "poly":
        return _standard(np.polynomial.chebyshev.chebval(x / 2, [0.0, *rng.normal(size=3)]))
    if kind == "exp":
        return _standard(sign * np.exp(rng.uniform(0.5, 1.5) * sign * x))
    return np.asarray(sign * x)


def _standard(values: Floats) -> Floats:
    deviation = values.std()
    return np.asarray((values - values.mean()) / (deviation if deviation > 0 else 1.0))
