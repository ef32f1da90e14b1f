"""The options of pairs: one table, which is this class. ``options/option.py`` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.arrays import OnStep, say_nothing
from privet.options import option
from privet.options.option import flag, name, number, whole

if TYPE_CHECKING:
    from privet.privacy.queries.additive_noise import Protect

METHOD = "method"  # the group of the command line


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Public choices. ``bandwidth`` is in units of half a column's range."""

    release: str = name(
        "sign",
        "sign (cheaper) or scores, of additive-noise models",
        among=("sign", "scores"),
        metavar="WHAT",
        group=METHOD,
    )
    find_bounds: bool = flag(
        "find ranges of the columns first, for a fifth of the budget", group=METHOD
    )
    ridge: float | None = number(
        None, "of additive-noise models", "be a number above 0", metavar="L", group=METHOD
    )
    bandwidth: float | str | None = number(
        None,
        "of their dependence scores, a number",
        "be a number above 0",
        words=True,
        metavar="B",
        group=METHOD,
    )
    protect: Protect = name(  # noqa: RUF009
        "both",
        "test or training, with --as-published",
        among=("both", "test", "training"),
        metavar="HALF",
        group=METHOD,
    )
    seed: int = whole(0, "of the judgement (0)", metavar="S", group=METHOD, taken_by="all")
    on_step: OnStep = say_nothing

    def special(self) -> dict[str, Any]:
        """Those that only some methods use and that differ from their defaults."""
        return option.special(self)

    def options(self) -> dict[str, Any]:
        """What was asked for, for the certificate."""
        return {**self.special(), "seed": self.seed}


def make_choices(*, on_step: OnStep | None = None, **options: Any) -> Choices:
    """The options of pairs, or a refusal; None stands for the default."""
    given = option.read(Choices, options)
    return Choices(**given, on_step=say_nothing if on_step is None else on_step)
