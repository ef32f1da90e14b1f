"""The protocol of a name for a schema and an epsilon, or for an attacker's success."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from privet.errors import MethodError
from privet.local.device import geometric, planner
from privet.local.device.blocks import GRID, Block
from privet.local.device.channel import check_epsilon, log_up, odds_below
from privet.local.device.protocol import FAMILIES, Protocol, check_name, check_schema
from privet.privacy.ledger.conversion import Number, float_up
from privet.schema.model import Schema

Split = Literal["equal", "levels"]

MOST_PARITY_LEVELS = 6  # above, and above an epsilon of 1, blocks tell more
SIGN_BIT_UP_TO = Fraction(3, 2)
MOST_PEOPLE = 1e12  # for one without noise; as nobody has so many, such reports tell nothing
BY_SUCCESS = ("component-wise", "combined", "geometric", "geometric-combined")


def plan_protocol(
    schema: Schema,
    epsilon: Number | None = None,
    name: str = "auto",
    *,
    success: Number | None = None,
    split: Split = "equal",
    clamped: bool = False,
    norm: float = 1,
) -> Protocol:
    """The protocol for these columns, the same wherever it is planned.

    ``epsilon`` bounds what one person's whole report gives away. In its place ``success`` may be
    given, the probability with which an attacker to whom all values are alike guesses right: each
    column (component-wise, geometric) or the whole row (combined, geometric-combined). ``split``:
    how component-wise shares epsilon out, equally or by the number of levels. ``clamped``: the
    exactly d-private version of geometric and of geometric-combined. ``norm``: of the latter.
    """
    if (epsilon is None) == (success is None):
        raise MethodError(f"epsilon is {epsilon!r} and success is {success!r}; give one of the two")
    if name == "auto":
        check_schema(schema, "component-wise")
        name = best_name(schema, None if epsilon is None else check_epsilon(epsilon))
    check_name(name)
    check_schema(schema, name)
    _check_options(name, success, split, clamped, norm)
    if epsilon is not None:
        order = Order(schema, check_epsilon(epsilon), split, clamped, norm)
        body = RECIPES[name](order)
        return Protocol(name=name, schema=schema, epsilon=order.epsilon, **body)
    assert success is not None
    return _by_success(schema, name, probability(success), norm)


def worth_it(protocol: Protocol) -> Protocol:
    """All columns together are refused where they tell nothing, and one pair of them would: for
    whoever collects reports. (What papers do is planned as it is.)"""
    if protocol.name != "combined":
        return protocol
    sizes, odds = protocol.sizes, protocol.odds[0]
    needed = planner.cost(sizes, odds, protocol.blocks)
    if needed > MOST_PEOPLE >= planner.cost(sizes, odds, planner.all_of(len(sizes), 2)):
        raise MethodError(
            f"all {len(sizes)} columns together have {math.prod(sizes):.3g} cells, of which "
            f"reports with epsilon {float(protocol.epsilon):g} tell nothing: {needed:.2g} people "
            f"would be worth one without noise; choose the protocol planned-block"
        )
    return protocol


def best_name(schema: Schema, epsilon: Fraction | None) -> str:
    """What experiments found best: the sign of numbers; else the parity of a pair where noise is
    heavy and levels are few, and planned blocks everywhere else."""
    if epsilon is None:
        raise MethodError(
            f"a success does not say which protocol is best; choose one of {', '.join(BY_SUCCESS)}"
        )
    if len(schema.columns) == 1:
        return "component-wise"
    if schema.has_moments:
        return "sign-bit" if epsilon <= SIGN_BIT_UP_TO else "sign-block"
    largest = max(column.cardinality for column in schema.columns)
    return "parity" if epsilon <= 1 and largest <= MOST_PARITY_LEVELS else "planned-block"


def _check_options(
    name: str, success: Number | None, split: str, clamped: bool, norm: float
) -> None:
    if success is not None and name not in BY_SUCCESS:
        raise MethodError(
            f"the protocol {name} is planned for an epsilon; give one, or choose one of "
            f"{', '.join(BY_SUCCESS)}"
        )
    if split not in ("equal", "levels"):
        raise MethodError(f"split is {split!r}; use equal or levels")
    if split != "equal" and (name != "component-wise" or success is not None):
        raise MethodError("split = levels is for the protocol component-wise with an epsilon")
    if clamped and (name not in ("geometric", "geometric-combined") or success is not None):
        raise MethodError(
            "clamped is for the protocols geometric and geometric-combined, with an epsilon"
        )
    if norm != 1 and name != "geometric-combined":
        raise MethodError(f"norm = {norm!r} is for the protocol geometric-combined")


@dataclass(frozen=True)
class Order:
    """What is wanted of a recipe."""

    schema: Schema
    epsilon: Fraction
    split: Split
    clamped: bool
    norm: float

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(column.cardinality for column in self.schema.columns)

    @property
    def count(self) -> int:
        return len(self.schema.columns)

    @property
    def odds(self) -> Fraction:
        return odds_below(self.epsilon)


def _asked(choose: Callable[[Order], tuple[Block, ...]]) -> Callable[[Order], dict[str, Any]]:
    """A recipe for a protocol that asks everybody about one block with the whole epsilon."""
    return lambda order: {"odds": (order.odds,), "blocks": choose(order)}


def _component_wise(order: Order) -> dict[str, Any]:
    parts = order.sizes if order.split == "levels" else (1,) * order.count
    each = (order.epsilon * part / sum(parts) for part in parts)
    return {"odds": tuple(map(odds_below, each))}


def _geometric(order: Order) -> dict[str, Any]:
    each = order.epsilon / order.count
    for size in order.sizes:
        geometric.check_sizes((size,))
    if order.clamped:
        return {"odds": tuple(odds_below(each / (size - 1)) for size in order.sizes)}
    return {"p_max": tuple(geometric.p_max_for((size,), each) for size in order.sizes)}


def _geometric_combined(order: Order) -> dict[str, Any]:
    if order.clamped:
        odds = geometric.odds_for(order.sizes, order.epsilon, order.norm)
        return {"odds": (odds,), "norm": order.norm}
    p_max = geometric.p_max_for(order.sizes, order.epsilon, order.norm)
    return {"p_max": (p_max,), "norm": order.norm}


def _piecewise(order: Order) -> dict[str, Any]:
    """The window of Wang et al. (2019) on the grid, and a clip that suits epsilon if the bounds
    lie three standard deviations away: 0.5 of them at epsilon 1, 1.5 at 4, all from 8.5 on."""
    window = (GRID - 1) / (odds_below(order.epsilon / 2) - 1)
    return {
        "odds": (order.odds,),
        "width": max(1, round(window)),
        "clip": min(Fraction(1), Fraction(1, 18) + order.epsilon / 9),
        "blocks": planner.with_margins(order.count, powers=(1, 2)),
    }


RECIPES: dict[str, Callable[[Order], dict[str, Any]]] = {
    "planned-block": _asked(lambda order: planner.plan_blocks(order.sizes, order.odds)),
    "sign-block": _asked(lambda order: planner.plan_blocks((2,) * order.count, order.odds)),
    "one-pair": _asked(lambda order: planner.all_of(order.count, 2)),
    "one-triple": _asked(lambda order: planner.all_of(order.count, min(3, order.count))),
    "combined": _asked(lambda order: planner.all_of(order.count, order.count)),
    "parity": _asked(lambda order: planner.with_margins(order.count)),
    "sign-bit": _asked(lambda order: planner.all_of(order.count, 2)),
    "piecewise": _piecewise,
    "component-wise": _component_wise,
    "geometric": _geometric,
    "geometric-combined": _geometric_combined,
}
assert set(RECIPES) == set(FAMILIES)


def _by_success(schema: Schema, name: str, success: Fraction, norm: float) -> Protocol:
    """Exact odds or p_max from the success; the epsilon claimed is the loss that follows."""
    sizes = tuple(column.cardinality for column in schema.columns)
    together = name in ("combined", "geometric-combined")
    cells = (math.prod(sizes),) if together else sizes
    for count in cells:
        geometric.check_success(count, success)
    body: dict[str, Any]
    if name in ("component-wise", "combined"):
        body = {"odds": tuple(odds_for(count, success) for count in cells)}
        loss = sum(map(log_up, body["odds"]), Fraction(0))
        if together:
            body["blocks"] = planner.all_of(len(sizes), len(sizes))
    else:
        body = {"p_max": tuple(success for _ in cells), "norm": norm}
        grids = (sizes,) if together else tuple((size,) for size in sizes)
        loss = sum((geometric.fixed(grid, success, norm).loss for grid in grids), Fraction(0))
    claimed = Fraction(repr(float_up(loss)))
    while claimed < loss:  # the shortest text of a float may lie just below it
        claimed = Fraction(repr(math.nextafter(float(claimed), math.inf)))
    return Protocol(name=name, schema=schema, epsilon=claimed, **body)


def odds_for(cells: int, success: Fraction) -> Fraction:
    """The odds at which randomised response on so many cells tells the truth so often."""
    return success * (cells - 1) / (1 - success)


def probability(value: Number) -> Fraction:
    try:
        return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, OverflowError):
        raise MethodError(f"the success is {value!r}; give a probability, such as 0.5") from None
