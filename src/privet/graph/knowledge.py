"""What is known about the arrows before any data is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from privet.errors import KnowledgeError, expect

Arrow = tuple[str, str]
SEVERAL = (list, tuple, set, frozenset)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Tiers, required arrows and forbidden arrows; an arrow is a pair (cause, effect).

    A name in an earlier tier may cause one in the same or a later tier, never the reverse;
    names outside every tier are not restricted.

    >>> known = privet.Knowledge(tiers=(("age",), ("smoke", "cancer")))
    >>> known.may("age", "cancer"), known.may("cancer", "age")
    (True, False)
    """

    tiers: tuple[tuple[str, ...], ...] = ()
    required: frozenset[Arrow] = frozenset()
    forbidden: frozenset[Arrow] = frozenset()

    def __post_init__(self) -> None:
        for field in ("tiers", "required", "forbidden"):
            value = getattr(self, field)
            expect(value, SEVERAL, field, "give a list of lists of names", KnowledgeError)
        object.__setattr__(self, "tiers", tuple(_names(tier) for tier in self.tiers))
        for field in ("required", "forbidden"):
            arrows = frozenset(_arrow(pair, field) for pair in getattr(self, field))
            object.__setattr__(self, field, arrows)

    @cached_property
    def _tier(self) -> dict[str, int]:
        return {name: at for at, tier in enumerate(self.tiers) for name in tier}

    def may(self, a: str, b: str) -> bool:
        """Whether the arrow a --> b is allowed.

        >>> privet.Knowledge(forbidden={("cancer", "smoke")}).may("cancer", "smoke")
        False
        """
        _check_text(a, b)
        if (a, b) in self.forbidden or (b, a) in self.required:
            return False
        tier_a, tier_b = self._tier.get(a), self._tier.get(b)
        return tier_a is None or tier_b is None or tier_a <= tier_b

    def must(self, a: str, b: str) -> bool:
        """Whether the arrow a --> b is required.

        >>> privet.Knowledge(required={("smoke", "cancer")}).must("smoke", "cancer")
        True
        """
        _check_text(a, b)
        return (a, b) in self.required

    def check(self, names: Iterable[str]) -> None:
        """Refuse knowledge that contradicts itself or speaks of unknown names.

        >>> privet.Knowledge(required={("smoke", "cancer")}).check(["smoke", "cancer"])
        """
        expect(names, SEVERAL, "names", "give a list of names", KnowledgeError)
        _check_text(*names)
        self._check_names(tuple(names))
        for a, b in sorted(self.required):
            if (a, b) in self.forbidden:
                raise KnowledgeError(
                    f"the arrow {a!r} --> {b!r} is both required and forbidden; "
                    "take it out of one of the two lists"
                )
            tier_a, tier_b = self._tier.get(a), self._tier.get(b)
            if tier_a is not None and tier_b is not None and tier_a > tier_b:
                raise KnowledgeError(
                    f"the required arrow {a!r} --> {b!r} points from tier {tier_a + 1} back to "
                    f"tier {tier_b + 1}; drop the arrow or move one of the names"
                )
        cycle = _cycle(self.required)
        if cycle:
            raise KnowledgeError(
                f"the required arrows run in a circle ({' --> '.join(cycle)}), but a cause comes "
                "before its effect; take one of them out"
            )

    def _check_names(self, names: tuple[str, ...]) -> None:
        in_tiers = [name for tier in self.tiers for name in tier]
        in_arrows = [name for arrow in self.required | self.forbidden for name in arrow]
        for name in sorted({*in_tiers, *in_arrows} - set(names)):
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known names: {_few(names)}"
            raise KnowledgeError(f"knowledge speaks of {name!r}, which is not a column; {hint}")
        for name in in_tiers:
            if in_tiers.count(name) > 1:
                raise KnowledgeError(
                    f"{name!r} stands in the tiers more than once; keep it in one tier only"
                )


def _check_text(*names: str) -> None:
    for name in names:
        expect(name, str, "a name", "give the name of a column", KnowledgeError)


def _names(tier: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tier, str):
        raise KnowledgeError(
            f"a tier must be a list of names, but {tier!r} is one text; write [{tier!r}]"
        )
    expect(tier, SEVERAL, "a tier", "give a list of names", KnowledgeError)
    names = tuple(tier)
    _check_text(*names)
    return names


def _arrow(pair: Iterable[str], field: str) -> Arrow:
    expect(pair, (*SEVERAL, str), "an arrow", "give a pair [cause, effect]", KnowledgeError)
    names = (pair,) if isinstance(pair, str) else tuple(pair)
    _check_text(*names)
    if len(names) != 2 or names[0] == names[1]:
        raise KnowledgeError(
            f"each {field} arrow is a pair of two different names [cause, effect], "
            f'but one is {list(names)!r}; write for example ["age", "smoker"]'
        )
    return names[0], names[1]


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (", …" if len(names) > 8 else "")


def _cycle(arrows: Iterable[Arrow]) -> list[str]:
    """One circle of arrows as [a, b, …, a], or [] if there is none."""
    children: dict[str, list[str]] = {}
    for a, b in sorted(arrows):
        children.setdefault(a, []).append(b)
        children.setdefault(b, [])
    left = set(children)
    while True:
        ends = {name for name in left if not any(child in left for child in children[name])}
        if not ends:
            break
        left -= ends
    if not left:
        return []
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(next(child for child in children[path[-1]] if child in left))
    return path[path.index(path[-1]) :]
