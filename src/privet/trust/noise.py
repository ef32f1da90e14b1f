"""What the noise of a release is worth, from what is public alone.

A run's ledger knows what was paid. Whoever gets a file of evidence has no ledger: here the price
of each release is worked out once more, from the mechanism that it names, its query and the
schema, and its variance is held against that of the mechanism.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from privet.privacy.laws import gaussian_variance, laplace_variance, smallest_root
from privet.privacy.ledger.conversion import Currency
from privet.privacy.mechanisms import Gaussian, Laplace
from privet.privacy.queries.base import Release
from privet.schema.model import Schema

STATED = re.compile(
    r"(Gaussian\(rho|Laplace\(epsilon)=Fraction\(([1-9][0-9]{0,999}), ([1-9][0-9]{0,999})\)\)"
)
CLOSE = 1e-9  # machines may differ in the last digits of a variance that is summed up


def stated(release: Release) -> Gaussian | Laplace | None:
    """The mechanism that a release names, if it is one whose price is known."""
    found = STATED.fullmatch(release.mechanism)
    if found is None:
        return None
    price = Fraction(int(found[2]), int(found[3]))
    return Gaussian(rho=price) if found[1].startswith("Gaussian") else Laplace(epsilon=price)


def expected_variance(release: Release, schema: Schema) -> float:
    """The variance of the noise that the named mechanism adds to the answer to this query."""
    mechanism = stated(release)
    if isinstance(mechanism, Gaussian):
        bound, law = release.query.l2_squared(schema), gaussian_variance
    elif isinstance(mechanism, Laplace):
        bound, law = release.query.l1(schema), laplace_variance
    else:
        return math.nan
    return law(mechanism.scale(bound)) if bound else 0.0


def is_as_stated(release: Release, schema: Schema, currency: Currency) -> bool:
    """Whether the variance is that of the mechanism; never, if that is not known. Gaussian noise
    from before there was GDP had no more than zCDP asks for, and does for that."""
    expected = [expected_variance(release, schema)]
    mechanism = stated(release)
    if currency == "zcdp" and isinstance(mechanism, Gaussian):
        square = release.query.l2_squared(schema) / (2 * mechanism.rho)
        expected.append(gaussian_variance(smallest_root(square)) if square else 0.0)
    return any(math.isclose(release.variance, one, rel_tol=CLOSE) for one in expected)


def price(release: Release, currency: Currency) -> Fraction:
    """What the named mechanism costs, exactly."""
    mechanism = stated(release)
    assert mechanism is not None  # ``is_as_stated`` was asked before
    return mechanism.cost(currency)
