"""What decided whether two columns are joined, by the search's own record: a test, a rule that
speaks against it, a score, or what the schema says. Nothing is read but evidence.

A search leaves with its listener what its tests have decided, and the gains of the score that
decided after them. What it asks for after that settles directions alone. Rules that keep an edge
against a test are read off the skeleton: explanations only grow while edges only go, so that
whatever ruled one out does so in the end (``search/skeleton.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privet.arrays import Bools
from privet.errors import EvidenceError
from privet.graph.classes import CLASSES
from privet.graph.graph import Graph
from privet.graph.meek import extension
from privet.methods.basis import Basis
from privet.methods.decision import By, Decision
from privet.methods.listener import NOBODY, Outcome
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.skeleton import Rule, Skeleton, contradicted, refusal


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """Of a search: its graph, what it asked on, and the log odds that an edge needs. ``schema`` has
    the knowledge as it was declared; ``weighed`` says that it fits weights."""

    graph: Graph
    basis: Basis
    schema: Schema
    threshold: float
    weighed: bool

    def decision(self, a: str, b: str) -> Decision:
        x, y = sorted(map(self.graph.nodes.index, (a, b)))
        joined = self.graph.edge(a, b) is not None
        known, copies = self.schema.knowledge, self.basis.copies
        if known.must(a, b) or known.must(b, a):
            return Decision(by="knowledge")
        if a in copies or b in copies:
            return Decision(by="copy")
        if not (joined or known.may(a, b) or known.may(b, a)) and self.graph.kind != "pag":
            return Decision(by="knowledge")
        if self.weighed:
            return Decision(by="weights")
        listener = self.basis.listener
        if listener.settled:
            return self._implied(x, y)
        if listener.tested is not None:
            if not listener.tested.found.adjacent[x, y]:
                return self._parted(listener.tested, x, y)
            if listener.score is None:
                kept = self._kept(listener.tested, x, y)
                return kept if joined else Decision(by="score", rule=self._bound(x, y))
        return replace(self._scored(x, y, joined), tested=listener.tested is not None)

    def _test(self, by: By, given: tuple[int, ...], margin: float) -> Decision:
        return Decision(
            by=by,
            given=tuple(self.graph.nodes[z] for z in given),
            log_odds=margin + self.threshold,
            threshold=self.threshold,
        )

    def _kept(self, tested: Outcome, x: int, y: int) -> Decision:
        """Joined, whatever was asked: the lowest answer counts, or a rule against it."""
        known = len(tested.lowest) > y and np.isfinite(tested.lowest[x, y])
        if not known:
            return Decision(by="unknown")
        given = _members(tested, x, y)
        found = self._test("tests", given, float(tested.lowest[x, y]))
        if tested.lowest[x, y] >= 0:
            return found
        rule = refusal(tested.found, x, y, given)
        clash = self._contradicted(tested.found, x, y, given) if rule == "contradiction" else ()
        return replace(found, by="rule", rule=rule, against=clash)

    def _contradicted(
        self, found: Skeleton, x: int, y: int, given: tuple[int, ...]
    ) -> tuple[str, ...]:
        """Two columns that were separated, and what did it."""
        for joined in (False, True):
            if clash := contradicted(found.separators, x, y, given, joined):
                both = min(clash), max(clash)
                return tuple(self.graph.nodes[z] for z in (*clash, *found.separators[both]))
        return ()

    def _parted(self, tested: Outcome, x: int, y: int) -> Decision:
        """Not joined: by its separator, or the lowest answer, unless knowledge closed a circle."""
        given = tested.found.separators.get((x, y))
        if given is None and len(tested.lowest) > y and tested.lowest[x, y] < 0:
            given = _members(tested, x, y)
        if given is None:
            return Decision(by="knowledge", rule="circle")
        question = np.array([[x, y, *given]], dtype=np.intp)
        return self._test("tests", given, float(self.basis.judge.margins(question)[0]))

    def _implied(self, x: int, y: int) -> Decision:
        """What the graph implies of two columns was asked given the parents of both."""
        listener = self.basis.listener
        given = tuple(z for z in listener.given[x, y].tolist() if z != NOBODY)
        return self._test("implied", given, float(listener.lowest[x, y]))

    def _scored(self, x: int, y: int, joined: bool) -> Decision:
        """What the edge adds to the score, or the better of two arrows would add."""
        score, dag = self.basis.listener.score, self._dag
        if score is None or dag is None:
            return Decision(by="score")
        ends = [(x, y), (y, x)]
        if joined:
            ends = [pair for pair in ends if dag[pair]]
        else:
            allowed = Constraints.of(self.graph.nodes, self.schema.knowledge).allowed
            ends = [pair for pair in ends if allowed[pair] and not self._before[pair[::-1]]]
        made = []
        for cause, effect in ends:
            given = [z for z in np.flatnonzero(dag[:, effect]).tolist() if z != cause]
            try:
                gain = float(score(np.array([[cause, effect, *given]], dtype=np.intp))[0])
            except EvidenceError:  # a table that was never counted
                continue
            made.append((gain, effect, tuple(given)))
        if not made or not np.isfinite(max(made)[0]):
            return Decision(by="score", rule=None if joined else self._bound(x, y))
        gain, effect, parents = max(made)
        found = Decision(
            by="score",
            given=tuple(self.graph.nodes[z] for z in parents),
            log_odds=gain,
            threshold=0.0,
            effect=self.graph.nodes[effect],
        )
        if joined or gain <= 0:
            return found
        return self._refused(found, x + y - effect, effect, parents)

    def _refused(
        self, found: Decision, cause: int, effect: int, parents: tuple[int, ...]
    ) -> Decision:
        """Why an arrow is not there that a score would like."""
        if self.basis.listener.most is not None and len(parents) >= self.basis.listener.most:
            return replace(found, rule="parents")
        if self.basis.ascent is not None and self.basis.noisy:
            question = np.array([[cause, effect, *parents]], dtype=np.intp)
            margin = float(self.basis.judge.margins(question)[0])
            if margin <= 0:
                return self._test("tests", parents, margin)
        return replace(found, rule="steps")

    def _bound(self, x: int, y: int) -> Rule | None:
        """Whether an end has all the parents that it may have."""
        dag = self._dag
        full = (
            self.basis.listener.most is not None
            and dag is not None
            and max(dag.sum(axis=0)[[x, y]]) >= self.basis.listener.most
        )
        return "parents" if full else None

    @cached_property
    def _dag(self) -> Bools | None:
        """One of the class."""
        if self.graph.kind not in CLASSES and self.graph.kind != "dag":
            return None
        return extension(self.graph.matrix())

    @cached_property
    def _before(self) -> Bools:
        """[i, j]: a path leads from i to j."""
        assert self._dag is not None, "asked of a DAG"
        reach = self._dag.copy()
        for _ in range(max(1, len(reach).bit_length())):
            reach |= (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        return reach


def _members(tested: Outcome, x: int, y: int) -> tuple[int, ...]:
    """What was given where the answer was lowest."""
    return tuple(z for z in tested.given[x, y].tolist() if z != NOBODY)
