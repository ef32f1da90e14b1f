"""Marks that follow from marks: the orientation rules R1 to R10 of Zhang (2008).

A PAG is a matrix of marks: ``M[i, j]`` is the mark at j of the edge between i and j. Comments
draw edges as a *-> b, where * is any mark and o a circle.

From perfect answers the rules find every arrowhead and every tail that all graphs of the class
share [Zhang 2008, Theorem 4]. Noisy answers contradict each other, so the rules only ever turn a
circle into something else, all that one rule finds at a time, and a step gives way

- where it wants both an arrowhead and a tail;
- where it would make a node with an arrowhead from y an ancestor of y (a circle of arrows is
  the simplest case).

What gives way stays a circle. So the outcome depends on no numbering, and its arrows never run
in a circle. Discriminating paths (R4) are decided one by one, the surest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Bools, Floats, Indices

NONE, CIRCLE, HEAD, TAIL = 0, 1, 2, 3

Marks = NDArray[np.int8]
Path = tuple[int, ...]
Step = tuple[int, int]
Weigh = Callable[[Sequence[Path]], Floats]
"""For discriminating paths (t, ..., a, b, c): how much speaks for a collider at b (positive) or
against it (negative); nan leaves the path undecided."""
Wanted = tuple[Bools, Bools]
"""Where arrowheads and where tails should stand."""


def closure(marks: Marks, weigh: Weigh, *, selection: bool = False) -> Marks:
    """The marks with all that follows from them.

    R5 to R7 make edges without any arrowhead, which only selection of rows can bring about;
    they are used if ``selection`` is admitted.
    """
    rules = [_rule1, _rule2, _rule3, _rule8, _rules_9_and_10]
    if selection:
        rules += [_rule5, _rule6, _rule7]
    while True:
        steps = (written(marks, *rule(marks)) for rule in rules)
        after = next((step for step in steps if step is not marks), None)
        if after is None:
            after = _rule4(marks, weigh)
        if after is marks:
            return marks
        marks = after


def written(marks: Marks, heads: Bools, tails: Bools) -> Marks:
    """The marks with circles turned as wanted, but for what contradicts itself or the rest;
    the very same matrix if nothing changes."""
    circles = marks == CIRCLE
    heads, tails = heads & ~tails & circles, tails & ~heads & circles
    if not (heads.any() or tails.any()):
        return marks
    after = _turned(marks, heads, tails)
    arrows = (after == HEAD) & (after.T == TAIL)
    above = ancestors(arrows)
    wrong = above & (after.T == HEAD)  # [x, y]: x is above y, and has an arrowhead from y
    if wrong.any():
        between = arrows & (_counts(_counts(above.T, wrong) > 0, above.T) > 0)  # on such a way
        heads &= ~(wrong.T | between)
        tails &= ~between.T
        if not (heads.any() or tails.any()):
            return marks
        after = _turned(marks, heads, tails)
    return after


def _turned(marks: Marks, heads: Bools, tails: Bools) -> Marks:
    after = marks.copy()
    after[heads], after[tails] = HEAD, TAIL
    return after


def ancestors(arrows: Bools) -> Bools:
    """[x, y]: x is y, or arrows lead from x to y."""
    above = arrows | np.eye(len(arrows), dtype=bool)
    while True:
        further = _counts(above, above) > 0
        if np.array_equal(further, above):
            return above
        above = further


def _counts(first: Bools, second: Bools) -> NDArray[np.float32]:
    """Number of k with first[i, k] and second[k, j] (small whole numbers, exact in float32)."""
    return first.astype(np.float32) @ second.astype(np.float32)


def _apart(marks: Marks) -> Bools:
    """Pairs of different nodes without an edge."""
    apart: Bools = marks == NONE
    np.fill_diagonal(apart, False)
    return apart


def _none(marks: Marks) -> Bools:
    return np.zeros(marks.shape, dtype=bool)


def _rule1(marks: Marks) -> Wanted:
    """a *-> b o-* c with a, c apart: b --> c, else b were a collider."""
    arrows = (marks.T == CIRCLE) & (_counts((marks == HEAD).T, _apart(marks)) > 0)
    return arrows, arrows.T


def _rule2(marks: Marks) -> Wanted:
    """a --> b *-> c or a *-> b --> c, and a *-o c: a *-> c."""
    heads = marks == HEAD
    arrows = heads & (marks.T == TAIL)
    return (_counts(arrows, heads) > 0) | (_counts(heads, arrows) > 0), _none(marks)


def _rule3(marks: Marks) -> Wanted:
    """a *-> b <-* c and a *-o d o-* c with a, c apart, and d *-o b: d *-> b."""
    wanted, apart = _none(marks), _apart(marks)
    heads, circles = marks == HEAD, marks == CIRCLE
    for d, b in np.argwhere(circles & (_counts(circles.T, heads) > 1)):
        both = np.flatnonzero(circles[:, d] & heads[:, b])
        wanted[d, b] = apart[np.ix_(both, both)].any()
    return wanted, _none(marks)


def _rule4(marks: Marks, weigh: Weigh) -> Marks:
    """A discriminating path t *-> ... <-> a <-* b o-* c: b --> c, or a <-> b <-> c.

    The surest decision that changes something is taken; others that are as sure go with it.
    """
    paths = list(discriminating_paths(marks))
    if not paths:
        return marks
    weights = weigh(paths)
    for size in sorted(set(np.abs(weights[~np.isnan(weights)]).tolist()), reverse=True):
        heads, tails = _none(marks), _none(marks)
        for at in np.flatnonzero(np.abs(weights) == size):
            a, b, c = paths[at][-3:]
            if weights[at] <= 0:
                heads[b, c] = tails[c, b] = True
            elif TAIL not in (marks[a, b], marks[b, c]):
                heads[a, b] = heads[c, b] = heads[b, c] = True
        after = written(marks, heads, tails)
        if after is not marks:
            return after
    return marks


def discriminating_paths(marks: Marks) -> Iterator[Path]:
    """The shortest paths (t, ..., a, b, c) for each b o-* c and each end t.

    t and c are apart, and each node between t and b is a collider on the path and a parent of c.
    """
    heads = marks == HEAD
    arrows = heads & (marks.T == TAIL)
    has_parents = arrows.any(axis=0)
    for c, b in np.argwhere((marks == CIRCLE) & has_parents[:, None]).tolist():
        after = {b: c}
        level = [b]
        while level:
            deeper: list[int] = []
            for node in level:
                for near in np.flatnonzero(heads[:, node] if node != b else heads[b]).tolist():
                    if near in after or near == c:
                        continue
                    if node != b and not marks[near, c]:
                        after[near] = node
                        yield _followed(near, after, c)
                    elif arrows[near, c] and heads[node, near]:
                        after[near] = node
                        deeper.append(near)
            level = deeper


def _followed(start: int, after: dict[int, int], end: int) -> Path:
    path = [start]
    while path[-1] != end:
        path.append(after[path[-1]])
    return tuple(path)


def _rule5(marks: Marks) -> Wanted:
    """a o-o b on a circle of o-o edges in which no two nodes two steps apart are joined: a --- b.

    A walk will do where Zhang has a path: an arrowhead anywhere would run all the way round.
    """
    lines = (marks == CIRCLE) & (marks.T == CIRCLE)
    apart, wanted = _apart(marks), _none(marks)
    for a, b in np.argwhere(np.triu(lines)).tolist():
        starts = [(a, c) for c in np.flatnonzero(lines[a] & apart[b]).tolist()]
        reached = _walked(starts, lines, apart)
        ends = np.flatnonzero(lines[b] & apart[a]).tolist()
        wanted[a, b] = wanted[b, a] = any(
            d == end and apart[before, b] for before, d in reached for end in ends
        )
    return _none(marks), wanted


def _rule6(marks: Marks) -> Wanted:
    """a --- b o-* c: a tail at b."""
    lines = (marks == TAIL) & (marks.T == TAIL)
    return _none(marks), np.broadcast_to(lines.any(axis=0), marks.shape)


def _rule7(marks: Marks) -> Wanted:
    """a --o b o-* c with a, c apart: a tail at b."""
    into = (marks == CIRCLE) & (marks.T == TAIL)
    return _none(marks), _counts(_apart(marks), into) > 0


def _rule8(marks: Marks) -> Wanted:
    """a --> b --> c or a --o b --> c, and a o-> c: a --> c."""
    arrows = (marks == HEAD) & (marks.T == TAIL)
    first = ((marks == HEAD) | (marks == CIRCLE)) & (marks.T == TAIL)
    wanted = (marks == HEAD) & (marks.T == CIRCLE) & (_counts(first, arrows) > 0)
    return _none(marks), wanted.T


def _rules_9_and_10(marks: Marks) -> Wanted:
    """a o-> c becomes a --> c where a must be a cause of something before c. Rule 9: an uncovered
    potentially directed path (a, b, ..., c) with b, c apart. Rule 10: b --> c <-- d, and two such
    paths (a, m, ..., b) and (a, n, ..., d) with m, n apart.

    Walks will do where Zhang has paths: if c caused a or both had a hidden cause, arrows would
    run along the whole walk and make a an ancestor of c.
    """
    apart, wanted = _apart(marks), _none(marks)
    open_ = (marks == HEAD) & (marks.T == CIRCLE)
    steps = ((marks == CIRCLE) | (marks == HEAD)) & (marks.T != HEAD)
    arrows = (marks == HEAD) & (marks.T == TAIL)
    for a in np.flatnonzero(open_.any(axis=1)).tolist():
        firsts = np.flatnonzero(steps[a]).tolist()
        reach = _none(marks)  # [m, b]: from a by way of m to b
        for m in firsts:
            reach[m, [node for _, node in _walked([(a, m)], steps, apart)]] = True
        for c in np.flatnonzero(open_[a]).tolist():
            by_detour = bool((reach[:, c] & apart[:, c]).any())
            wanted[c, a] = by_detour or _two_ways(reach, apart, np.flatnonzero(arrows[:, c]))
    return _none(marks), wanted


def _two_ways(reach: Bools, apart: Bools, parents: Indices) -> bool:
    """Whether first steps m, n that are apart both lead to parents (it may be the same one)."""
    leads = reach[:, parents].any(axis=1)
    return bool(apart[np.ix_(leads, leads)].any())


def _walked(starts: list[Step], steps: Bools, apart: Bools) -> set[Step]:
    """All (before, node) that a walk from the first steps reaches, along ``steps`` and never
    between three nodes of which the first and last are joined."""
    seen, todo = set(starts), list(starts)
    while todo:
        before, node = todo.pop()
        for near in np.flatnonzero(steps[node] & apart[before]).tolist():
            if (node, near) not in seen:
                seen.add((node, near))
                todo.append((node, near))
    return seen
