"""PC-stable on answers that come in batches: the skeleton, order by order.

The search knows neither data nor privacy. It asks many questions (x, y, *Z) at once and gets a
margin for each: positive says dependent, negative independent, and its size says how surely.

What differs from the textbook, and makes it robust to noise [found by experiment]:
- All independences of an order are collected on the frozen graph and taken in the order of
  their credibility: first the edges that are weak compared with the paths through Z, and the
  answers that are sure.
- A separator must make sense when it is used: each member of Z lies on a path between x and y
  in the graph as it is then. With a perfect oracle this never forbids a minimal separator.
- Explanations do not contradict each other. If z has nothing to do with y given S, then z and S
  do not explain x - y unless S alone does [the contraction axiom]; nor if x and S explain z - y
  [intersection]. Where x and z say nearly the same, or where x - z is strong and x - y weak, blunt
  tests find both. Then the surer of two counts: that no such S explains it, or that z and S do.
  What is sure by itself is not doubted: sharp tests err otherwise, if at all.
- Explanations do not go round in circles: x and y are not separated by columns that all have been
  separated from y by x, or by columns that in turn were. The parents of y never were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, log
from typing import Literal

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.bits import bitsets
from privet.search.questions import beside

Ask = Callable[[Indices], Floats]
# Why an explanation does not count, or what a score wants is not there: it contradicts another one
# or goes round in a circle, not all of it lies on paths between the two, or is among neighbours of
# one; a column has as many parents as it may have, or no single step leads there.
Rule = Literal["contradiction", "circle", "paths", "neighbours", "parents", "steps"]
# What separated x < y.
Separators = dict[tuple[int, int], tuple[int, ...]]

MOST_QUESTIONS = 1 << 20  # at a time, so that memory stays bounded
SURENESS = 0.25  # what a margin counts beside the log of how weak an edge is
SURE = log(20)  # margin of an independence that others do not call in question
FEW = 1024  # explanations that are looked at before those of edges that are gone are left out


@dataclass(frozen=True)
class Skeleton:
    """Which columns are joined, what separated the others, and the lowest margin of each x < y
    among the questions of the last order (infinite where none was asked)."""

    adjacent: Bools
    separators: Separators
    lowest: Floats | None = None


def complete(size: int, possible: Bools | None = None) -> Skeleton:
    adjacent = ~np.eye(size, dtype=bool)
    return Skeleton(adjacent if possible is None else adjacent & possible, {})


def prune(
    start: Skeleton,
    order: int,
    ask: Ask,
    *,
    strength: Floats,
    required: Bools,
    widest: int | None = None,
    circles: bool = False,
) -> Skeleton:
    """Take away the edges that some separator of this size explains.

    ``strength[x, y]`` ranks edges; ``widest`` bounds the neighbours (the strongest are kept)
    from which separators are formed. ``circles`` lets explanations go round in them.
    """
    found = [(np.empty((0, order + 2), dtype=np.intp), np.empty(0))]
    lowest = np.full(start.adjacent.shape, np.inf)
    near = nearest(start.adjacent, strength, widest)
    for questions in batches(start.adjacent, near, order, required):
        margins = ask(questions)
        np.minimum.at(lowest, (questions[:, 0], questions[:, 1]), margins)
        against = margins < 0  # others explain nothing, and there may be many
        found.append((questions[against], margins[against]))
    questions, margins = (np.concatenate(part) for part in zip(*found, strict=True))
    return replace(explained(start, questions, margins, strength, circles), lowest=lowest)


def separated(
    start: Skeleton, questions: Indices, ask: Ask, strength: Floats, circles: bool = False
) -> Skeleton:
    """Without the edges that one of these questions, all of one width, explains; the same object
    if there is none."""
    if not len(questions):
        return start
    return explained(start, questions, ask(questions), strength, circles)


def explained(
    start: Skeleton, questions: Indices, margins: Floats, strength: Floats, circles: bool = False
) -> Skeleton:
    """The same, with the answers to these questions."""
    found = np.flatnonzero((margins < 0) & start.adjacent[questions[:, 0], questions[:, 1]])
    if not len(found):
        return start
    ranked = found[_credible_first(questions[found], margins[found], strength)]
    if questions.shape[1] == 2:
        return _apart(start, questions[ranked])
    adjacent, separators = start.adjacent.copy(), dict(start.separators)
    neighbours = bitsets(adjacent)
    while len(ranked):
        few = ranked[: max(FEW, len(ranked) // 8)]
        for (x, y, *given), margin in zip(questions[few].tolist(), margins[few], strict=True):
            if not neighbours[x] >> y & 1:
                continue
            joined = start.lowest is not None and start.lowest[x, y] > -margin and margin > -SURE
            if not circles and (
                contradicted(separators, x, y, given, joined) or _circle(separators, x, y, given)
            ):
                continue
            if _on_paths(neighbours, x, y, given):
                adjacent[x, y] = adjacent[y, x] = False
                neighbours[x] ^= 1 << y
                neighbours[y] ^= 1 << x
                separators[x, y] = tuple(given)
        ranked = ranked[len(few) :]
        ranked = ranked[adjacent[questions[ranked, 0], questions[ranked, 1]]]
    return Skeleton(adjacent, separators) if len(separators) > len(start.separators) else start


def _apart(start: Skeleton, pairs: Indices) -> Skeleton:
    """Without the edges between these pairs, which nothing need explain."""
    adjacent, (x, y) = start.adjacent.copy(), pairs.T
    adjacent[x, y] = adjacent[y, x] = False
    return Skeleton(adjacent, start.separators | dict.fromkeys(map(tuple, pairs.tolist()), ()))


def candidates(adjacent: Bools, near: Bools, order: int, required: Bools) -> Indices:
    """Questions (x, y, *Z), x < y joined, Z among what is near x, or near y."""
    nothing = np.empty((0, order + 2), dtype=np.intp)
    return np.concatenate([nothing, *batches(adjacent, near, order, required)])


def batches(adjacent: Bools, near: Bools, order: int, required: Bools) -> Iterator[Indices]:
    """The same, in order and not too many at a time."""
    return about(np.argwhere(np.triu(adjacent & ~required)), near, order)


def nearest(adjacent: Bools, strength: Floats, widest: int | None) -> Bools:
    """The neighbours of each column, or so many of the strongest."""
    near = adjacent.copy()
    if widest is not None:
        for x in np.flatnonzero(adjacent.sum(axis=1) > widest).tolist():
            near[x] = False
            near[x, strongest(adjacent[x], strength[x], widest)] = True
    return near


def about(pairs: Indices, near: Bools, order: int) -> Iterator[Indices]:
    """Questions about these pairs, given what is near one end; not too many at a time."""
    each = np.array([comb(count, order) for count in near.sum(axis=1).tolist()], dtype=float)
    batch = (each[pairs].sum(axis=1).cumsum() // MOST_QUESTIONS).astype(np.intp)
    for some in np.split(pairs, np.flatnonzero(np.diff(batch)) + 1):
        questions = beside(near, some, order)
        if len(questions):
            yield questions


def strongest(adjacent: Bools, strength: Floats, widest: int | None) -> list[int]:
    members = np.flatnonzero(adjacent)
    if widest is not None and len(members) > widest:
        members = np.sort(members[np.argsort(-strength[members], kind="stable")[:widest]])
    return [int(i) for i in members]


def surest(told: Floats) -> Bools:
    """The pairs of which something is told, and that no other one of either end exceeds."""
    most = told.max(axis=1, initial=0.0)
    return np.asarray((told > 0) & (told >= most) & (told >= most[:, None]))


def _credible_first(questions: Indices, margins: Floats, strength: Floats) -> Indices:
    x, y, given = questions[:, 0], questions[:, 1], questions[:, 2:]
    weakness = strength[x, y]
    if given.shape[1]:
        through = np.minimum(strength[x[:, None], given], strength[y[:, None], given]).min(axis=1)
        weakness = weakness / through
    return np.lexsort((margins, weakness * np.exp(SURENESS * margins)))


def _on_paths(neighbours: list[int], x: int, y: int, given: Iterable[int]) -> bool:
    """Whether each z can be reached from x without y and from y without x (edge x-y aside)."""
    wanted = sum(1 << z for z in given)
    return _reaches(neighbours, x, y, wanted) and _reaches(neighbours, y, x, wanted)


def contradicted(
    separators: Separators, x: int, y: int, given: Sequence[int], joined: bool
) -> tuple[int, int] | None:
    """Some z and the end that it was separated from by the other end alone; or, if x and y are
    surely ``joined`` given less, by the rest, with the other end or without."""
    for z in given:
        for end, other in ((x, y), (y, x)):
            before = separators.get((min(z, end), max(z, end)))
            if before is not None and (
                before == (other,) or (joined and {*before} - {other} == {*given} - {z})
            ):
                return z, end
    return None


def _circle(separators: Separators, x: int, y: int, given: list[int]) -> bool:
    """Whether all were separated from one end by the other, or by columns that in turn were."""
    return any(
        all(_led_to(separators, z, end, other) for z in given) for end, other in ((x, y), (y, x))
    )


def _led_to(separators: Separators, z: int, end: int, other: int) -> bool:
    """Whether z was separated from one end by the other one, or by columns that in turn were."""
    seen, fresh = {z}, [z]
    while fresh:
        each = fresh.pop()
        more = {*separators.get((min(each, end), max(each, end)), ())} - seen
        if other in more:
            return True
        seen |= more
        fresh += more
    return False


def refusal(found: Skeleton, x: int, y: int, given: Iterable[int]) -> Rule | None:
    """The rule by which these columns, although a test says so, do not explain an edge of a
    skeleton in the end."""
    members, separators = list(given), found.separators
    if contradicted(separators, x, y, members, joined=False):
        return "contradiction"
    if _circle(separators, x, y, members):
        return "circle"
    if not _on_paths(bitsets(found.adjacent), x, y, members):
        return "paths"
    if not any(found.adjacent[end, members].all() for end in (x, y)):
        return "neighbours"
    return "contradiction" if contradicted(separators, x, y, members, joined=True) else None


def explained_away(found: Skeleton, questions: Indices) -> Bools:
    """Of questions (x, y, *Z): whether x alone has separated y from some z, or y alone x from it;
    then they contradict what was found, whatever the answer."""
    alone = np.full(found.adjacent.shape, -1)
    for (a, b), separator in found.separators.items():
        if len(separator) == 1:
            alone[a, b] = alone[b, a] = separator[0]
    x, y, given = questions[:, :1], questions[:, 1:2], questions[:, 2:]
    return np.asarray(((alone[x, given] == y) | (alone[y, given] == x)).any(axis=1))


def _reaches(neighbours: list[int], start: int, without: int, wanted: int) -> bool:
    """Whether all that is wanted can be reached; the walk ends when all of it was seen."""
    fresh = neighbours[start] & ~(1 << without)
    seen = fresh | 1 << start | 1 << without
    while wanted & ~seen:
        if not fresh:
            return False
        low = fresh & -fresh
        new = neighbours[low.bit_length() - 1] & ~seen
        fresh, seen = fresh ^ low | new, seen | new
    return True
