"""The front door of explanations: a folder of results and two columns; nothing is read but what
was released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privet.errors import EvidenceError, expect
from privet.graph.formats.files import load as load_graph
from privet.results.certificate import of_evidence
from privet.results.explanation import Explanation
from privet.results.explanation import explain as explained
from privet.results.folder import PAIRS
from privet.results.saved import load


def explain(folder: str | Path, a: str, b: str) -> Explanation:
    """Why two columns of the graph in a folder of results are joined, or not."""
    expect(folder, (str, Path), "folder¦DIR", "name the folder of results", EvidenceError)
    place = Path(folder)
    if not place.is_dir():
        raise EvidenceError(
            f"{str(folder)!r} is no folder; give the one that "
            "⟦found.save(folder)¦`privet discover --output`⟧ made"
        )
    if (place / PAIRS).exists() and not (place / "graph.json").exists():
        raise EvidenceError(
            f"{str(folder)!r} holds pairs that were oriented and no graph; {PAIRS} says why"
        )
    saved = load(place / "evidence.json")
    of_evidence(saved.certificate)
    return explained(saved, load_graph(place / "graph.json"), _run(place), a, b)


def _run(place: Path) -> dict[str, Any]:
    """With which method and options the graph was searched."""
    path = place / "certificate.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        options = dict(found["options"])
        options |= {"alpha": float(options["alpha"]), "max_order": int(options["max_order"])}
        return {"method": str(found["method"]), "options": options}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise EvidenceError(
            f"{str(path)!r} is missing or damaged, so the options of the search are not known; "
            "give a whole folder of results"
        ) from None
