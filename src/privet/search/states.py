"""An equivalence class of DAGs in bits, and the class next door when one of its DAGs changes.

A class is kept as its CPDAG and as one of its DAGs. A step looks at a small part of both: to give a
column other parents within the class only its chain component is put in another order [Dor, Tarsi
1992], and once that DAG has changed, only what follows from the change is labelled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from privet.arrays import Bools
from privet.graph.bits import bitsets, flags_of, members
from privet.graph.meek import extension


@dataclass(frozen=True)
class State:
    """A CPDAG: for each node its parents, lines (neighbours), all that it is joined to and all
    that a semi-directed path may go to next, as bits; and the parents that it has in one DAG of
    the class."""

    dag: list[int]
    parents: list[int]
    lines: list[int]
    joined: list[int]
    onward: list[int]

    @staticmethod
    def of(A: Bools) -> State:
        if not A.any():
            return State(*([0] * len(A) for _ in fields(State)))
        dag = extension(A)
        assert dag is not None, "a CPDAG has a DAG"
        parts = (dag.T, A.T & ~A, A & A.T, A | A.T, A)
        return State(*map(bitsets, parts))

    @property
    def matrix(self) -> Bools:
        return flags_of(self.onward, len(self.onward))

    def is_clique(self, nodes: int) -> bool:
        return all(not nodes & ~(self.joined[v] | 1 << v) for v in members(nodes))

    def path(self, start: int, goal: int, blocked: int) -> int:
        """The nodes before the goal on a shortest semi-directed path, other than their edge, that
        avoids the blocked nodes; 0 if there is none."""
        onward, last = self.onward, (self.parents[goal] | self.lines[goal]) & ~(1 << start)
        fresh = onward[start] & ~blocked & ~(1 << goal) if last & ~blocked else 0
        seen = fresh | 1 << start | blocked
        layers: list[list[int]] = []
        while fresh:
            if fresh & last:
                return 1 << start | self._back(layers, fresh & last)
            layers.append(members(fresh))
            ahead = 0
            for v in layers[-1]:
                ahead |= onward[v]
            fresh = ahead & ~seen
            seen |= ahead
        return 0

    def _back(self, layers: list[list[int]], ends: int) -> int:
        """The end that comes first, and one node of each layer from which it is reached."""
        found = ends & -ends
        end = found.bit_length() - 1
        for layer in reversed(layers):
            end = next(v for v in layer if self.onward[v] >> end & 1)
            found |= 1 << end
        return found

    def reordered(self, above: Mapping[int, int]) -> dict[int, int] | None:
        """What must change in the DAG so that each of these nodes, all of one chain component,
        has just these of its neighbours as parents; None if no DAG of the class is like that."""
        if all(self.dag[v] & self.lines[v] == first for v, first in above.items()):
            return {}
        left, lines = self._component(next(iter(above))), self.lines
        decided = sum(1 << v for v in above)

        def can_be_last(v: int) -> bool:
            around = lines[v] & left
            if v in above:
                return not around & ~above[v]
            if any(above[u] >> v & 1 for u in members(around & decided)):
                return False
            return all(not around & ~(lines[u] | 1 << u) for u in members(around & ~decided))

        ready = [v for v in members(left) if can_be_last(v)]
        queued, changed = sum(1 << v for v in ready), {}
        while ready:
            v = ready.pop()
            left ^= 1 << v
            parents = self.parents[v] | lines[v] & left
            if parents != self.dag[v]:
                changed[v] = parents
            for u in members(lines[v] & left & ~queued):
                if can_be_last(u):
                    queued |= 1 << u
                    ready.append(u)
        return None if left else changed

    def _component(self, node: int) -> int:
        found = fresh = 1 << node
        while fresh:
            low = fresh & -fresh
            more = self.lines[low.bit_length() - 1] & ~found
            fresh, found = fresh ^ low | more, found | more
        return found

    def changed(self, parents: Mapping[int, int]) -> State:
        """The class of the DAG in which some nodes have other parents."""
        new = State(*(part.copy() for part in vars(self).values()))
        for v, those in parents.items():
            new.dag[v] = those
            _clear((new.joined,), v, self.dag[v])
        for v in parents:
            _set(new.joined, v, new.dag[v])
        moved = new._labelled(parents)
        for v in moved:
            _clear((new.lines, new.onward), v, self.dag[v])
        for v in moved:
            line = new.dag[v] & ~new.parents[v]
            _set(new.lines, v, line)
            new.onward[v] |= line
            for u in members(new.dag[v]):
                new.onward[u] |= 1 << v
        return new

    def _labelled(self, fresh: Iterable[int]) -> set[int]:
        """Find the compelled parents of nodes whose parents are new, and of all to which that
        makes a difference [Chickering 1995]."""
        moved, dag = set(fresh), self.dag
        todo = dict.fromkeys(moved)
        for v in moved:
            todo.update(dict.fromkeys(members(self.joined[v] & ~dag[v])))
        while todo:
            v = next(iter(todo))
            del todo[v]
            compelled = self._compelled(v)
            if compelled != self.parents[v]:
                self.parents[v] = compelled
                moved.add(v)
                todo.update(dict.fromkeys(members(self.joined[v] & ~dag[v])))
        return moved

    def _compelled(self, v: int) -> int:
        """All parents, unless one is a child of all others and compelled by none but these:
        then those that are compelled there."""
        above = self.dag[v]
        for last in members(above):
            if not above & ~self.dag[last] & ~(1 << last):
                inherited = self.parents[last]
                return above if inherited & ~above else inherited
        return above


def _clear(parts: Iterable[list[int]], v: int, others: int) -> None:
    """No mark of any of the others at v, and none of v at them."""
    for part in parts:
        part[v] &= ~others
        for u in members(others):
            part[u] &= ~(1 << v)


def _set(part: list[int], v: int, others: int) -> None:
    part[v] |= others
    for u in members(others):
        part[u] |= 1 << v
