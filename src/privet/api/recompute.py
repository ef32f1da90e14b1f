"""What a folder of results must say, worked out from its evidence: the certificate, the graph or
the directions, the pictures and the page.

The evidence is searched again with the options of the certificate, for nothing. Another version of
Privet may write other words or find another graph; then only that version can verify what it wrote.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from privet.api.combine import search_sites
from privet.api.discover import search
from privet.api.orient import judge
from privet.errors import PrivetError
from privet.methods import catalogue
from privet.methods.method import Method
from privet.methods.options import Settings, make_settings
from privet.pairs.options import make_choices
from privet.pairs.way import all_ways
from privet.results.discovery import Discovery
from privet.results.folder import PAIRS
from privet.results.orientations import Orientations
from privet.results.saved import Saved
from privet.results.seal import results

ROUNDED = 0.002  # beyond this, figures that are written to three digits differ
FREE = ("alpha", "max_order")  # which the certificate has though nobody gave them
NOT_HELD = ("evidence.json", "certificate.json")  # but by their own rules


def differences(place: Path, facts: Mapping[str, Any], evidence: Saved) -> list[str]:
    """What is not as this evidence gives it, each in a few words."""
    unlike: list[list[str]] = []
    try:
        for found in _found(place, facts, evidence):
            unlike.append(_unlike(place, facts, found))
            if not unlike[-1]:
                return []
    except PrivetError as error:
        unlike = unlike or [[f"the evidence cannot be searched as certificate.json says: {error}"]]
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RecursionError):
        unlike = unlike or [["certificate.json does not say how the evidence was searched"]]
    made, mine = str(facts.get("version", "unknown"))[:40], version("privet")
    other = f" (by version {mine}; version {made} has written it, and can verify it)"
    return [f"{each}{other if made != mine else ''}" for each in min(unlike, key=len)]


def _found(
    place: Path, facts: Mapping[str, Any], evidence: Saved
) -> Iterable[Discovery | Orientations]:
    """The results again. Where an option may have been given or not, first as if it was not."""
    again = _reused(facts)
    name, said = facts["method"], dict(facts["options"])
    if name in {way.name for way in all_ways()}:
        pairs = json.loads((place / PAIRS).read_text("utf-8"))["pairs"]
        names = tuple((str(pair["a"]), str(pair["b"])) for pair in pairs)
        yield judge(evidence, make_choices(**said), method=name, names=names, reused=again)
        return
    chosen = catalogue.get(name)
    arrows = bool(said.pop("use_differences", False))
    for given in _given(chosen, said, len(evidence.schema.columns)):
        settings, methods = make_settings(**given), facts.get("methods", name)
        if evidence.sites:
            yield search_sites(evidence, settings, method=methods, use_differences=arrows)
        if not arrows:
            yield search(evidence, settings, method=methods, reused=again)


def _reused(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    known = ("identical_run", "measured_on")
    return {key: facts[key] for key in known if key in facts} if facts["reused"] else None


def _given(chosen: Method, said: dict[str, Any], columns: int) -> Iterable[dict[str, Any]]:
    usual = chosen.options(Settings(), columns)
    spare = [{key: v for key, v in said.items() if v != usual.get(key)}]
    spare.append({key: v for key, v in spare[0].items() if key not in FREE})
    return (*reversed(spare), said)


def _unlike(place: Path, facts: Mapping[str, Any], found: Discovery | Orientations) -> list[str]:
    known = {**json.loads(found.certificate.to_json()), "version": facts.get("version")}
    keys = [key for key in {**known, **facts} if known.get(key) != facts.get(key)]
    unlike = [f"certificate.json has another {key} than the evidence gives" for key in keys]
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again"
        found.save(again)
        for name in sorted({*results(again), *results(place)} - {*NOT_HELD}):
            if not _alike(again / name, place / name):
                unlike.append(f"{name} is not what the evidence gives")
    return unlike


def _alike(path: Path, other: Path) -> bool:
    """Whether a file says the same."""
    try:
        one, two = path.read_text("utf-8"), other.read_text("utf-8")
        if path.suffix == ".json":
            return _near(json.loads(one), json.loads(two))
        return one == two
    except (OSError, ValueError, RecursionError):
        return False


def _near(one: Any, two: Any) -> bool:
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_near(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_near, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=ROUNDED, abs_tol=ROUNDED)
    return bool(one == two)
