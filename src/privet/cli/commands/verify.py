"""``privet verify`` and ``privet sign``: whose promise a folder of results is, and whether it is
whole."""

from __future__ import annotations

import argparse

from privet.cli.show import Subparsers, add_json, command, console, print_json, printable
from privet.errors import EvidenceError


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "verify", "check that results are whole, paid for and signed")
    parser.add_argument("folder", metavar="DIR", help="the folder that a run wrote")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger, which must have the charges")
    parser.add_argument("--key", metavar="FILE", help="public.json of whoever has promised")
    add_json(parser)
    parser.set_defaults(run=run)
    signing = command(parsers, "sign", "sign results, so that a reader can check who promised")
    actions = signing.add_subparsers(metavar="ACTION", required=True)
    key = command(actions, "key", "make a key; public.json is for your readers")
    key.add_argument("name", metavar="NAME", help="who you are, such as hospital-a")
    key.add_argument("--output", required=True, metavar="DIR", help="a new folder, which stays")
    key.set_defaults(run=run_key)
    results = command(actions, "results", "sign a folder that a run wrote")
    results.add_argument("folder", metavar="DIR", help="the folder that a run wrote")
    results.add_argument("--key", required=True, metavar="DIR", help="the folder of your key")
    results.set_defaults(run=run_sign)


def run(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from privet.api.verify import verify

    found = verify(args.folder, ledger=args.ledger, key=args.key)
    if args.json:
        print_json(asdict(found) | {"good": found.good})
    if not found.good:
        raise EvidenceError(
            f"{args.folder} cannot be verified: {'; '.join(found.faults)}. Do not rely on it as it "
            "is; ask whoever sent it for a fresh copy"
        )
    if not args.json:
        out = console()
        held = "" if found.unchecked else ", and are what the evidence gives"
        out.print(f"All files are as they were sealed{held}.", soft_wrap=True)
        for each in found.unchecked:
            out.print(printable(f"Not checked: {each}."), soft_wrap=True)
        if found.ledger:
            out.print("The ledger has the run and its charges.")
        out.print(printable(_signed(found.signer, found.key, found.known)), soft_wrap=True)


def _signed(signer: str | None, key: str | None, known: bool) -> str:
    if signer is None:
        return "Nobody has signed, so whoever changes a file can seal the folder again."
    if known:
        return f"Signed by {signer}, with the key that you gave."
    return (
        f"Signed as {signer!r} with key {key}. Whose key that is this command cannot know: give "
        f"the public.json that you had from them with --key."
    )


def run_key(args: argparse.Namespace) -> None:
    from privet.api.verify import new_key

    console().print(printable(f"For your readers: {new_key(args.name, args.output)}"))


def run_sign(args: argparse.Namespace) -> None:
    from privet.api.verify import sign

    sign(args.folder, args.key)
    console().print(printable(f"{args.folder} is signed."))
