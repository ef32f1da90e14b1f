"""What ``discover`` and ``combine`` share: how methods are named, and a graph on the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.show import console, number, printable, rows, table
from privet.errors import MethodError

if TYPE_CHECKING:
    from privet.graph.edge import Edge
    from privet.results.discovery import Discovery


UNDECIDED = 8  # pairs that are shown on the terminal


def methods_of(args: argparse.Namespace) -> str | list[str]:
    if args.methods is None:
        return "auto" if args.method is None else args.method
    if args.method is not None:
        raise MethodError(
            f"--method {args.method} was given with --methods {args.methods}; leave one of the "
            f"two away"
        )
    return [name.strip() for name in args.methods.split(",") if name.strip()]


def as_json(found: Discovery, files: tuple[Path, ...]) -> dict[str, Any]:
    import json
    from dataclasses import asdict

    from privet.graph.formats.files import to_json

    result: dict[str, Any] = {
        "graph": json.loads(to_json(found.graph)),
        "certificate": dict(found.certificate),
        "files": {path.name: str(path) for path in files},
    }
    if found.diagnostics:
        result["diagnostics"] = [asdict(one) for one in found.diagnostics]
    if found.absences:
        result["absent"] = [asdict(absence) for absence in found.absences]
    if found.notes:
        result["notes"] = list(found.notes)
    if found.others:
        result["others"] = {o.method: json.loads(to_json(o.graph)) for o in found.others}
        result["agreement"] = [asdict(line) for line in found.agreement()]
    return result


def print_diagnostics(found: Discovery) -> None:
    """What to know of the columns before the graph is believed."""
    if not found.diagnostics:
        return
    out = console()
    out.print("Look at these columns first:")
    for one in found.diagnostics:
        out.print(printable(f"- {one.text}"))


def print_undecided(found: Discovery) -> None:
    """Pairs that are not in the graph though nothing rules an edge out, the likeliest first."""
    open_ = found.undecided
    if not open_:
        return
    made = table("cannot say", "", "given", "may be up to", "rows", "epsilon", right=("rows",))
    for a in open_[:UNDECIDED]:
        rows(made, (*a.pair, ", ".join(a.given) or "nothing", f"{a.largest:.2f}", *a.needs))
    out = console()
    out.print(made)
    left = len(open_) - UNDECIDED
    more = f" {left} more are in graph.json." if left > 0 else ""
    out.print(
        f"Of {'one pair' if len(open_) == 1 else f'{len(open_)} pairs'} the evidence cannot say "
        "whether they are joined: no test rules a strong dependence out. So many times the rows, "
        "or the epsilon, would tell in 8 of 10 runs; where there was enough, there may be a weak "
        f"dependence.{more}",
    )


def print_edges(edges: Sequence[Edge], more: Sequence[str] = (), *, heading: str = "") -> None:
    """The surest first; ``more`` is one further cell for each, under a heading of its own."""
    from privet.graph.edge import reasons
    from privet.graph.notebook import arrow_of

    figures = ("confidence", "of its arrow")
    made = table("edge", "", "", *figures, *([heading] if more else []), right=figures)
    cells = dict(zip(edges, more, strict=True)) if more else {}
    for e in sorted(edges, key=lambda e: -(e.confidence or 0.0)):
        sure = (number(e.confidence, 3), number(arrow_of(e), 2))
        rows(made, (e.source, e.shown, e.target, *sure, *([cells[e]] if more else [])))
    out = console()
    out.print(made)
    for reason in reasons(edges):
        out.print(printable(reason))


def print_agreement(found: Discovery) -> None:
    """How each method marks each pair that some method joins."""
    methods = [found.method, *(other.method for other in found.others)]
    made = table("pair", "", *methods, "joined by")
    lines = found.agreement()
    for line in lines:
        rows(made, (line.a, line.b, *line.marks, f"{line.joined} of {len(methods)}"))
    out = console()
    out.print(made)
    same = sum(line.unanimous for line in lines)
    out.print(
        f"All {len(methods)} methods searched the same evidence; of {len(lines)} pairs that some "
        f"method joins they mark {same} alike. The graph above is that of {methods[0]}.",
    )
