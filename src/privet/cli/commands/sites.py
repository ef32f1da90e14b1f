"""``privet site``: one site's side of a study whose sites add up what they count."""

from __future__ import annotations

import argparse
import sys

from privet.cli.show import Subparsers, add_ledger, command, console, printable
from privet.errors import PrivetError


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "site", "take part in a study whose sites add up what they count")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    key = command(actions, "key", "make fresh keys and a policy for one study")
    key.add_argument("name", metavar="NAME", help="the site, such as hospital-a")
    key.add_argument(
        "--account",
        required=True,
        metavar="PEOPLE",
        help="the name of its people in its own ledger, whatever a study calls them",
    )
    key.add_argument("--output", required=True, metavar="DIR", help="a new folder, which stays")
    key.set_defaults(run=run_key)
    code = command(actions, "code", "show the code of a lock, to be read to the other sites")
    code.add_argument("lock", metavar="LOCK", help="the study.lock that the coordinator has sent")
    code.set_defaults(run=run_code)
    join = command(actions, "join", "join a study, once its code was compared with all other sites")
    join.add_argument("lock", metavar="LOCK", help="the study.lock that the coordinator has sent")
    add_keys(join)
    join.add_argument(
        "--code", required=True, metavar="WORDS", help="eight words, as the other sites read them"
    )
    join.set_defaults(run=run_join)
    start = command(actions, "start", "answer the coordinator until stopped, behind a local socket")
    start.add_argument("data", metavar="DATA", help="the site's rows: CSV or Parquet")
    start.add_argument("--study", required=True, metavar="LOCK", help="the study.lock")
    add_keys(start)
    add_ledger(start)
    start.add_argument(
        "--socket", required=True, metavar="PATH", help="where the postman hands messages in"
    )
    who = start.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--postman", metavar="USER", help="who may connect, and can read nothing of this site"
    )
    who.add_argument(
        "--same-user",
        action="store_true",
        help="the postman runs as this user: whoever commands it can read what this user can",
    )
    start.set_defaults(run=run_start)
    close = command(actions, "close", "end a study: give back what is left, destroy its keys")
    close.add_argument("lock", metavar="LOCK", help="its study.lock")
    add_keys(close)
    add_ledger(close)
    close.set_defaults(run=run_close)


def add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keys", required=True, metavar="DIR", help="the folder that `privet site key` wrote"
    )


def run_key(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.trust.study import new_site

    public = new_site(args.name, Path(args.output), args.account)
    out = console()
    out.print(f"Send to the coordinator: {printable(public)}", soft_wrap=True)
    out.print(
        f"Stays here: {printable(Path(args.output))} with secret.json and policy.toml, which says "
        "what this site allows; read it.",
        soft_wrap=True,
    )


def run_code(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.results.together import code
    from privet.trust.study import read_lock

    console().print(code(read_lock(Path(args.lock))))


def run_join(args: argparse.Namespace) -> None:
    from privet.api.study import join_study

    lock = join_study(args.lock, args.keys, args.code)
    out = console()
    out.print(
        f"Joined study {printable(lock.name)}: {len(lock.sites)} sites, {lock.method}, epsilon "
        f"{lock.epsilon:g}, delta {lock.delta:g}. It holds against {lock.tolerated} colluding "
        f"site(s); if all others colluded, the guarantee to your people would weaken to epsilon "
        f"{lock.alone_epsilon:.3g}.",
        soft_wrap=True,
    )


def run_start(args: argparse.Namespace) -> None:
    from privet.api.door import serve_site

    serve_site(
        args.data,
        args.study,
        args.keys,
        args.socket,
        ledger=args.ledger,
        postman=args.postman,
        on_ready=lambda: console().print(f"Listening at {printable(args.socket)}", soft_wrap=True),
        on_refusal=_tell,
    )


def _tell(error: Exception) -> None:
    """For this site's own people; texts of errors that are not Privet's might quote a cell."""
    why = error.in_shell if isinstance(error, PrivetError) else type(error).__name__
    print(f"privet: a request was not answered: {printable(why)}", file=sys.stderr, flush=True)


def run_close(args: argparse.Namespace) -> None:
    from privet.api.study import close_study

    close_study(args.lock, args.keys, ledger=args.ledger)
    console().print("Closed. The keys of this study are destroyed.")
