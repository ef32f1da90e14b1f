"""What a discovery is: a graph, its confidence, its promise and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from privet.graph.absence import Absence
from privet.graph.agreement import Agreement, agreement
from privet.graph.edge import Edge, reasons
from privet.graph.exports import Exports
from privet.graph.graph import Graph
from privet.methods.decision import Decides
from privet.results import saved
from privet.results.certificate import Certificate
from privet.results.diagnostics import Diagnosis, against_sense, diagnose
from privet.results.diagnostics import to_json as diagnostics_json
from privet.results.explanation import Explanation, explain
from privet.results.folder import DIAGNOSTICS, OTHERS, SITES, Stage
from privet.results.saved import Saved
from privet.results.sites import Sites

FEW = 8  # undecided pairs that are printed


@dataclass(frozen=True, kw_only=True, repr=False)
class Discovery(Exports):
    """A graph with its confidence, what was promised for it, and the evidence behind it.

    ``tests`` is the number of questions that the search asked of the evidence; ``others`` are
    the results of further methods on the same evidence, if more than one was named. Of several
    sites, ``sites`` says what each has added and which edges rest on one of them alone.
    ``absences`` say why pairs are not joined, and of which the evidence cannot say. ``record`` is
    what the search keeps of its decisions, for ``explain``; copies in files do without.

    >>> found  # doctest: +ELLIPSIS
    Discovery of 'clinic' by interaction-pc: cpdag, 3 nodes, ...
    private, epsilon 1, delta 0
    >>> found.reused
    False
    """

    graph: Graph
    certificate: Certificate
    evidence: Saved
    method: str
    tests: int = 0
    notes: tuple[str, ...] = ()
    others: tuple[Discovery, ...] = ()
    sites: Sites | None = None
    absences: Sequence[Absence] = ()
    record: Decides | None = field(default=None, compare=False)

    @property
    def confidence(self) -> dict[Edge, float]:
        """How sure each edge is, from 0 to 1.

        >>> all(0 <= share <= 1 for share in found.confidence.values())
        True
        """
        return {e: e.confidence for e in self.graph.edges if e.confidence is not None}

    @property
    def reused(self) -> bool:
        """Whether the evidence was paid for by an earlier run, so that this one has cost nothing.

        >>> found.reused
        False
        """
        return bool(self.certificate["reused"])

    def _exported(self) -> Graph:
        return self.graph

    def _tiers(self) -> tuple[tuple[str, ...], ...]:
        return self.evidence.schema.knowledge.tiers

    @cached_property
    def diagnostics(self) -> tuple[Diagnosis, ...]:
        """What released margins and pairs show to be wrong with columns, and arrows that make no
        sense. Free."""
        return diagnose(self.evidence) + against_sense(self.graph)

    def explain(self, a: str, b: str) -> Explanation:
        """Why two columns are joined, or not: effects, the tests that decided, confidence. Free.

        >>> found.explain("smoke", "cancer").text != ""
        True
        """
        return explain(self.evidence, self.graph, self.certificate, a, b, self.record)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "record": None}

    @property
    def undecided(self) -> tuple[Absence, ...]:
        """Pairs of which the evidence cannot say whether they are joined, the likeliest first."""
        return tuple(sorted((a for a in self.absences if a.undecided), key=lambda a: -a.effect))

    def agreement(self) -> tuple[Agreement, ...]:
        """Each pair that some method joins, and how each method marks it.

        >>> all(line.unanimous for line in found.agreement())  # there is but one method
        True
        """
        return agreement({found.method: found.graph for found in (self, *self.others)})

    def save(self, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Write graph.json, certificate.json, diagnostics.json, evidence.json, graph.svg and
        report.html, and the graphs of further methods in others/.

        >>> [path.name for path in found.save("out")][:2]
        ['graph.json', 'certificate.json']
        """
        with Stage(folder, force=force) as stage:
            return self.write(stage)

    def write(self, stage: Stage) -> tuple[Path, ...]:
        """The files, into a folder in the making; returns where they will be."""
        from privet.graph.formats.files import to_json
        from privet.results.report.graph import report

        stage.write("evidence.json", saved.to_json(self.evidence))
        stage.write("graph.json", to_json(self.graph))
        stage.write("certificate.json", self.certificate.to_json())
        stage.write(DIAGNOSTICS, diagnostics_json(self.diagnostics))
        stage.write("graph.svg", str(self.plot()))
        stage.write("report.html", report(self))
        if self.sites is not None:
            stage.write(SITES, self.sites.to_json())
        for other in self.others:
            stage.write(f"{OTHERS}/{other.method}.graph.json", to_json(other.graph))
            stage.write(f"{OTHERS}/{other.method}.graph.svg", str(other.plot()))
        return stage.seal()

    def __repr__(self) -> str:
        head = f"Discovery of {self.certificate['schema']!r} by {self.method}: {self.graph.told()}"
        first = filter(None, (self.certificate.not_measured, head))
        return "\n".join((*first, *self.graph.first_edges(), self.certificate.told()))

    def _repr_html_(self) -> str:
        from privet.results.report.notebook import discovery_html

        return discovery_html(self)

    def __str__(self) -> str:
        lines = [f"{edge}{edge.doubt()}" for edge in self.graph.edges] or ["no edges"]
        open_ = self._open()
        look = [f"- {one.text}" for one in self.diagnostics]
        columns = ["", "Look at these columns first:", *look] if look else []
        first = filter(None, [self.certificate.not_measured])
        return "\n".join([*first, *lines, *open_, *columns, "", str(self.certificate)])

    def _open(self) -> list[str]:
        """Why edges are shown as they are, and how many pairs are undecided."""
        size = len(self.graph.nodes)
        told = reasons(self.graph.edges)
        if pairs := self.graph.undecided:
            few = ", ".join(f"{a} ? {b}" for a, b in pairs[:FEW])
            more = f" and {len(pairs) - FEW} more" if len(pairs) > FEW else ""
            told.append(
                f"{len(pairs)} of {size * (size - 1) // 2} pairs are undecided, joined or not: "
                f"{few}{more}"
            )
        return told
