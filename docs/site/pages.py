"""What the site is made of: the documents of this repository, each in one place only.

Documents outside ``docs`` (README, proofs, results of benchmarks) become pages too, links between
files become links between pages, and the page of the commands is written from their help.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


def uri(path: Path) -> str:
    """Where a file of the repository lies in the site."""
    if path == ROOT / "README.md":
        return "index.md"
    if path == ROOT / "proofs":
        return "proofs/index.md"
    return path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix()


def links(source: Path) -> set[Path]:
    """The files of this repository that a document names."""
    found = LINK.findall(source.read_text("utf-8"))
    return {Path(os.path.normpath(source.parent / link)) for link in found}


def outside() -> Iterator[Path]:
    """Files outside ``docs`` that documents lead to, over any number of links."""
    todo, seen = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "proofs").glob("*.md")], set()
    while todo:
        path = todo.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        if path.suffix == ".md":
            todo += links(path)
        if not path.is_relative_to(DOCS):
            yield path


def title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def proofs() -> list[Path]:
    return sorted((ROOT / "proofs").glob("*.md"))


def list_of_proofs() -> str:
    lines = [f"- [{title(path)}]({path.name})" for path in proofs()]
    return "# Proofs\n\nOne page for each mechanism and query.\n\n" + "\n".join(lines) + "\n"


def commands(parser: argparse.ArgumentParser | None = None, name: str = "privet") -> str:
    """The help of each command, and of those below it."""
    from privet.cli.main import build_parser

    if parser is None:
        parser = build_parser()
        head = "# Commands\n\nWhat `privet COMMAND --help` prints. Exit codes: 0 done, 2 refused, "
        head += "1 a bug in Privet, 130 and 143 stopped.\n"
    else:
        head = f"\n## {name}\n\n```text\n{parser.format_help()}```\n"
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    inner = [commands(p, f"{name} {n}") for a in below for n, p in a.choices.items()]
    return head + "".join(inner)


def on_config(config: Any) -> Any:
    os.environ["COLUMNS"] = "90"  # of the help of commands
    explanation = next(part["Explanation"] for part in config.nav if "Explanation" in part)
    pages = [{title(path): uri(path)} for path in proofs()]
    explanation.append({"Proofs": ["proofs/index.md", *pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    for path in outside():
        files.append(File.generated(config, uri(path), abs_src_path=str(path)))
    made = {"proofs/index.md": list_of_proofs(), "reference/commands.md": commands()}
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.abs_src_path is None:
        return markdown
    source = Path(page.file.abs_src_path)
    here = Path(page.file.src_uri).parent

    def in_site(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / link[1]))
        return os.path.relpath(uri(target), here) if target.exists() else link[1]

    return LINK.sub(in_site, markdown)
