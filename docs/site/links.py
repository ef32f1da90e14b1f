"""``python docs/site/links.py SITE``: all links lead somewhere, and nothing is loaded from afar."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, what it loads, and which places in it can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = {"", "__toc"}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if "src" in values or tag == "link":
            self.loads += [values[name] for name in ("src", "href") if name in values]
        elif "href" in values:
            self.links.append(values["href"])


def broken(site: Path) -> list[str]:
    """Each fault as a line: the page and the link."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    faults.append(f"{path}: loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if path.name == "404.html":  # its links are from the root of wherever the site is
                continue
            there = target.is_file() or (target / "index.html").is_file()
            if not there or (
                target in pages and unquote(parts.fragment) not in pages[target].places
            ):
                faults.append(f"{path}: {link}")
    return faults


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]))
    sys.exit("\n".join(found) if found else 0)
