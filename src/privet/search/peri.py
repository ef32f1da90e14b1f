"""PERI: one graph for several sites, which tell a server their regrets and nothing else.

[Mian, Kaltenpoth, Kamp, Vreeken 2023]. The server walks from class to class as GES does, by
inserting and deleting edges. It sends the class where it stands; the steps from there follow from
the class, so all sites list the same ones, and each answers with its regret there and after each
step. The server takes the step with the smallest worst regret, or the smallest sum, as long as
that goes down.

First each site finds the graph it likes best, by the same search on its own scores, and tells
nobody. That may be a poor one; so for the worst regret there is a second round, in which the
graph that was found takes its place. In a sum the best graph only adds a constant: one round will
do.

Exact regrets are not private. The paper's noise on each one is charged once, though every message
holds dozens, and the regret of a Gaussian score has no finite sensitivity. On evidence that was
private before, regrets follow from it, and cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.meek import cpdag
from privet.search.classes import Bounds, Delete, Insert, Operator, Step, steps
from privet.search.constraints import Constraints
from privet.search.hill_climb import TINY
from privet.search.regret import Objective, Party, overall
from privet.search.states import State

# Inserting and deleting are repeated until nothing improves. With noise, or some of the sites asked
# at a time, one may undo what another did, so there is an end to it.
MOST_REPEATS = 10
ROUNDS: dict[Objective, int] = {"worst": 2, "sum": 1}


@dataclass(frozen=True)
class Agreed:
    """The class that was found, and what it took.

    ``regrets`` are those of the sites there. ``objectives`` has for each round the value before
    each step and at the end, over the sites that were asked. An iteration is one question of the
    server; ``sent`` are the messages of each site in answer.
    """

    matrix: Bools
    regrets: tuple[float, ...]
    objectives: tuple[tuple[float, ...], ...]
    iterations: int
    sent: tuple[tuple[Floats, ...], ...]

    @property
    def messages(self) -> tuple[int, ...]:
        return tuple(map(len, self.sent))

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sum(map(len, messages)) for messages in self.sent)


Noise = Callable[[int], Floats]


def peri(
    sites: Sequence[Party],
    constraints: Constraints,
    *,
    objective: Objective = "worst",
    rounds: int | None = None,
    share: float = 1.0,
    rng: np.random.Generator | None = None,
    noise: Noise | None = None,
    max_parents: int | None = None,
) -> Agreed:
    """The class that no insertion or deletion makes better for all ``sites``, of those with a DAG
    that honours knowledge.

    With ``share`` below 1, so large a part of the sites (drawn anew for each iteration by
    ``rng``, at least one) is asked. All hear which step was taken, so each keeps its own regret.
    ``noise(k)`` is added to the k numbers of each message, as the paper does.
    """
    known, bounds = [_Site(site, noise=noise) for site in sites], Bounds.of(constraints)
    for site in known:
        itself = _Site(site.party)
        _Server([itself], bounds, max_parents).walk()
        site.best = -itself.regret
    draw = np.random.default_rng(0) if rng is None else rng
    server = _Server(known, bounds, max_parents, objective, share, draw)
    objectives = []
    for _ in range(ROUNDS[objective] if rounds is None else rounds):
        state, values = server.walk()
        objectives.append(tuple(values))
        regrets = tuple(site.regret for site in known)
        for site in known:
            site.best -= site.regret
    return Agreed(
        state.matrix,
        regrets,
        tuple(objectives),
        server.iterations,
        tuple(tuple(site.sent) for site in known),
    )


def alone(site: Party, constraints: Constraints, *, max_parents: int | None = None) -> Bools:
    """What one site finds by itself: GES by insertion and deletion, whose score may depend on the
    direction of an edge."""
    return _Server([_Site(site)], Bounds.of(constraints), max_parents).walk()[0].matrix


def union(
    sites: Sequence[Party], constraints: Constraints, *, max_parents: int | None = None
) -> Bools:
    """Every edge that some site finds by itself, as it finds it; lines where they disagree. Need
    not be a class."""
    found = [alone(site, constraints, max_parents=max_parents) for site in sites]
    return np.asarray(np.any(found, axis=0))


@dataclass
class _Site:
    """``best`` is what the best graph is worth, and ``regret`` that of the class where the server
    stands; both beside the empty graph."""

    party: Party
    best: float = 0.0
    regret: float = 0.0
    noise: Noise | None = None
    sent: list[Floats] = field(default_factory=list)

    def answer(self, found: Sequence[Step]) -> Floats:
        """The regret here, and after each step."""
        exact = np.concatenate(([self.regret], self.regret - self._worth(found)))
        self.sent.append(exact if self.noise is None else exact + self.noise(len(exact)))
        return self.sent[-1]

    def follow(self, step: Step) -> None:
        self.regret -= float(self._worth([step])[0])

    def _worth(self, found: Sequence[Step]) -> Floats:
        won = self.party.gains([step.won for step in found if step.won is not None])
        lost = self.party.gains([step.lost for step in found if step.lost is not None])
        return np.concatenate((won, -lost))


@dataclass
class _Server:
    sites: list[_Site]
    bounds: Bounds
    max_parents: int | None
    objective: Objective = "worst"
    share: float = 1.0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    iterations: int = 0

    def walk(self) -> tuple[State, list[float]]:
        """One round from the class of what is required: insert, delete, and again, until nothing
        changes."""
        for site in self.sites:
            site.regret = site.best
        known = self.bounds.constraints
        state = State.of(cpdag(known.required & known.allowed))
        values: list[float] = []
        for _ in range(MOST_REPEATS):
            before = state
            for operator in (Insert(None), Delete()):
                state = self._phase(state, operator, values)
            if np.array_equal(before.matrix, state.matrix):
                break
        return state, values

    def _phase(self, state: State, operator: Operator, values: list[float]) -> State:
        """The best step of one kind, again and again until none improves."""
        while found := self._valid(state, operator):
            self.iterations += 1
            answers = np.stack([site.answer(found) for site in self._asked()])
            here, *after = overall(answers, self.objective).tolist()
            values.append(here)
            taken = self._best(state, operator, found, after, here)
            if taken is None:
                break
            step, state = taken
            for site in self.sites:
                site.follow(step)
        return state

    def _best(
        self, state: State, operator: Operator, found: list[Step], after: list[float], here: float
    ) -> tuple[Step, State] | None:
        """The best step that leads to a class that honours knowledge, if it improves. A line is
        worth what its better direction is worth: taking it away must pay for both."""
        deleted = {step[:3]: value for step, value in zip(found, after, strict=True) if step.lost}
        for at in np.argsort(after, kind="stable").tolist():
            x, y, clique = found[at][:3]
            if not after[at] < here - TINY:
                return None
            if deleted.get((y, x, clique), after[at]) > after[at]:
                continue
            new = operator.result(state, x, y, clique)
            if new is not None and self.bounds.hold(new):
                return found[at], new
        return None

    def _valid(self, state: State, operator: Operator) -> list[Step]:
        """All steps of one kind; a function of the class."""
        size = len(state.dag)
        most = size if self.max_parents is None else self.max_parents
        found = [
            step
            for y in range(size)
            for step in steps(
                state, operator, y, operator.sources(state, y, self.bounds), np.zeros(size), most
            )
        ]
        valid = (step for step in found if not operator.barred(state, *step[:3]))
        return sorted(valid, key=lambda step: step[:2])

    def _asked(self) -> list[_Site]:
        if self.share >= 1:
            return self.sites
        count = max(1, round(self.share * len(self.sites)))
        drawn = self.rng.choice(len(self.sites), size=count, replace=False)
        return [self.sites[at] for at in sorted(drawn.tolist())]
