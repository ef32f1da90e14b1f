"""The front door for several sites: what each has measured for itself; out comes one graph.

Each site has run ``discover`` with a ``site``, and has sent its evidence.json. No rows are read
here and nothing is spent. All checks are made from the files alone (``results/joint.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet.api.checks import check_flags, read_schema
from privet.api.discover import searched, with_questions
from privet.api.evidence import check_searchable, open_evidence
from privet.api.progress import heard
from privet.arrays import OnStep, say_nothing
from privet.methods import catalogue, differences
from privet.methods.options import Settings, make_settings
from privet.results import certificate as certificates
from privet.results.discovery import Discovery
from privet.results.joint import Sent, combined
from privet.results.saved import Saved, kind
from privet.results.sites import sites_of
from privet.schema.model import Schema


def combine(
    *evidence: Saved | str | Path,
    schema: Schema | str | Path | None = None,
    method: str | Sequence[str] = "auto",
    use_differences: bool = False,
    on_step: OnStep | None = None,
    **options: Any,
) -> Discovery:
    """The causal graph of several sites, from the evidence that each has sent.

    ``evidence`` are files (or the ``.evidence`` of results), one of each site, made by
    ``discover(..., site="hospital-a")``. The columns of all must be the same. A ``schema`` brings
    the knowledge of what may cause what, if the sites do not agree on it. ``method`` and
    ``options`` are those of ``discover``.

    ``use_differences`` gives lines a direction where sites differ in a column: a mechanism is the
    same everywhere, given its causes, unless it is what differs.

    The search is made again without each site in turn (``.sites``), so that one sees which edges
    rest on one site alone.

    >>> sites = [
    ...     privet.discover(data, schema, site=name, epsilon=1, delta=1e-6, ledger=":memory:")
    ...     for name in ("north", "south")
    ... ]
    >>> privet.combine(*(one.evidence for one in sites)).certificate["trust"]
    'sites'
    """
    with heard(on_step) as listener:
        settings = make_settings(on_step=listener, **options)
        check_flags(use_differences=use_differences)
        sent = [_opened(one, place) for place, one in enumerate(evidence, 1)]
        saved = combined(sent, None if schema is None else read_schema(schema))
        check_searchable(saved, settings)
        return search_sites(saved, settings, method=method, use_differences=use_differences)


def search_sites(
    saved: Saved,
    settings: Settings,
    *,
    method: str | Sequence[str] = "auto",
    use_differences: bool = False,
) -> Discovery:
    """The half that reads no files: a graph from the evidence of all sites, and without each."""
    found = searched(saved, settings, method=method)
    if use_differences:
        found = replace(_oriented(found), others=tuple(map(_oriented, found.others)))
    return _without_each(with_questions(found), settings)


def _oriented(found: Discovery) -> Discovery:
    """The result with the arrows that differences between sites tell."""
    saved = found.evidence
    differences.check({kind(r, saved.schema) for r in saved.releases}, found.graph.kind)
    graph, notes = differences.oriented(found.graph, saved.schema, saved.releases)
    asked = {**found.certificate["options"], "use_differences": True}
    certificate = certificates.of_search(found.certificate, found.method, asked)
    return replace(found, graph=graph, certificate=certificate, notes=(*found.notes, *notes))


def _opened(evidence: Saved | str | Path, place: int) -> Sent:
    saved = open_evidence(evidence)
    return Sent(
        origin=f"evidence {place}" if isinstance(evidence, Saved) else str(evidence), saved=saved
    )


def _without_each(found: Discovery, settings: Settings) -> Discovery:
    """The result, with what the search finds when one site is left out."""
    saved, chosen = found.evidence, catalogue.get(found.method)
    quick = replace(settings, replicas=0, on_step=say_nothing)
    labels = [str(site.certificate["site"]) for site in saved.sites]
    without = {}
    for i, label in enumerate(labels):
        settings.on_step(f"searching without {label}", i / len(labels))
        kept = tuple(release for release in saved.releases if release.site != label)
        without[label] = chosen.search(saved.schema, kept, quick).graph
    sites = sites_of(saved, found.graph, without)
    return replace(found, sites=sites, notes=(*found.notes, *sites.notes()))
