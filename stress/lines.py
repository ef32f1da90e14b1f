"""Command lines: what the parsers declare, with values that are right, odd or missing."""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator

from privet.cli.main import build_parser
from stress.mutate import WORDS

# These wait for others, download, or work for minutes by design.
LEFT_OUT = {"site start", "federate discover", "federate simulate", "datasets fetch", "bench"}
FILES = (
    *("data.csv", "numbers.csv", "schema.toml", "numbers.toml", "out", "out/evidence.json", "nil"),
    *("protocol.json", "reports.csv", "ledger.db", "graph.json", "graph.dot", "new", "new/er", "."),
    *("study/study.lock", "hospital-a", "hospital-c", "key", "key/public.json", "a.masked"),
    *("new.json", "new.csv", "new.parquet", "new.svg", "pair"),
    *("exact", "people", "rain", "age,pressure", "asia"),
)
NUMBERS = ("1", "0", "-1", "2", "0.5", "1e-6", "1e-300", "nan", "inf", "x", "", "3.5", "40", "1e5")


def commands() -> list[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command that has arguments of its own, with its parser."""
    return list(_leaves((), build_parser()))


def _leaves(
    path: tuple[str, ...], parser: argparse.ArgumentParser
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    if " ".join(path) in LEFT_OUT:
        return
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for name, below in action.choices.items():
            yield from _leaves((*path, name), below)
    if not inner:
        yield path, parser


def line(
    rng: random.Random, known: list[tuple[tuple[str, ...], argparse.ArgumentParser]]
) -> list[str]:
    path, parser = rng.choice(known)
    words = list(path)
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        wanted = 0.97 if action.required else 0.25
        if rng.random() < wanted:
            words += _spelled(rng, action)
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), rng.choice(WORDS))
    if rng.random() < 0.03:
        words.append(os.fsdecode(bytes(rng.choices(range(1, 256), k=5))))
    return [word for word in words if "\0" not in word]


def _spelled(rng: random.Random, action: argparse.Action) -> list[str]:
    option = rng.choice(action.option_strings) if action.option_strings else ""
    if action.nargs == 0:
        return [option]
    many = rng.choice((1, 2, 3)) if action.nargs in ("+", "*") else 1
    values = [_value(rng, action) for _ in range(many)]
    if option and rng.random() < 0.5:
        return [f"{option}={values[0]}"]
    return [option, *values] if option else values


def _value(rng: random.Random, action: argparse.Action) -> str:
    if action.choices and rng.random() < 0.9:
        return str(rng.choice(list(action.choices)))
    if action.type in (int, float) or action.dest in ("rows", "levels", "nodes"):
        return rng.choice(NUMBERS)
    return rng.choice(FILES) if rng.random() < 0.9 else rng.choice(WORDS)
