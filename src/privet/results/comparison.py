"""A graph that was found to compare with, and that nobody was promised anything for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privet.graph.exports import Exports
from privet.graph.graph import Graph
from privet.results.certificate import Certificate
from privet.results.folder import Stage


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Exports):
    """There is no evidence in it: exact statistics of a site must not leave it. What a published
    protocol sends is in the certificate's ``traffic``."""

    graph: Graph
    certificate: Certificate
    method: str
    notes: tuple[str, ...] = ()

    def save(self, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Write graph.json, certificate.json, graph.svg and report.html."""
        with Stage(folder, force=force) as stage:
            return self.write(stage)

    def write(self, stage: Stage) -> tuple[Path, ...]:
        from privet.graph.formats.files import to_json
        from privet.results.report.graph import plain_report

        stage.write("graph.json", to_json(self.graph))
        stage.write("certificate.json", self.certificate.to_json())
        stage.write("graph.svg", str(self.plot()))
        stage.write("report.html", plain_report(self))
        return stage.seal()

    def _exported(self) -> Graph:
        return self.graph

    def __repr__(self) -> str:
        head = f"{self.method}, to compare with: {self.graph.told()}"
        return "\n".join((head, *self.graph.first_edges(), self.certificate.told()))

    def _repr_html_(self) -> str:
        from privet.results.report.notebook import graph_and_promise_html

        return graph_and_promise_html(self.graph, self.certificate, self.method)

    def __str__(self) -> str:
        edges = [str(edge) for edge in self.graph.edges]
        return "\n".join([*(edges or ["no edges"]), "", str(self.certificate)])
