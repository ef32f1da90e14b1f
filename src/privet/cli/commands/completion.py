"""``privet completion``: what the shell offers after the tab key."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from privet.cli.show import Subparsers, command

SHELLS = ("bash", "zsh", "fish")
HOW = {
    "bash": "source <(privet completion bash), in ~/.bashrc",
    "zsh": "privet completion zsh > a folder of $fpath/_privet",
    "fish": "privet completion fish > ~/.config/fish/completions/privet.fish",
}

# The words of a command, and what may follow: words, options.
Place = tuple[str, list[str], list[str]]


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "completion", "print what a shell needs to complete commands")
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.epilog = "; ".join(f"{shell}: {how}" for shell, how in HOW.items())
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.cli.main import build_parser

    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    sys.stdout.write("\n".join(write(list(_places(build_parser())))) + "\n")


def _places(parser: argparse.ArgumentParser, words: str = "privet") -> Iterator[Place]:
    below: dict[str, argparse.ArgumentParser] = {}
    options = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
        elif action.help != argparse.SUPPRESS:
            options += [option for option in action.option_strings if option.startswith("--")]
    yield words, list(below), options
    for name, sub in below.items():
        yield from _places(sub, f"{words} {name}")


def _bash(places: list[Place]) -> Iterator[str]:
    """The longest run of words that is a command decides; files stand in for all else."""
    yield "_privet() {"
    yield "  local at=privet word i"
    yield "  local -A after=("
    for words, below, options in places:
        yield f'    ["{words}"]="{" ".join([*below, *options])}"'
    yield "  )"
    yield "  for ((i = 1; i < COMP_CWORD; i++)); do"
    yield '    word="$at ${COMP_WORDS[i]}"'
    yield '    [[ -n "${after[$word]+there}" ]] && at="$word"'
    yield "  done"
    yield '  COMPREPLY=($(compgen -W "${after[$at]}" -- "${COMP_WORDS[COMP_CWORD]}"))'
    yield "}"
    yield "complete -o default -F _privet privet"


def _zsh(places: list[Place]) -> Iterator[str]:
    yield "#compdef privet"
    yield "local at=privet each i"
    yield "typeset -A after"
    yield "after=("
    for words, below, options in places:
        yield f"  '{words}' '{' '.join([*below, *options])}'"
    yield ")"
    yield "for ((i = 2; i < CURRENT; i++)); do"
    yield '  each="$at $words[i]"'
    yield '  (( ${+after[$each]} )) && at="$each"'
    yield "done"
    yield "compadd -- ${=after[$at]}"
    yield "_files"


def _fish(places: list[Place]) -> Iterator[str]:
    for words, below, options in places:
        seen = [f"__fish_seen_subcommand_from {word}" for word in words.split()[1:]]
        free = [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
        if below:
            there = "; and ".join(seen + free)
            yield f"complete -c privet -f -n '{there}' -a '{' '.join(below)}'"
        for option in options:
            there = "; and ".join(seen or free)
            yield f"complete -c privet -n '{there}' -l {option.removeprefix('--')}"
