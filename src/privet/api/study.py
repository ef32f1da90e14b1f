"""The front doors of a study whose sites add up what they count, so that the sum alone is seen.

By files, without a server: each site makes keys, the coordinator makes a lock, the sites compare
its code and join; then each measures, and whoever has all answers combines them. Where a method
looks at the first sums before it asks again, there is a second round, for which ``combine_study``
writes the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.api.checks import check_budget_options, check_data, read_schema
from privet.api.discover import search
from privet.api.methods import choose
from privet.arrays import OnStep
from privet.errors import MethodError, SchemaError, StudyError
from privet.graph.graph import Graph
from privet.methods import catalogue
from privet.methods.method import USUAL_DELTA
from privet.methods.options import Settings, make_settings
from privet.privacy.together.lock import SITE_COLUMN, Lock
from privet.privacy.together.wire import Answer, Ask, Place
from privet.results import together as sums
from privet.results.discovery import Discovery
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust import study
from privet.trust.session import LedgerLike
from privet.trust.together import Post, Together, Waiting, first_place, next_place

KINDS = ("tables", "moments")


def lock_study(
    sites: Sequence[str | Path],
    schema: Schema | str | Path,
    output: str | Path,
    *,
    epsilon: float,
    delta: float | None = None,
    method: str = "auto",
    name: str | None = None,
    tolerate: int | None = None,
    fewest: int | None = None,
    compare_sites: bool = False,
) -> Lock:
    """The lock of a study, made by its coordinator from the public keys of all sites.

    ``tolerate`` sites may collude with the coordinator without breaking the promise (a third of
    them, unless said otherwise). With ``compare_sites`` the sums also say how sites differ, which
    publishes noisy margins of each. The folder ``output`` gets study.lock, for all sites, and the
    coordinator's keys, which stay there.
    """
    known = read_schema(schema)
    check_budget_options(epsilon, delta, True)
    delta = USUAL_DELTA if delta is None else delta
    public = [study.read_public(Path(path)) for path in sites]
    if compare_sites:
        known = _with_sites(known, sorted(keys.name for keys in public))
    chosen = choose(method, known, delta, True)
    if chosen.evidence not in KINDS or not chosen.private:
        raise MethodError(
            f"{chosen.name} measures {chosen.evidence}, but sites add up tables or moments; use "
            "interaction-pc, moment-pc or another method on these"
        )
    chosen.serve(known, delta, Settings())
    return study.new_study(
        known.name if name is None else name,
        known,
        public,
        Path(output),
        method=chosen.name,
        epsilon=epsilon,
        delta=delta,
        tolerated=tolerate,
        fewest=fewest,
        compare_sites=compare_sites,
    )


def _with_sites(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema with a column for the site, which nothing else may cause."""
    if SITE_COLUMN in schema.names:
        raise SchemaError(
            f"the schema has a column {SITE_COLUMN!r} already, but comparing sites adds one of "
            "that name; rename it"
        )
    column = Column(name=SITE_COLUMN, kind="categorical", levels=tuple(names))
    arrows = {(other, SITE_COLUMN) for other in schema.names}
    known = schema.knowledge
    return replace(
        schema,
        columns=(*schema.columns, column),
        knowledge=replace(known, forbidden=known.forbidden | arrows),
    )


def join_study(lock: str | Path, keys: str | Path, code: str) -> Lock:
    """A site joins, after its people have compared the code with those of the other sites."""
    locked = study.read_lock(Path(lock))
    wanted = sums.code(locked)
    if code.lower().split() != wanted.split():
        raise StudyError(
            f"the code {code!r} is not that of this lock: it was mistyped, or the lock is not the "
            "one that the other sites have. Do not join before all have the same code"
        )
    study.join(Path(keys), locked)
    return locked


def measure_share(
    data: object,
    lock: str | Path,
    keys: str | Path,
    *,
    request: str | Path | None = None,
    ledger: LedgerLike = None,
) -> bytes:
    """A site's masked answer: to the first question of a study, which follows from its lock, or to
    a ``request`` of the coordinator. The same question gets the same bytes again, for nothing."""
    check_data(data)
    locked = study.read_lock(Path(lock))
    site = study.site_of(Path(keys), locked, data, ledger)
    site.check()
    if request is None:
        return site.ask(first_question(locked))
    try:
        text = Path(request).read_bytes()
    except OSError as error:
        raise StudyError(
            f"cannot read the request {str(request)!r} ({error.strerror}); check the path"
        ) from None
    return site.ask(study.read_request(text, locked))


def close_study(lock: str | Path, keys: str | Path, *, ledger: LedgerLike = None) -> None:
    """A site gives back what a study has not spent, and destroys its keys."""
    study.site_of(Path(keys), study.read_lock(Path(lock)), None, ledger).close()


def first_question(lock: Lock) -> Ask:
    """What the lock's method asks first: a function of the lock alone."""

    def nobody(ask: Ask) -> Sequence[Answer]:
        raise Waiting(ask, ask.place.roster)

    try:
        catalogue.get(lock.method).measure(
            Together(lock, nobody, place=first_place(lock)), Settings()
        )
    except Waiting as waiting:
        return waiting.ask
    raise MethodError(f"{lock.method} asks nothing of the sites; use another method")


def combine_study(
    answers: Sequence[str | Path],
    lock: str | Path,
    *,
    method: str | Sequence[str] = "auto",
    on_step: OnStep | None = None,
    **options: Any,
) -> Discovery:
    """The graph of a study, from the answers of all its sites to all its questions."""
    settings = make_settings(on_step=on_step, **options)
    arrived = _Arrived.read(answers, lock)
    try:
        return run_study(
            arrived.lock, arrived.post, settings, place=arrived.place(()), method=method
        )
    except Waiting as waiting:
        raise StudyError(
            f"{waiting}. If that question was not asked yet, make the request for it with "
            "`privet federate ask`; else wait for the answers, or ask without these sites"
        ) from None


def ask_study(
    answers: Sequence[str | Path],
    lock: str | Path,
    keys: str | Path,
    *,
    without: Sequence[str] = (),
) -> tuple[bytes, tuple[str, ...]]:
    """The next question of a study, signed with the coordinator's ``keys``, and who has not
    answered it. ``without`` gives up on sites: the measurement begins anew, with what is left of
    the budget."""
    arrived = _Arrived.read(answers, lock)
    curator = Together(arrived.lock, arrived.post, place=arrived.place(without))
    try:
        catalogue.get(arrived.lock.method).measure(curator, Settings())
    except Waiting as waiting:
        return study.request(Path(keys), arrived.lock, "ask", waiting.ask), waiting.missing
    raise StudyError(
        "all questions of this study are answered; put the answers together with `privet combine "
        "--study`"
    )


@dataclass(frozen=True, kw_only=True)
class _Arrived:
    """The answers that have come by files."""

    lock: Lock
    answers: tuple[Answer, ...]

    @staticmethod
    def read(paths: Sequence[str | Path], lock: str | Path) -> _Arrived:
        locked = study.read_lock(Path(lock))
        return _Arrived(
            lock=locked,
            answers=tuple(study.read_answer(_bytes(path), locked, str(path)) for path in paths),
        )

    def post(self, ask: Ask) -> Sequence[Answer]:
        digest = ask.digest(self.lock.study, self.lock.tolerated)
        mine = {answer.site: answer for answer in self.answers if answer.digest == digest}
        missing = [name for name in ask.place.roster if name not in mine]
        if missing:
            raise Waiting(ask, missing)
        return list(mine.values())

    def place(self, without: Sequence[str]) -> Place:
        """The attempt that the answers belong to, or the next one, with fewer sites."""
        places = [answer.place for answer in self.answers]
        last = max(places, key=lambda place: place.attempt, default=first_place(self.lock))
        if not without:
            return last
        if unknown := sorted(set(without) - set(last.roster)):
            raise StudyError(
                f"{unknown[0]!r} is not asked in attempt {last.attempt}; its sites are "
                f"{', '.join(last.roster)}"
            )
        prices = {(a.place.attempt, a.place.stage): a.price for a in self.answers}
        roster = tuple(name for name in last.roster if name not in without)
        return next_place(self.lock, last.attempt + 1, roster, sum(prices.values()))


def run_study(
    lock: Lock,
    post: Post,
    settings: Settings,
    *,
    place: Place | None = None,
    method: str | Sequence[str] = "auto",
) -> Discovery:
    """Measures, whoever brings the answers, and searches the sums."""
    curator = Together(lock, post, place=place or first_place(lock))
    releases = catalogue.get(lock.method).measure(curator, settings)
    found = search(sums.evidence(lock, releases, curator.answers), settings, method=method)
    return _noted(found) if lock.compare_sites else found


def _noted(found: Discovery) -> Discovery:
    """Says which columns differ between sites beyond what other columns explain."""
    differ = sorted(_joined_to_site(found.graph))
    if len(differ) < 2:
        return found
    note = (
        f"{', '.join(differ)} differ between sites beyond what other columns explain. Where two or "
        "more do, a sum can show edges that no site has: let the sites measure apart"
    )
    facts = dict(found.evidence.certificate)
    facts["warnings"] = [*facts["warnings"], note]
    certificate = type(found.certificate)(
        {**found.certificate.facts, "warnings": facts["warnings"]}
    )
    return replace(
        found, certificate=certificate, evidence=replace(found.evidence, certificate=facts)
    )


def _joined_to_site(graph: Graph) -> set[str]:
    ends = [{edge.source, edge.target} for edge in graph.edges]
    return {name for pair in ends if SITE_COLUMN in pair for name in pair - {SITE_COLUMN}}


def _bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StudyError(
            f"cannot read {str(path)!r} ({error.strerror}); give the files that "
            "`privet measure --study` wrote"
        ) from None
