"""A protocol: all that is public about how reports are made. It travels with them.

The device that randomises, the collector and anybody who wants to check the promise read the
same file, and from it the same exact channels. A protocol that loses more than it claims cannot
be made, nor read.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privet.errors import DataError, MethodError, SchemaError
from privet.local.device import geometric
from privet.local.device.blocks import GRID, HALF, MOST_COLUMNS, Block, Kind, inputs, keys
from privet.local.device.channel import Channel, RandomizedResponse, check_epsilon
from privet.privacy.ledger.conversion import float_up
from privet.schema.column import Column, did_you_mean
from privet.schema.missing import check_chosen
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.local.device.exposure import Levels

VERSION = 1
FORM = "privet local protocol"
FRACTION = r"[0-9]{1,999}([./][0-9]{1,999})?"
HEAVIEST = 1 << 53  # weight of a block; a sum of them is a float somewhere
RESERVED = ("protocol", "person")  # columns of a report beside those of the attributes

Family = Literal["cell", "parity", "product", "attributes", "grid"]
FAMILIES: Mapping[str, Family] = {
    "planned-block": "cell",
    "one-pair": "cell",
    "one-triple": "cell",
    "combined": "cell",
    "sign-block": "cell",
    "parity": "parity",
    "sign-bit": "parity",
    "piecewise": "product",
    "component-wise": "attributes",
    "geometric": "attributes",
    "geometric-combined": "grid",
}
NUMERIC = ("sign-bit", "sign-block", "piecewise")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How reports are made, for one schema. ``epsilon`` bounds all that one person sends.

    odds: of the truth, for every block, or one per attribute (component-wise; geometric that is
    clamped, where it is the odds of a step); of a unit of distance (geometric-combined with one
    rate). blocks: what people are asked. p_max: the probability of the truth, one per attribute
    (geometric) or one (geometric-combined). norm: of the distance
    (geometric-combined). width, clip: of the window and of the range (piecewise).
    """

    name: str
    schema: Schema
    epsilon: Fraction
    odds: tuple[Fraction, ...] = ()
    blocks: tuple[Block, ...] = ()
    p_max: tuple[Fraction, ...] = ()
    norm: float = 1
    width: int = 1
    clip: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_schema(self.schema, self.name)
        check_epsilon(self.epsilon)
        self._check_shape()
        if self.loss > self.epsilon:
            raise MethodError(
                f"the protocol {self.name} loses {float_up(self.loss)!r}, more than the epsilon "
                f"{float(self.epsilon)!r} that it claims; plan it again"
            )

    def _check_shape(self) -> None:
        count = len(self.schema.columns)
        if self.family in ("attributes", "grid"):
            wanted = count if self.family == "attributes" else 1
            fits = not self.blocks and len(self.odds) + len(self.p_max) == wanted
        else:
            fits = len(self.odds) == 1 and bool(self.blocks) and not self.p_max
            fits = fits and all(self._fits(block) for block in self.blocks)
            different = {(block.attributes, block.power) for block in self.blocks}
            fits = fits and len(different) == len(self.blocks)
            asked = {pair for block in self.blocks for pair in combinations(block.attributes, 2)}
            fits = fits and len(asked) == comb(count, 2)
        if not fits:
            raise MethodError(
                f"the parameters do not make a protocol {self.name} for {count} columns; plan it "
                f"again"
            )
        for block in self.blocks:
            self.keys(block)  # refuses what would not fit a report

    def _fits(self, block: Block) -> bool:
        members = block.attributes
        powers = (1, 2) if self.family == "product" else (1,)
        widest = len(self.schema.columns) if self.family == "cell" else 2
        return (
            0 < len(members) <= widest
            and members == tuple(sorted(set(members)))
            and 0 <= members[0] <= members[-1] < len(self.schema.columns)
            and 0 < block.weight < HEAVIEST
            and block.power in powers
        )

    @property
    def family(self) -> Family:
        """What a report consists of."""
        return FAMILIES[self.name]

    @property
    def kind(self) -> Kind:
        """What is made of the answers to a block."""
        assert self.family in ("cell", "parity", "product"), self.family
        return self.family

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns as they are coded before they are randomised: their levels, the side of a
        public centre (sign), or a place on a grid (piecewise)."""
        if self.name in ("sign-bit", "sign-block"):
            return tuple(replace(c, cuts=(centre(c),)) for c in self.schema.columns)
        if self.name == "piecewise":
            return tuple(_on_grid(c, self.clip) for c in self.schema.columns)
        return self.schema.columns

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of every column."""
        return tuple(column.cardinality for column in self.columns)

    def sizes_of(self, block: Block) -> tuple[int, ...]:
        return tuple(self.sizes[attribute] for attribute in block.attributes)

    def channel(self, block: Block) -> RandomizedResponse:
        """What the number that is made of a block's answers passes."""
        width = self.width if self.kind == "product" else 1
        cells = inputs(self.kind, self.sizes_of(block)) + width - 1
        return RandomizedResponse(cells=cells, odds=self.odds[0], width=width)

    def keys(self, block: Block) -> int:
        return keys(self.kind, self.sizes_of(block))

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """One per attribute; one for all together (geometric-combined)."""
        if self.family == "grid":
            if self.odds:
                return (geometric.one_rate(self.sizes, self.odds[0], self.norm),)
            return (geometric.fixed(self.sizes, self.p_max[0], self.norm),)
        if self.name == "component-wise":
            pairs = zip(self.sizes, self.odds, strict=True)
            return tuple(RandomizedResponse(cells=size, odds=odds) for size, odds in pairs)
        if self.p_max:
            each = zip(self.sizes, self.p_max, strict=True)
            return tuple(geometric.fixed((size,), p_max) for size, p_max in each)
        steps = zip(self.sizes, self.odds, strict=True)
        return tuple(geometric.clamped(size, odds) for size, odds in steps)

    @cached_property
    def loss(self) -> Fraction:
        """The largest log ratio of two rows' probabilities of one whole report, rounded up at
        the 90th digit: the true epsilon."""
        if self.family in ("attributes", "grid"):
            return sum((channel.loss for channel in self.channels), Fraction(0))
        return max(self.channel(block).loss for block in self.blocks)

    def levels(self, prior: Mapping[str, Sequence[float]] | None = None) -> Levels:
        """The true levels; for an attacker who thinks all rows alike, or with a prior per column
        (the columns taken as independent)."""
        from privet.local.device.exposure import levels

        return levels(self, prior)

    @property
    def report_columns(self) -> tuple[str, ...]:
        """The whole numbers that a report consists of: a code per attribute; or the block as a bit
        mask (bit i: column i), the key of the permutations (parity; of piecewise the power) and
        the reported cell. A report also carries the protocol's ``id``, and may name a person."""
        if self.family in ("attributes", "grid"):
            return self.schema.names
        return ("block", "cell") if self.family == "cell" else ("block", "key", "cell")

    @cached_property
    def id(self) -> str:
        """A name of this very protocol, which every report carries."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    def to_json(self) -> str:
        document: dict[str, Any] = {
            "form": FORM,
            "version": VERSION,
            "name": self.name,
            "epsilon": str(self.epsilon),
        }
        if self.odds:
            document["odds"] = [str(odds) for odds in self.odds]
        if self.p_max:
            document["p_max"] = [str(p_max) for p_max in self.p_max]
        if self.family == "grid":
            document["norm"] = "inf" if self.norm == math.inf else int(self.norm)
        if self.family == "product":
            document |= {"width": self.width, "clip": str(self.clip)}
        document["schema"] = self.schema.to_dict()
        if self.blocks:
            document["blocks"] = [
                [b.mask, b.weight, b.power] if self.family == "product" else [b.mask, b.weight]
                for b in self.blocks
            ]
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"

    @staticmethod
    def from_json(text: str) -> Protocol:
        try:
            document = json.loads(text)
            if not isinstance(document, dict) or document.get("form") != FORM:
                raise ValueError
            json.dumps(document, ensure_ascii=False).encode()  # half a character has no encoding
            version = document["version"]
            if version == VERSION:
                return _read(document)
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RecursionError):
            raise DataError(
                "this is no protocol of Privet's; give the protocol.json that `privet randomize` "
                "wrote"
            ) from None
        raise DataError(
            f"the protocol has version {version!r}, but this Privet reads version {VERSION}; use "
            f"the Privet that the protocol was planned with"
        )

    @staticmethod
    def load(path: str | Path) -> Protocol:
        try:
            return Protocol.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not a text file"
            raise DataError(
                f"cannot read the protocol {str(path)!r} ({why}); check its path"
            ) from None


def _read(document: Mapping[str, Any]) -> Protocol:
    return Protocol(
        name=document["name"],
        schema=Schema.from_dict(document["schema"]),
        epsilon=_fraction(document["epsilon"]),
        odds=tuple(map(_fraction, document.get("odds", ()))),
        p_max=tuple(map(_fraction, document.get("p_max", ()))),
        norm=float(document.get("norm", 1)),
        width=int(document.get("width", 1)),
        clip=_fraction(document.get("clip", "1")),
        blocks=tuple(Block.of(*map(int, entry)) for entry in document.get("blocks", ())),
    )


def _fraction(text: str) -> Fraction:
    """An exact positive number as ``to_json`` writes it, of a length that can be reckoned with."""
    if not re.fullmatch(FRACTION, text):
        raise ValueError(text)
    return Fraction(text)


def check_name(name: str) -> None:
    if name not in FAMILIES:
        raise MethodError(
            f"there is no protocol {name!r}{did_you_mean(name, FAMILIES)}; choose auto or one of "
            f"{', '.join(FAMILIES)}"
        )


def check_schema(schema: Schema, name: str) -> None:
    """Whether a device can answer for every column, once, whatever its row holds."""
    check_chosen(schema)
    for column in schema.columns:
        if column.missing == "drop":
            raise SchemaError(
                f'column {column.name!r} has missing = "drop", but a person who stays silent says '
                f'so; use missing = "level" or {{ value = ... }}'
            )
    if schema.rows_per_person != 1:
        raise SchemaError(
            f"rows_per_person = {schema.rows_per_person}, but here a person sends one report; set "
            f"it to 1, with one row per person"
        )
    count = len(schema.columns)
    per_column = FAMILIES[name] in ("attributes", "grid")
    if not per_column and not 2 <= count <= MOST_COLUMNS:
        raise SchemaError(
            f"the protocol {name} is for 2 to {MOST_COLUMNS} columns, but schema {schema.name!r} "
            f"has {count}; declare fewer, or use the protocol component-wise"
        )
    taken = [column for column in schema.names if column in RESERVED]
    if per_column and taken:
        raise SchemaError(
            f"column {taken[0]!r} has a name that reports use for themselves; rename it in schema "
            f"and data"
        )
    if name in NUMERIC and not schema.has_moments:
        raise SchemaError(
            f'the protocol {name} needs numeric columns without missing = "level"; use the '
            f"protocol planned-block"
        )


def centre(column: Column) -> float:
    """A public guess at the median: the middle one of the cuts, or between the two of them."""
    low, high = column.cuts[(len(column.cuts) - 1) // 2], column.cuts[len(column.cuts) // 2]
    return low + (high - low) / 2


def _on_grid(column: Column, clip: Fraction) -> Column:
    """A numeric column on the grid of the piecewise mechanism: so much of its range around the
    middle, the rest clamped to the ends."""
    assert column.bounds is not None
    low, high = column.bounds
    middle, reach = low + (high - low) / 2, (high - low) / 2 * float(clip)
    cuts = tuple(middle + reach * (2 * at - GRID) / (2 * HALF) for at in range(1, GRID))
    return replace(column, cuts=cuts)
