"""A rehearsal of several sites in one process: simulated rows, real budgets, real noise.

Each site has a folder with a ledger, evidence and certificate of its own, just as if it were
elsewhere; only the files of evidence are put together. Sites can be told to refuse (their cap is
too small) or to get lost (their file never arrives). The truth is known, so that the joint graph
can be held against it, beside what each site finds alone and what all rows in one place would say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privet.api.checks import check_budget_options
from privet.api.combine import combine
from privet.api.discover import discover
from privet.api.rehearse_together import Terms, play_together
from privet.arrays import OnStep, say_nothing
from privet.errors import BudgetError, DataError, OutputError, StudyError
from privet.graph.formats.files import to_json
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.methods.method import USUAL_DELTA
from privet.networks.network import load
from privet.networks.sites import Model, Site, columns_of, sites_of
from privet.results.discovery import Discovery
from privet.schema.column import did_you_mean
from privet.trust.session import opened

FEWEST = 2  # sites that must arrive, so that there is something to put together


@dataclass(frozen=True, kw_only=True)
class Score:
    """How close a graph is to the truth; ``why`` there is none."""

    name: str
    skeleton_f1: float | None = None
    directed_f1: float | None = None
    shd: int | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What came of it: the joint result, and the scores of all graphs, the joint one first."""

    joint: Discovery
    scores: tuple[Score, ...]
    folder: Path


def rehearse(
    model: str | Model,
    *,
    rows: int,
    epsilon: float,
    output: str | Path,
    sites: int = 5,
    differ: str = "none",
    delta: float | None = None,
    method: str = "auto",
    refuse: Sequence[str] = (),
    lose: Sequence[str] = (),
    central: bool = False,
    together: bool = False,
    tolerate: int | None = None,
    seed: int = 0,
    on_step: OnStep | None = None,
    **options: Any,
) -> Rehearsal:
    """Play ``sites`` sites with ``rows`` rows each, and put together what arrives.

    Writes ``site-1/``... with a ledger and results of each, ``joint/``, the schema, the truth and
    ``comparison.json`` into the folder ``output``. ``differ``: see ``networks.sites``. ``central``
    also lets one run with the same budget have all rows, to compare with. ``together`` plays
    sites that add up under masks, of which ``tolerate`` may collude; a site that gets lost then
    answers the first question only.
    """
    known = load(model) if isinstance(model, str) else model
    made = sites_of(known, sites, differ=differ, seed=seed)
    _check(rows, made, refuse, lose)
    check_budget_options(epsilon, delta, True)
    asked = {"epsilon": epsilon, "delta": delta, "method": method, **options}
    terms = Terms(rows=rows, schema=known.schema(), truth=known.graph(), asked=asked)
    folder, tell = _folder(Path(output), terms), on_step or say_nothing
    alone: list[Score] = []
    if together:
        joint = play_together(
            made, terms, folder, refuse=refuse, lose=lose, tolerate=tolerate, on_step=tell
        )
    else:
        _check_tolerate(tolerate)
        for i, site in enumerate(made):
            tell(f"{site.name} measures", i / (len(made) + 1))
            alone.append(_play(site, terms, folder / site.name, site.name in refuse))
        tell("putting together", len(made) / (len(made) + 1))
        here = [s.name for s in alone if not s.why and s.name not in lose]
        joint = _put_together(terms, folder, here)
    scores = [_score("joint", terms.truth, joint.graph), *alone]
    if central:
        scores.insert(1, _central(made, terms))
    _write(folder / "comparison.json", _as_json(scores, lose))
    return Rehearsal(joint=joint, scores=tuple(scores), folder=folder)


def _put_together(terms: Terms, folder: Path, names: Sequence[str]) -> Discovery:
    search = {k: v for k, v in terms.asked.items() if k not in ("epsilon", "delta")}
    joint = combine(*(folder / name / "evidence.json" for name in names), **search)
    joint.save(folder / "joint")
    return joint


def _play(site: Site, terms: Terms, folder: Path, refuses: bool) -> Score:
    """A site's own run. One that refuses has a cap of half of what it is asked for."""
    folder.mkdir()
    ledger, asked = folder / "ledger.sqlite", terms.asked
    if refuses:
        cap = USUAL_DELTA if asked["delta"] is None else asked["delta"]
        opened(ledger).create(terms.schema.name, epsilon=asked["epsilon"] / 2, delta=cap)
    data = columns_of(site.model, site.sample(terms.rows))
    try:
        found = discover(data, terms.schema, ledger=ledger, reuse=False, site=site.name, **asked)
    except BudgetError as error:
        if not refuses:
            raise
        return Score(name=site.name, why=f"refused: {error}")
    found.save(folder, force=True)
    return _score(site.name, terms.truth, found.graph)


def _central(sites: Sequence[Site], terms: Terms) -> Score:
    """One run on the rows of all sites, which nobody may hold in earnest."""
    samples = [site.sample(terms.rows) for site in sites]
    rows = {name: np.concatenate([one[name] for one in samples]) for name in samples[0]}
    data = columns_of(sites[0].model, rows)
    found = discover(data, terms.schema, ledger=":memory:", **terms.asked)
    return _score("all rows in one place", terms.truth, found.graph)


def _score(name: str, truth: Graph, found: Graph) -> Score:
    made = compare(truth, found)
    return Score(
        name=name, skeleton_f1=made.skeleton_f1, directed_f1=made.directed_f1, shd=made.shd
    )


def _check(rows: int, sites: Sequence[Site], refuse: Sequence[str], lose: Sequence[str]) -> None:
    names = [site.name for site in sites]
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise DataError(f"rows = {rows!r}; give a whole number of at least 1")
    for what, chosen in (("refuse", refuse), ("lose", lose)):
        for name in chosen:
            if name not in names:
                raise DataError(
                    f"{what} = {name!r}, but there is no such site{did_you_mean(name, names)}; "
                    f"there are {names[0]} to {names[-1]}"
                )
    left = len(set(names) - set(refuse) - set(lose))
    if left < FEWEST:
        raise DataError(
            f"{left} of {len(names)} sites would arrive, but at least {FEWEST} can be put "
            "together; let fewer refuse or get lost"
        )


def _check_tolerate(tolerate: int | None) -> None:
    if tolerate is not None:
        raise StudyError(
            f"tolerate = {tolerate}, but sites that measure apart need trust nobody; play them "
            "together, or leave it away"
        )


def _folder(folder: Path, terms: Terms) -> Path:
    """A fresh folder: ledgers of an older rehearsal would remember what it spent."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(
                f"{str(folder)!r} exists and is not an empty folder; choose another name"
            )
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot write to {str(folder)!r} ({error.strerror}); choose another place"
        ) from None
    _write(folder / "schema.toml", terms.schema.to_toml())
    _write(folder / "truth.json", to_json(terms.truth))
    return folder


def _as_json(scores: Sequence[Score], lost: Sequence[str]) -> str:
    import json

    return json.dumps([{**asdict(one), "lost": one.name in lost} for one in scores], indent=2)


def _write(path: Path, text: str) -> None:
    path.write_text(text + "\n" * (not text.endswith("\n")), encoding="utf-8")
