"""A rehearsal of a study whose sites add up, in one process: real keys, ledgers, noise and masks.

Only the messages are handed over instead of sent. A site that is to refuse has too small a cap; one
that is to get lost answers the first question and is never heard of again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.api.conduct import Conductor
from privet.api.study import join_study, lock_study
from privet.arrays import OnStep
from privet.errors import PrivetError
from privet.graph.graph import Graph
from privet.methods.method import USUAL_DELTA
from privet.methods.options import make_settings
from privet.networks.sites import Site, columns_of
from privet.privacy.together.lock import Lock
from privet.results.discovery import Discovery
from privet.results.together import code
from privet.schema.model import Schema
from privet.trust import study
from privet.trust.session import opened


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What every site runs."""

    rows: int
    schema: Schema
    truth: Graph
    asked: dict[str, Any]


def play_together(
    sites: Sequence[Site],
    terms: Terms,
    folder: Path,
    *,
    refuse: Sequence[str],
    lose: Sequence[str],
    tolerate: int | None,
    on_step: OnStep,
) -> Discovery:
    """The result of the study, in ``joint/``; each site has keys and a ledger of its own."""
    asked = dict(terms.asked)
    epsilon, delta, method = asked.pop("epsilon"), asked.pop("delta"), asked.pop("method")
    delta = USUAL_DELTA if delta is None else delta
    try:
        lock = _locked(sites, terms, folder, epsilon, delta, method, refuse, tolerate)
    except PrivetError:  # of a study that cannot be, nothing is left
        shutil.rmtree(folder, ignore_errors=True)
        raise
    send = _Post(sites, lock, terms, folder, lose)
    notes: list[str] = []
    conductor = Conductor(
        lock=lock,
        keys=folder / "study",
        kept=folder / "answers",
        send=send,
        on_note=notes.append,
    )
    found = conductor.run(make_settings(on_step=on_step, **asked))
    found.save(folder / "joint")  # which says no more than its evidence does
    return replace(found, notes=(*found.notes, *notes, _traffic(conductor, lock)))


def _locked(
    sites: Sequence[Site],
    terms: Terms,
    folder: Path,
    epsilon: float,
    delta: float,
    method: str,
    refuse: Sequence[str],
    tolerate: int | None,
) -> Lock:
    """Keys, policies and caps of all sites, and the lock of their study."""
    for site in sites:
        home = folder / site.name
        study.new_site(site.name, home / "keys", site.name)
        allow(home / "keys" / "policy.toml")
        cap = epsilon / 2 if site.name in refuse else epsilon
        opened(home / "ledger.sqlite").create(site.name, epsilon=cap, delta=delta)
    return lock_study(
        [folder / site.name / "keys" / "public.json" for site in sites],
        terms.schema,
        folder / "study",
        epsilon=epsilon,
        delta=delta,
        method=method,
        tolerate=tolerate,
    )


def allow(policy: Path) -> None:
    """In a rehearsal nobody has anything to lose: the policy allows what the study asks."""
    text = policy.read_text("utf-8")
    text = text.replace("largest_epsilon = 1.0", "largest_epsilon = 1e12")
    text = text.replace("alone_epsilon = 5.0", "alone_epsilon = 1e15")
    policy.write_text(text.replace("tolerated = 1 ", "tolerated = 0 "), "utf-8")


ASKED = 3  # messages that a site hears before it gets lost: it opens, opens and answers once


class _Post:
    """Hands messages to the sites in this process."""

    def __init__(
        self, sites: Sequence[Site], lock: Lock, terms: Terms, folder: Path, lose: Sequence[str]
    ) -> None:
        self._lose, self._asked = set(lose), 0
        self._doors = {}
        for site in sites:
            keys = folder / site.name / "keys"
            join_study(folder / "study" / "study.lock", keys, code(lock))
            data = columns_of(site.model, site.sample(terms.rows))
            ledger = folder / site.name / "ledger.sqlite"
            self._doors[site.name] = study.site_of(keys, lock, data, ledger)

    def __call__(self, names: Sequence[str], request: bytes) -> Mapping[str, bytes]:
        self._asked += 1
        gone = self._lose if self._asked > ASKED else set()
        return {name: self._doors[name].answer(request) for name in names if name not in gone}


def _traffic(conductor: Conductor, lock: Lock) -> str:
    each = conductor.received / max(len(lock.sites), 1)
    return (
        f"{conductor.messages} messages were sent to {len(lock.sites)} sites, which have answered "
        f"with {each / 1000:.1f} kB each on average"
    )
