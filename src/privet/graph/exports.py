"""The ways out of a graph: pictures, frames, and the formats of other programs.

A graph has them, and so has every result that holds one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import GraphError, OutputError, expect

if TYPE_CHECKING:
    import networkx
    import numpy as np
    from numpy.typing import NDArray

    from privet.graph.graph import Graph

LIBRARIES = ("pandas", "polars")


class Picture(str):
    """SVG text that a notebook shows as a picture.

    >>> picture = privet.Graph.from_edges(["smoke --> cancer"]).plot()
    >>> picture  # doctest: +ELLIPSIS
    <picture of ... characters of SVG>
    >>> picture.startswith("<svg")
    True
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<picture of {len(self):,} characters of SVG>"

    def save(self, path: str | Path) -> None:
        """Write it to a file; one that is there is replaced.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).plot().save("graph.svg")
        """
        expect(path, (str, Path), "path", "give the path of a file to write", OutputError)
        try:
            Path(path).write_text(self, encoding="utf-8")
        except OSError as error:
            why = error.strerror
            raise OutputError(f"cannot write {path!r} ({why}); choose another place") from None


class Exports(ABC):
    """What can be made of a graph.

    >>> found.graph.to_dot() == found.to_dot()
    True
    """

    @abstractmethod
    def _exported(self) -> Graph: ...

    def _tiers(self) -> tuple[tuple[str, ...], ...]:
        """What is known to come first, for pictures."""
        return ()

    def plot(self, title: str | None = None) -> Picture:
        """The graph as SVG, which a notebook shows as a picture.

        >>> graph = privet.Graph.from_edges(["smoke --> cancer"])
        >>> graph.plot(title="Why?").count("<title>")  # of two nodes and an edge
        3
        """
        from privet.graph.drawing import svg

        heading = None if title is None else str(title)
        return Picture(svg(self._exported(), heading, self._tiers()))

    def edges_frame(self, library: str | None = None) -> Any:
        """The edges as a DataFrame, one on each line: of pandas, or of polars if that is asked for
        or alone installed.

        >>> graph = privet.Graph.from_edges(["smoke --> cancer", "smoke --- stress"])
        >>> graph.edges_frame()[["source", "mark", "target"]]
          source mark  target
        0  smoke  -->  cancer
        1  smoke  ---  stress
        >>> graph.edges_frame("polars").shape
        (2, 7)
        """
        figures = ("confidence", "arrow_confidence")
        columns = ("source", "mark", "target", *figures, "origin", "tentative")
        edges = self._exported().edges
        cells = {name: [getattr(edge, name) for edge in edges] for name in columns}
        if _library(library) == "pandas":
            import pandas

            numbers = dict.fromkeys(figures, "float64")
            return pandas.DataFrame(cells).astype(numbers)
        import polars

        kinds = {name: polars.Float64 if "confidence" in name else polars.String for name in cells}
        return polars.DataFrame(cells, schema=kinds)

    def to_networkx(self) -> networkx.DiGraph:
        """A networkx DiGraph whose edges carry their ``mark``; ``---`` is there both ways.

        >>> found = privet.Graph.from_edges(["smoke --> cancer"])
        >>> found.to_networkx().edges["smoke", "cancer"]
        {'mark': '-->'}
        """
        from privet.graph.formats.nx import to_networkx

        return to_networkx(self._exported())

    def to_json(self) -> str:
        """Privet's own format, which carries everything.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).to_json(), end="")
        {
          "kind": "dag",
          "nodes": ["smoke", "cancer"],
          "edges": [
            {"from": "smoke", "to": "cancer", "mark": "-->"}
          ],
          "undecided": []
        }
        """
        from privet.graph.formats.native import to_json

        return to_json(self._exported())

    def to_dot(self) -> str:
        """The language of Graphviz.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).to_dot(), end="")
        digraph {
          kind="dag";
          "smoke";
          "cancer";
          "smoke" -> "cancer";
        }
        """
        from privet.graph.formats.dot import to_dot

        return to_dot(self._exported())

    def to_gml(self) -> str:
        """GML, as dowhy's CausalModel takes it; of a DAG only.

        >>> "target 1" in privet.Graph.from_edges(["smoke --> cancer"]).to_gml()
        True
        """
        from privet.graph.formats.nx import to_dowhy_gml

        return to_dowhy_gml(self._exported())

    def to_graphml(self) -> str:
        """GraphML, with names that igraph, yEd and Gephi show.

        >>> 'attr.name="name"' in privet.Graph.from_edges(["smoke --> cancer"]).to_graphml()
        True
        """
        from privet.graph.formats.nx import to_graphml

        return to_graphml(self._exported())

    def to_csv(self) -> str:
        """An adjacency matrix with names.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).to_csv(), end="")
        dag,smoke,cancer
        smoke,0,1
        cancer,0,0
        """
        from privet.graph.formats.matrices import to_csv

        return to_csv(self._exported())

    def to_dagitty(self) -> str:
        """The text of dagitty.

        >>> print(privet.Graph.from_edges(["smoke --> cancer"]).to_dagitty(), end="")
        dag {
          "smoke"
          "cancer"
          "smoke" -> "cancer"
        }
        """
        from privet.graph.formats.dagitty import to_dagitty

        return to_dagitty(self._exported())

    def to_causal_learn(self) -> NDArray[np.int_]:
        """The matrix of causal-learn's GeneralGraph.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).to_causal_learn().tolist()
        [[0, -1], [1, 0]]
        """
        from privet.graph.formats.matrices import to_causal_learn

        return to_causal_learn(self._exported())

    def to_pcalg(self) -> NDArray[np.int_]:
        """pcalg's ``amat.cpdag``, or ``amat.pag`` of a PAG.

        >>> privet.Graph.from_edges(["smoke --> cancer"]).to_pcalg().tolist()
        [[0, 0], [1, 0]]
        """
        from privet.graph.formats.matrices import to_pcalg

        return to_pcalg(self._exported())


def _library(asked: str | None) -> str:
    if asked is not None and (not isinstance(asked, str) or asked not in LIBRARIES):
        raise GraphError(f"library is {asked!r}; use one of {', '.join(LIBRARIES)}")
    for name in LIBRARIES if asked is None else (asked,):
        if find_spec(name) is not None:
            return name
    if asked is None:
        raise GraphError("neither pandas nor polars is installed; install one of them")
    raise GraphError(f"{asked} is not installed; install it, or leave the library away")
