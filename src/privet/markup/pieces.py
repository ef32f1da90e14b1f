"""What pages and notebooks are made of."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import zip_longest

# Colours come from the notebook, so that it reads on a light and on a dark one.
NOTEBOOK = (
    ".privet table{border-collapse:collapse;margin:.4em 0}"
    ".privet th,.privet td{text-align:left;padding:.15em .9em .15em 0;vertical-align:top}"
    ".privet .mark{font-family:ui-monospace,Menlo,Consolas,monospace;white-space:nowrap}"
    ".privet .number{font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".privet .soft{opacity:.7}.privet .good{color:#1f9d61}.privet .bad{color:#d64541}"
    ".privet .bar{display:inline-block;width:5em;height:.5em;background:#8884;margin-right:.5em}"
    ".privet .bar i{display:block;height:100%;background:#1f9d61}"
    ".privet svg{max-width:100%;height:auto}"
)


BOTH = " / "  # between the confidence of an edge and that of its arrow


def safe(value: object) -> str:
    """Text for HTML, without characters that it does not allow."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in str(value)))


def section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>\n{body}</section>"


def table(
    headings: Iterable[str], lines: Iterable[Iterable[str]], facts: Iterable[str] = ()
) -> str:
    """A table of cells that are HTML already, and attributes of its rows."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    rows = zip_longest([f"{''.join(map(_cell, line))}</tr>" for line in lines], facts, fillvalue="")
    body = "\n".join(f"<tr{fact}>{row}" for row, fact in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def _cell(html: str) -> str:
    return html if html.startswith("<td") else f"<td>{html}</td>"


def cell(value: float | None, html: str) -> str:
    """A cell that sorts by this number."""
    return f'<td data-value="{"" if value is None else f"{value:.6f}"}">{html}</td>'


def paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{safe(text)}</p>" for text in texts)


def mark(arrow: str) -> str:
    """An arrow that is not broken at the end of a line."""
    return f'<span class="mark">{safe(arrow)}</span>'


def number(text: str) -> str:
    return f'<span class="number">{text}</span>'


def share(value: float) -> str:
    """In two digits; what is not quite 1 does not read as if it were.

    >>> share(0.999), share(1.0)
    ('0.99', '1.00')
    """
    return f"{value if value == 1 else min(value, 0.99):.2f}"


def bar(value: float | None) -> str:
    """A share from 0 to 1, as a length and as a number."""
    if value is None:
        return '<span class="soft">-</span>'
    length = f'<span class="bar"><i style="width:{100 * value:.0f}%"></i></span>'
    return number(length + share(value))


def notebook(*parts: str) -> str:
    """What a notebook shows in the place of text; it changes nothing else on the page."""
    body = "\n".join(part for part in parts if part)
    return f'<div class="privet"><style>{NOTEBOOK}</style>\n{body}</div>'
