"""The report of orientations: each pair, how sure it is, and the promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from privet.markup.pieces import mark, safe, section, table
from privet.pairs.way import Orientation, chance, way_named
from privet.results.report.page import head, method_of, page, promise

if TYPE_CHECKING:
    from privet.results.orientations import Orientations

READING = (
    "A direction is claimed if one column of the pair causes the other by a model of the kind that "
    "the method looks for, and nothing unseen causes both. A score speaks for its direction; only "
    "their difference means anything. Turned by noise: the probability that the noise alone has "
    "turned its sign. "
)
WRONG = "Wrong: the same for noise and chance in the rows together, if the model holds."
NO_WRONG = "Of chance in the rows this method says nothing."


def report(found: Orientations) -> str:
    """The page as HTML text."""
    name = found.certificate["schema"]
    return page(
        name,
        (
            head(f"Causes and effects in {name}", found.certificate),
            section("The pairs", pairs_table(found.pairs)),
            section("What is promised", promise(found.certificate)),
            section("How it was made", _made(found)),
        ),
    )


def pairs_table(pairs: Sequence[Orientation]) -> str:
    known = any(pair.wrong is not None for pair in pairs)
    headings = (
        "pair",
        *(f"score of {mark(arrow)}" for arrow in ("-->", "<--")),
        "difference",
        "turned by noise",
        *(["wrong"] if known else []),
        "remarks",
    )
    lines = (_line(pair, known) for pair in pairs)
    reading = safe(READING + (WRONG if known else NO_WRONG))
    return table(headings, lines) + f'<p class="soft">{reading}</p>'


def _line(pair: Orientation, wrong: bool) -> tuple[str, ...]:
    chances = (pair.flipped, pair.wrong) if wrong else (pair.flipped,)
    arrow = "?" if pair.direction == "undecided" else pair.direction
    reason = f"undecided: {pair.reason}" if pair.reason else ""
    remarks = [text for text in (reason, *pair.notes) if text]
    scores = (pair.forward, pair.backward, pair.difference)
    return (
        f"{safe(pair.a)} {mark(arrow)} {safe(pair.b)}",
        *(_figure(value, "{:.3g}".format) for value in scores),
        *(_figure(value, chance) for value in chances),
        "<br>".join(map(safe, remarks)),
    )


def _figure(value: float | None, spell: Callable[[float], str]) -> str:
    if value is None:
        return '<span class="soft">-</span>'
    return f'<span class="number">{safe(spell(value))}</span>'


def _made(found: Orientations) -> str:
    way = way_named(found.method)
    cite = f" [{safe(way.cite)}]" if way.cite else ""
    return (
        f"<p>{method_of(found.certificate)}: {safe(way.summary)}{cite}. "
        "The evidence behind this is in evidence.json: judging it again costs no privacy.</p>"
        f'<p class="mark">privet orient --evidence evidence.json --method {safe(found.method)} '
        "--output again</p>"
    )
