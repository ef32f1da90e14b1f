"""The front door of audits: how much of its promise does a method keep, as far as runs can tell?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from privet.api.checks import check_flags, read_schema
from privet.arrays import OnStep, say_nothing
from privet.attacks.bounds import FALSE_ALARM, Two, loudness, lower_bound
from privet.attacks.evidence import Learnt, Outcome
from privet.attacks.subjects import Asked, Subject, subjects
from privet.attacks.verdict import Audit
from privet.errors import MethodError, expect
from privet.schema.model import Schema

FEWEST, MOST = 40, 100_000  # runs on either table
STEPS = 50


def audit(
    method: str,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    runs: int | None = None,
    minutes: float = 1.0,
    as_published: bool = False,
    confidence: float = 1 - FALSE_ALARM,
    on_step: OnStep | None = None,
    **options: Any,
) -> Audit:
    """A lower bound on the epsilon of a private method, from many runs on two neighbouring tables.

    ``method`` is a method of ``discover`` or ``orient``, a protocol of devices, or "together" for
    the sum that sites of a study make. The tables are made up, from the ``schema`` if there is one,
    and the ledger is in memory: no rows are read and no budget is touched. On the first half of the
    ``runs`` (as many as so many ``minutes`` allow) an attacker who knows both tables learns what to
    look for, in the answers and in which questions were asked, and the other half is judged; with
    an honest method the bound exceeds the promise with probability 1 - ``confidence`` at most.
    Without a ``delta`` a method is audited at 0 and, if it asks otherwise with one, at 0.1, where
    few runs tell most; the larger bound is the result, and ``others`` has the rest.
    ``as_published`` audits what a paper claims; ``options`` are the method's own.

    >>> found = privet.audit("lap-table", epsilon=1, runs=100)
    >>> found.violated, found.lower <= found.epsilon
    (False, True)
    """
    check_flags(as_published=as_published)
    expect(method, str, "method", "give the name of a private method", MethodError)
    _check_numbers(runs, minutes, confidence)
    asked = Asked(
        method=method,
        schema=None if schema is None else read_schema(schema),
        epsilon=epsilon,  # type: ignore[arg-type]  # which is checked first of all
        delta=delta,
        as_published=as_published,
        options=options,
    )
    every = subjects(asked)
    found = [
        _audited(
            about, asked, runs, 60 * minutes / len(every), (1 - confidence) / len(every), on_step
        )
        for about in every
    ]
    worst = max(found, key=lambda each: each.lower)
    others = tuple(each for each in found if each is not worst)
    return replace(worst, confidence=confidence, others=others)


def _audited(
    about: Subject,
    asked: Asked,
    runs: int | None,
    seconds: float,
    false_alarm: float,
    on_step: OnStep | None,
) -> Audit:
    """One way in which a method runs."""
    say = on_step or say_nothing
    say("trying one run", 0.0)
    size = _affordable(about, seconds) if runs is None else runs
    ways = _scored(*_listen(about, size, say))
    chosen, judged = max(
        ways, key=lambda way: loudness(way[0], len(way[1][0]), about.delta, false_alarm)
    )
    return Audit(
        method=about.method,
        as_published=asked.as_published,
        epsilon=float(asked.epsilon),
        delta=float(about.delta),
        confidence=1 - false_alarm,
        runs=size,
        words=about.words,
        why=about.why,
        bound=lower_bound(chosen, judged, about.delta, false_alarm),
        scores=judged,
    )


def _check_numbers(runs: int | None, minutes: float, confidence: float) -> None:
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= 600:
        raise MethodError(f"⟦minutes⟧ is {minutes!r}; give a number above 0 and up to 600")
    if runs is not None and (
        isinstance(runs, bool) or not isinstance(runs, int) or not FEWEST <= runs <= MOST
    ):
        raise MethodError(f"⟦runs⟧ is {runs!r}; give a whole number from {FEWEST} to {MOST:,}")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise MethodError(f"⟦confidence⟧ is {confidence!r}; give a number such as 0.95")
    if not 0.5 <= confidence <= 1 - 1e-12:
        raise MethodError(
            f"⟦confidence⟧ is {confidence!r:.40}, but it must lie between 0.5 and 1, such as 0.95"
        )


def _affordable(about: Subject, seconds: float) -> int:
    """So many runs as time allows, by a few that are thrown away, so that what they gave away does
    not choose how many follow."""
    about.listen(0, 2)
    began = time.monotonic()
    few = max(4, about.batch)
    about.listen(0, few)
    each = 2 * (time.monotonic() - began) / few
    return int(min(max(seconds / max(each, 1e-9), FEWEST), MOST))


def _listen(about: Subject, runs: int, say: OnStep) -> tuple[list[Outcome], list[Outcome]]:
    """Runs on both tables in turns."""
    heard: tuple[list[Outcome], list[Outcome]] = ([], [])
    step = max(about.batch, runs // STEPS)
    while (done := len(heard[0])) < runs:
        say(f"auditing {about.method}, run {done:,} of {runs:,}", done / runs)
        for side in (0, 1):
            heard[side].extend(about.listen(side, min(step, runs - done)))
    return heard


def _scored(without: Sequence[Outcome], present: Sequence[Outcome]) -> Iterator[tuple[Two, Two]]:
    """For each way to score: of the runs on which the event is chosen, and of those that are
    judged. What a score is was learnt on others, before."""
    half = len(without) // 2
    learnt = Learnt(without[: half // 2], present[: half // 2])
    first, second = (
        np.array([learnt.scores(outcome) for outcome in side[half // 2 :]]).T
        for side in (without, present)
    )
    cut = half - half // 2
    for one, other in zip(first, second, strict=True):
        yield (one[:cut], other[:cut]), (one[cut:], other[cut:])
