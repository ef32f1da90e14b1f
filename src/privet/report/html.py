"""One page that needs nothing else: picture, edges, promise, and what could have been seen.

It loads nothing and runs nothing (its own security policy forbids both), so it can be mailed,
archived and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from privet.errors import PrivetError
from privet.evidence.file import Saved
from privet.graph.graph import Edge, Graph

if TYPE_CHECKING:
    from privet.discovery import Discovery

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root{color-scheme:light dark;--ink:#1b2a38;--soft:#5c6f80;--line:#d5dee6;--back:#fbfcfd;
--card:#fff;--good:#1f7a4d;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#dce6ee;--soft:#93a5b5;--line:#33424f;
--back:#141b21;--card:#1b242c;--good:#5cc490;--bad:#ff8a80}}
body{font:16px/1.55 system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;color:var(--ink);
background:var(--back);max-width:62rem;margin:0 auto;padding:2rem 1.2rem}
h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:0 0 .6rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:1.1rem 1.3rem;margin:1.1rem 0;overflow-x:auto}
table{border-collapse:collapse;width:100%}
th{font-weight:600;color:var(--soft);text-align:left;font-size:.85rem}
th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}.number{font-variant-numeric:tabular-nums;white-space:nowrap}
.mark{font-family:ui-monospace,Menlo,Consolas,monospace;white-space:nowrap}
.badge{display:inline-block;padding:.1rem .7rem;border-radius:1rem;border:1px solid;
font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}.soft{color:var(--soft)}
.bar{display:inline-block;width:6rem;height:.55rem;border-radius:.3rem;background:var(--line);
margin-right:.5rem}.bar i{display:block;height:100%;border-radius:.3rem;background:var(--good)}
.promise{font-size:1.08rem}section>svg{max-width:100%;height:auto}
"""
READING = {
    "-->": "the first causes the second",
    "---": "one causes the other, and these data cannot tell which",
    "<->": "neither causes the other; something unseen causes both",
    "o->": "the second does not cause the first",
    "o-o": "joined, and the data do not tell how",
    "o--": "joined, and the second may cause the first",
}


def report(found: Discovery) -> str:
    """The page as HTML text."""
    name = found.certificate["schema"]
    parts = [
        f"<h1>Causal graph of {_safe(name)}</h1>{_badge(found.certificate)}",
        _section("The graph", str(found.plot()) + _reading(found.graph)),
        _section("How sure each edge is", _edges(found.graph) + _notes(found.notes)),
        _agreement(found),
        _section("What is promised", _promise(found.certificate)),
        _plan(found.evidence, found.certificate),
        _section("How it was made", _made(found)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_safe(name)} - Privet</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _safe(value: object) -> str:
    """Text for HTML, without characters that it does not allow."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in str(value)))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>\n{body}</section>"


def _table(headings: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>\n" for line in lines)
    return f"<table><tr>{head}</tr>\n{body}</table>"


def _badge(certificate: Mapping[str, Any]) -> str:
    if not certificate["private"]:
        return '<span class="badge bad">NOT PRIVATE</span>'
    return (
        f'<span class="badge good">differentially private: epsilon {certificate["epsilon"]:g}, '
        f"delta {certificate['delta']:g}</span>"
    )


def _reading(graph: Graph) -> str:
    marks = [mark for mark in READING if any(edge.mark == mark for edge in graph.edges)]
    lines = "; ".join(f'<span class="mark">{_safe(m)}</span> {READING[m]}' for m in marks)
    missing = (
        "columns that matter may be missing, but"
        if graph.kind == "pag"
        else "no column that matters is missing, and"
    )
    return (
        f'<p class="soft">{lines}. Causes are claimed under the usual assumptions of such a '
        f"search: {missing} no effects cancel each other out.</p>"
        if marks
        else '<p class="soft">No edge stands out of the noise. That is no proof of independence: '
        "see what could have been seen.</p>"
    )


def _edges(graph: Graph) -> str:
    if not graph.edges:
        return "<p>There are no edges.</p>"
    edges = sorted(graph.edges, key=lambda edge: -(edge.confidence or 0.0))
    return _table(("edge", "confidence", "confidence of its mark"), map(_edge, edges)) + (
        '<p class="soft">Confidence is the share of redrawn evidence in which the edge (or its '
        "arrow) is found again. An arrow below one half is drawn dashed: the two columns are "
        "joined, but which causes which is a guess.</p>"
    )


def _agreement(found: Discovery) -> str:
    """A line for each pair that some method joins, if there is more than one method."""
    if not found.others:
        return ""
    methods = [found.method, *(other.method for other in found.others)]
    lines = (
        (
            f"{_safe(line.a)}, {_safe(line.b)}",
            *(f'<span class="mark">{_safe(mark)}</span>' for mark in line.marks),
            f'<span class="number">{line.joined} of {len(methods)}</span>',
        )
        for line in found.agreement()
    )
    return _section(
        "Where the methods agree",
        _table(("pair", *map(_safe, methods), "joined by"), lines)
        + '<p class="soft">All methods searched the same evidence. Marks are read from the first '
        "column to the second. The picture is that of the first method.</p>",
    )


def _edge(edge: Edge) -> tuple[str, str, str]:
    mark = f'<span class="mark">{_safe(edge.mark)}</span>'
    return (
        f"{_safe(edge.source)} {mark} {_safe(edge.target)}",
        _bar(edge.confidence),
        _bar(edge.arrow_confidence),
    )


def _bar(value: float | None) -> str:
    if value is None:
        return '<span class="soft">-</span>'
    return (
        f'<span class="number"><span class="bar"><i style="width:{100 * value:.0f}%"></i></span>'
        f"{value:.2f}</span>"
    )


def _notes(notes: tuple[str, ...]) -> str:
    return "".join(f"<p>{_safe(note)}</p>" for note in notes)


def _promise(certificate: Any) -> str:
    first, *more = certificate.lines()
    body = f'<p class="promise">{_safe(first)}</p>' + "".join(f"<p>{_safe(m)}</p>" for m in more)
    if certificate["assumptions"]:
        items = "".join(f"<li>{_safe(assumed)}</li>" for assumed in certificate["assumptions"])
        body += f"<p>It holds if:</p><ul>{items}</ul>"
    questions = (
        (
            _safe(q["what"]),
            f'<span class="number">{_amount(q["cost"])} {_safe(q["currency"] or "")}</span>',
            _safe(q["mechanism"]),
            f'<span class="number">{_amount(q["noise_sd"])}</span>',
        )
        for q in certificate["queries"]
    )
    headings = ("asked of the data", "price", "noise", "standard deviation, in released units")
    return body + _table(headings, questions)


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _plan(saved: Saved, certificate: Mapping[str, Any]) -> str:
    """What this budget could have shown, for about as many rows as the evidence says."""
    rows = about_rows(saved)
    if not certificate["private"] or rows is None:
        return ""
    from privet.evidence.plan import plan

    try:
        made = plan(saved.schema, rows, certificate["epsilon"], certificate["delta"])
    except PrivetError:
        return ""
    lines = (
        (
            "nothing" if line.order == 0 else f"{line.order} column(s)",
            _safe(line.what),
            *map(_effect, (line.typical, line.best, line.worst)),
        )
        for line in made.lines
    )
    return _section(
        "What could have been seen",
        f"<p>With about {rows:,} rows and this budget, these effects are found in 8 of 10 runs. "
        "Weaker ones may exist without showing here.</p>"
        + _table(("given", "effect", "typical pair", "best pair", "worst pair"), lines),
    )


def _effect(value: float) -> str:
    return f'<span class="number">{f"{value:.3f}" if value < 1 else "none"}</span>'


def about_rows(saved: Saved) -> int | None:
    """The public number of rows, or about the number that was released, to two digits."""
    if saved.schema.rows is not None:
        return saved.schema.rows
    for release in saved.releases:
        kind, query = type(release.query).__name__, release.query
        if kind == "Components" and query.sets == ((),):
            return _rounded(float(release.values[0]))
        if kind == "Locations":
            return _rounded(float(release.values.sum()) / len(query.columns))
    return None


def _rounded(value: float) -> int:
    return max(1, int(float(f"{value:.2g}")))


def _made(found: Discovery) -> str:
    options = ", ".join(f"{key} {value}" for key, value in found.certificate["options"].items())
    return (
        f"<p>Method {_safe(found.method)} ({_safe(options)}) by Privet. The evidence behind this "
        "graph is in evidence.json: searching it again, with other options or other background "
        "knowledge, costs no privacy.</p>"
        '<p class="mark">privet discover --evidence evidence.json '
        f"--method {_safe(found.method)} --alpha 0.05 --output again</p>"
    )
