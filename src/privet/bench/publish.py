"""The pages of a benchmark, beside its runs: Markdown and pictures for other programs, and one page
of HTML for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from privet.bench import results
from privet.markup.pieces import safe, section, table
from privet.results.report.page import page

PAGE = "index.html"


def publish(place: Path, pages: Mapping[str, str]) -> tuple[Path, ...]:
    """Write those that hold something."""
    shown = {name: text for name, text in pages.items() if text}
    shown[PAGE] = _page(place.name, shown)
    for name, text in shown.items():
        (place / name).write_text(text, encoding="utf-8", newline="\n")
    return (place / results.RUNS, *(place / name for name in shown))


def _page(title: str, pages: Mapping[str, str]) -> str:
    pictures = [text for name, text in pages.items() if name.endswith(".svg")]
    texts = [text for name, text in pages.items() if name.endswith(".md")]
    heading = f"<h1>Benchmark {safe(title)}</h1>"
    drawn = [section("Pictures", picture) for picture in pictures]
    return page(
        f"Benchmark {title}", [heading, *drawn, *(part for t in texts for part in _html(t))]
    )


def _html(text: str) -> Iterator[str]:
    """Sections of Markdown as the benchmarks write it: headings, tables and paragraphs."""
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        yield section(_words(heading), "".join(_blocks(body)))


def _blocks(body: str) -> Iterator[str]:
    for is_table, lines in groupby(body.splitlines(), key=lambda line: line.startswith("|")):
        block = [line for line in lines if line.strip()]
        if is_table and len(block) > 1:
            cells = [[_words(cell) for cell in line.strip("| ").split("|")] for line in block]
            yield table(cells[0], cells[2:])
        elif block:
            yield f"<p>{_words(' '.join(block))}</p>"


def _words(text: str) -> str:
    """Safe, with what was emphasised or is code."""
    made = re.sub(r"`([^`]*)`", r'<span class="mark">\1</span>', safe(text.strip()))
    made = re.sub(r"\*\*([^*]*)\*\*", r"<strong>\1</strong>", made)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", made)
