"""What released margins and pairs show to be wrong with columns: free, and for reading before the
graph is.

A level that is never seen, a column that never varies, numbers that pile up at a bound, columns
that say the same: each makes edges of no meaning, or none where there should be some. Everything
is said with the noise taken into account, and nothing is said where noise leaves it open.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from privet.arrays import Floats
from privet.evidence.copies import Guess, correlated, guesses
from privet.evidence.counts import Counts
from privet.evidence.cuts import as_cut
from privet.evidence.moments import MomentEvidence
from privet.evidence.plan import STRONG
from privet.evidence.tables import TableEvidence
from privet.evidence.whole_table import is_whole
from privet.graph.edge import DASHED
from privet.graph.graph import Graph
from privet.methods.copies import copies_of
from privet.methods.plan import few_rows, plan
from privet.methods.sources.source import by_site
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.moments import BINS, Locations, Moments
from privet.privacy.queries.tables import Components, Tables
from privet.results.saved import Saved, kind
from privet.schema.born import born_with
from privet.schema.column import Column
from privet.schema.cuts import equal_width
from privet.schema.model import Schema

VERSION = 1
SURELY = 3.0  # deviations of noise
UNSEEN, AT_MOST = 0.002, 0.05  # shares: what counts as nothing, and what noise may hide of it
RARELY = 0.25  # of the share that a level would have if all were equally common
MANY = 0.2  # of the rows: more cells that fit no level than one expects
PILE, STEEP = 0.2, 3.0  # share of the outermost bin, and its height over the next one's
MOST = 6  # arrows that are named
CHECK = "`privet schema check DATA --schema FILE` shows the owner of the rows which cells fit none"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One thing about a column, or about two; ``text`` says it, its likely cause and the fix."""

    kind: str
    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class _Margin:
    """Released counts of the levels (or bins) of a column, and the deviations of their noise."""

    column: Column
    labels: tuple[str, ...]
    counts: Floats
    noise: Floats

    @property
    def rows(self) -> float:
        return max(float(self.counts.sum()), 1.0)

    def nothing(self, count: float, noise: float, most: float = AT_MOST) -> bool:
        """Whether so many rows are hardly any, and surely less than this share."""
        few = count <= max(2 * noise, UNSEEN * self.rows)
        return few and max(count, 0.0) + SURELY * noise <= most * self.rows

    def said(self, count: float, noise: float) -> str:
        doubt = f", give or take {2 * noise:,.0f}" if noise else ""
        return f"{max(count, 0.0):,.0f} of {'about ' if noise else ''}{self.rows:,.0f} rows{doubt}"

    @property
    def stray(self) -> tuple[str, float] | None:
        """The level that counts cells which are no declared level, and its share of the rows."""
        if self.column.kind == "numeric" or self.column.missing == "drop":
            return None
        by_level = self.column.missing == "level"
        label = self.labels[-1] if by_level else str(self.column.missing_value)
        return label, float(self.counts[self.labels.index(label)]) / self.rows


def diagnose(saved: Saved) -> tuple[Diagnosis, ...]:
    """All that is worth saying, column by column and then of pairs."""
    schema = saved.schema
    found: list[Diagnosis] = [*_few_rows(saved)]
    for margin in _margins(saved):
        found += _of_margin(margin)
    held = {kind(one, schema) for one in saved.releases}
    if "tables" in held:
        found += _of_levels(saved)
        found += _of_pairs(schema, guesses(_tables(saved)), _known)
    elif any(isinstance(one.query, Moments) for one in saved.releases):
        sites = [MomentEvidence.from_releases(part) for part in by_site(saved.releases)]
        found += _of_pairs(schema, correlated(sites), _correlation)
    return tuple(found)


def against_sense(graph: Graph) -> tuple[Diagnosis, ...]:
    """Arrows into what people are born with: a reason to say what comes first."""
    born = born_with(graph.nodes)
    wrong = [
        edge
        for edge in graph.edges
        if edge.mark in ("-->", "o->") and edge.target in born and edge.source not in born
        if not edge.why or edge.shown == DASHED  # others ask by themselves
    ]
    if not wrong:
        return ()
    more = f" and {len(wrong) - MOST} more" if len(wrong) > MOST else ""
    arrows = ", ".join(map(str, wrong[:MOST])) + more
    later = [name for name in graph.nodes if name not in born]
    tiers = f"tiers = {json.dumps([list(born), later], ensure_ascii=False)}"
    return (
        Diagnosis(
            kind="sense",
            columns=tuple(dict.fromkeys(edge.target for edge in wrong)),
            text=f"By its name nothing causes the second column of: {arrows}. Data alone often "
            f"cannot tell directions. If these columns do come first, say so under [knowledge] in "
            f"the schema ({tiers}) and search this evidence again, which is free.",
        ),
    )


def to_json(found: Iterable[Diagnosis]) -> str:
    document = {"privet diagnostics": VERSION, "findings": [asdict(one) for one in found]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _tables(saved: Saved, plain: bool = False) -> list[TableEvidence]:
    """Of each site; ``plain`` leaves out whatever was measured on weighed rows."""
    schema, releases = as_cut(saved.schema, saved.releases)
    kept = [
        one
        for one in releases
        if not plain or isinstance(one.query, Components) or is_whole(one, schema)
    ]
    read = partial(TableEvidence.from_releases, schema, schema.names)
    return [read(part) for part in by_site(kept)]


def _margins(saved: Saved) -> Iterator[_Margin]:
    """Of each column once: the finest that was released."""
    told: set[str] = set()
    for release in saved.releases:
        if isinstance(release.query, Locations):
            noise = np.full(BINS, release.variance**0.5)
            for name, counts in zip(
                release.query.columns, release.values.reshape(-1, BINS).astype(float), strict=True
            ):
                yield _histogram(saved.schema.column(name), counts, noise)
        elif isinstance(release.query, Cut) and _tells_places(release.query):
            yield from _told(release.query, release, saved.schema)
            told |= {name for name, _ in release.query.cuts}
    sites = _tables(saved, plain=True)
    if all(1 in site.layers for site in sites):
        for i, column in enumerate(as_cut(saved.schema, saved.releases)[0].columns):
            known = all(site.measured(np.array([[i]])).all() for site in sites)
            if column.name in told or not known:
                continue
            law = Counts.of(sites, np.array([[i]], dtype=np.intp))
            each = [law.deviations(level[None])[0] for level in np.eye(column.cardinality)]
            counts, noise = law.tables[0], np.array(each)
            yield _Margin(column=column, labels=column.labels, counts=counts, noise=noise)


def _histogram(column: Column, counts: Floats, noise: Floats) -> _Margin:
    assert column.bounds is not None  # only numeric columns are located
    cuts = equal_width(*column.bounds, BINS, column.scale)
    fine = replace(column, cuts=cuts, missing="value", missing_value=None, shares=(), free=False)
    return _Margin(column=fine, labels=fine.labels, counts=counts, noise=noise)


def _tells_places(query: Cut) -> bool:
    """Whether each table is that of one number, in the order of its cuts."""
    inner, cut = query.query, tuple((name,) for name, _ in query.cuts)
    return isinstance(inner, Tables) and inner.sets == cut


def _told(query: Cut, release: Release, schema: Schema) -> Iterator[_Margin]:
    """The histograms that have told where numbers are cut."""
    fine, start = query.schema(schema), 0
    for name, _ in query.cuts:
        column = fine.column(name)
        counts = release.values[start : start + column.cardinality].astype(float)
        start += column.cardinality
        noise = np.full(column.cardinality, release.variance**0.5)
        yield _Margin(column=column, labels=column.labels, counts=counts, noise=noise)


def _few_rows(saved: Saved) -> Iterator[Diagnosis]:
    """A misspelt level empties the table where rows without one of the levels are left out."""
    drop = tuple(column.name for column in saved.schema.columns if column.missing == "drop")
    sites = _tables(saved, plain=True)
    rows = sum(float(site.rows) for site in sites)
    noise = _rows_noise(saved)
    if drop and all(1 in site.layers for site in sites) and rows <= max(SURELY * noise, 1.0):
        names = ", ".join(map(repr, drop))
        yield Diagnosis(
            kind="no rows",
            columns=drop,
            text=f"Hardly any row is counted ({max(rows, 0.0):,.0f}, give or take {2 * noise:,.0f})"
            f". Rows with a cell that is missing or no declared level in {names} are left out: is "
            f"a level spelt otherwise in the data? {CHECK}.",
        )


def _rows_noise(saved: Saved) -> float:
    """The deviation of the noise on the number of rows."""
    return float(sum(site.rows_variance for site in _tables(saved, plain=True)) ** 0.5)


def _of_margin(margin: _Margin) -> Iterator[Diagnosis]:
    most = int(margin.counts.argmax())
    others = np.arange(len(margin.counts)) != most
    rest = float(margin.counts[others].sum()), float(np.linalg.norm(margin.noise[others]))
    name = margin.column.name
    if margin.nothing(*rest):
        yield Diagnosis(
            kind="constant",
            columns=(name,),
            text=f"{name!r} is constant, or nearly: all but {margin.said(*rest)} have "
            f"{margin.labels[most]!r}. It can carry no edge.{_cause(margin, most)}",
        )
        return
    if margin.column.kind != "numeric":
        yield from _unseen(margin)
    else:
        yield from _piles(margin)


def _unseen(margin: _Margin) -> Iterator[Diagnosis]:
    declared = range(len(margin.column.levels))
    pairs = list(zip(margin.counts.tolist(), margin.noise.tolist(), strict=True))
    most = min(AT_MOST, RARELY / len(pairs))
    empty = [i for i in declared if margin.nothing(*pairs[i], most)]
    if not empty:
        return
    names = ", ".join(repr(margin.labels[i]) for i in empty)
    each = "never seen, or hardly" if len(empty) == 1 else "each never seen, or hardly"
    worst = max(empty, key=lambda i: margin.counts[i])
    cause = _cause(margin, None) or " If that is expected, merge levels: empty ones cost power."
    yield Diagnosis(
        kind="unseen level",
        columns=(margin.column.name,),
        text=f"{names} of {margin.column.name!r}: {each} ({margin.said(*pairs[worst])}).{cause}",
    )


def _cause(margin: _Margin, constant: int | None) -> str:
    """A level may be spelt otherwise in the rows: then its cells count where missing ones do."""
    if margin.column.kind == "numeric":
        return " Its bounds may be much too wide, or its cells may be no numbers."
    if margin.stray is None:
        return ""
    label, share = margin.stray
    if share < MANY or (constant is not None and margin.labels[constant] != label):
        return ""
    return (
        f" Cells that are no declared level count as {label!r}, which {share:.0%} of the rows have:"
        f" is a level spelt otherwise in the data (capitals, spaces)? {CHECK}."
    )


def _piles(margin: _Margin) -> Iterator[Diagnosis]:
    column = margin.column
    assert column.bounds is not None
    edges = np.array([column.bounds[0], *column.cuts, column.bounds[1]])
    widths, bins = np.diff(edges), len(edges) - 1  # without a level for missing cells
    counts, noise = margin.counts[:bins], margin.noise[:bins]
    if len(counts) < 3:
        return
    for end, next_one, bound in ((0, 1, column.bounds[0]), (-1, -2, column.bounds[1])):
        least = counts[end] - SURELY * noise[end]
        beside = max(counts[next_one] + SURELY * noise[next_one], 0.0)
        steep = least / widths[end] > STEEP * beside / widths[next_one]
        if least > PILE * margin.rows and steep:
            label = margin.labels[0 if end == 0 else len(counts) - 1]
            yield Diagnosis(
                kind="bound",
                columns=(column.name,),
                text=f"{counts[end] / margin.rows:.0%} of the rows have {column.name!r} in "
                f"{label}, at its bound {bound:g}. Numbers beyond a bound count as the bound: if "
                "the bounds are right, cut finer there, or make a level of its own of them.",
            )


def with_shares(saved: Saved) -> Schema:
    """The schema, with the margins that were released as its guess of them: what a plan of this
    very run is made from."""
    schema, _ = as_cut(saved.schema, saved.releases)
    known = {
        margin.column.name: tuple(np.maximum(margin.counts, margin.noise + 0.5).tolist())
        for margin in _margins(saved)
        if len(margin.counts) == schema.column(margin.column.name).cardinality
    }
    columns = (replace(c, shares=known.get(c.name, c.shares)) for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def seen_by(saved: Saved) -> tuple[Schema, int] | None:
    """Of one private table: the schema and the number of rows from which its plan is made."""
    rows = about_rows(saved)
    certificate = saved.certificate
    if not certificate["private"] or certificate.get("trust") != "central" or rows is None:
        return None
    return with_shares(saved), rows


def _of_levels(saved: Saved) -> Iterator[Diagnosis]:
    """Columns in whose pairs, as a rule, not even a strong effect shows; if that is so of most
    pairs, the rows are too few, and no column is to blame."""
    asked = seen_by(saved)
    if asked is None or len(saved.schema.columns) < 3:
        return
    schema, rows = asked
    budget = saved.certificate["epsilon"], saved.certificate["delta"]
    invisible = plan(schema, rows, *budget).invisible
    noise = 0.0 if schema.rows is not None else _rows_noise(saved)
    doubt = f" (give or take {rounded(2 * noise):,})" if noise else ""
    few = few_rows(schema, invisible, f"{rows:,}{doubt}", budget[0])
    if few:
        text = f"{few[0][0].upper()}{few[0][1:]}."
        yield Diagnosis(kind="few rows", columns=schema.names, text=text)
        return
    hidden = [name for pair in invisible for name in pair]
    for column in schema.columns:
        if hidden.count(column.name) > len(schema.columns) / 2 and column.cardinality > 2:
            yield Diagnosis(
                kind="levels",
                columns=(column.name,),
                text=f"{column.name!r} has {column.cardinality} levels, too many (or too rare) for "
                f"this budget: with most other columns not even a strong effect ({STRONG:g}) would "
                "show. Merge levels, use fewer bins, or spend more.",
            )


def about_rows(saved: Saved) -> int | None:
    """The public number of rows, or about the number that was released, to two digits."""
    if saved.schema.rows is not None:
        return saved.schema.rows
    for release in as_cut(saved.schema, saved.releases)[1]:
        query = release.query
        if isinstance(query, Components) and query.sets == ((),):
            return rounded(float(release.values[0]))
        if is_whole(release, saved.schema):
            return rounded(float(release.values.sum()))
        if isinstance(query, Locations):
            return rounded(float(release.values.sum()) / len(query.columns))
    return None


def rounded(value: float) -> int:
    return max(1, int(float(f"{value:.2g}")))


def _of_pairs(
    schema: Schema, guessed: Iterable[Guess], said: Callable[[Guess], str]
) -> Iterator[Diagnosis]:
    found = {(one.given, one.column): one for one in guessed}
    same = copies_of(schema, found.values())
    for copy, kept in same.items():
        worse = min((found[kept, copy], found[copy, kept]), key=lambda one: one.least)
        yield Diagnosis(
            kind="copy",
            columns=(copy, kept),
            text=f"{copy!r} says the same as {kept!r}: {said(worse)}. One of the two is enough.",
        )
    for (given, column), one in found.items():
        if given not in same and column not in same and (column, given) not in found:
            yield Diagnosis(
                kind="determined",
                columns=(column, given),
                text=f"{column!r} is known once {given!r} is: {said(one)}. So no search sees what "
                f"else it has to do with; leave it out, or take it for a part of {given!r}.",
            )


def _correlation(one: Guess) -> str:
    return f"their correlation is {one.share:.3f}, but for its sign"


def _known(one: Guess) -> str:
    noise = "" if one.least > one.share - 0.005 else f", at least {one.least:.0%} if noise helped"
    return (
        f"of the rows that its commonest level misses, {one.share:.0%} are guessed right from the "
        f"other column{noise}"
    )
