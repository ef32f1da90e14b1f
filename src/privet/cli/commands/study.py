"""``privet federate lock`` and ``ask``: the coordinator's side of a study whose sites add up."""

from __future__ import annotations

import argparse

from privet.cli.show import Subparsers, command, console, printable


def add(actions: Subparsers) -> None:
    lock = command(actions, "lock", "make the lock of a study from the keys of its sites")
    lock.add_argument("keys", metavar="PUBLIC", nargs="+", help="the public.json of each site")
    lock.add_argument("--schema", required=True, metavar="FILE", help="the same for all sites")
    lock.add_argument("--epsilon", type=float, required=True, metavar="E", help="of each site")
    lock.add_argument("--delta", type=float, metavar="D", help="above 0 (default 1e-6)")
    lock.add_argument("--method", default="auto", metavar="NAME", help="see `privet methods`")
    lock.add_argument("--name", metavar="NAME", help="of the study (default: the schema's)")
    lock.add_argument(
        "--tolerate", type=int, metavar="T", help="sites that may collude (default: a third)"
    )
    lock.add_argument("--fewest", type=int, metavar="N", help="sites that must answer")
    lock.add_argument(
        "--compare-sites",
        action="store_true",
        help="also measure how sites differ; this publishes noisy margins of each site",
    )
    lock.add_argument("--output", required=True, metavar="DIR", help="a new folder")
    lock.set_defaults(run=run_lock)
    ask = command(actions, "ask", "make the request for the next question of a study")
    ask.add_argument("answers", metavar="ANSWER", nargs="*", help="all answers that have come")
    ask.add_argument("--study", required=True, metavar="LOCK", help="its study.lock")
    ask.add_argument(
        "--keys", required=True, metavar="DIR", help="the folder that `federate lock` wrote"
    )
    ask.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="SITE",
        help="give up on a site, and begin anew with what is left of the budget",
    )
    ask.add_argument("--output", required=True, metavar="FILE", help="to send to the sites")
    ask.set_defaults(run=run_ask)


def run_lock(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.api.study import lock_study
    from privet.results.together import code

    lock = lock_study(
        args.keys,
        args.schema,
        args.output,
        epsilon=args.epsilon,
        delta=args.delta,
        method=args.method,
        name=args.name,
        tolerate=args.tolerate,
        fewest=args.fewest,
        compare_sites=args.compare_sites,
    )
    out = console()
    out.print(f"Send to all sites: {printable(Path(args.output) / 'study.lock')}", soft_wrap=True)
    out.print(f"Its code, which they read to each other: {code(lock)}", soft_wrap=True)
    out.print(
        f"It holds against {lock.tolerated} of {len(lock.sites)} sites that collude with the "
        f"coordinator; if all others did, epsilon {lock.alone_epsilon:.3g} would be left.",
        soft_wrap=True,
    )
    if len(lock.sites) < 5:
        out.print(
            f"With {len(lock.sites)} sites little is gained by adding up; let them measure apart, "
            "unless even their noisy totals are secret.",
            soft_wrap=True,
        )


def run_ask(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.api.study import ask_study
    from privet.errors import OutputError

    request, missing = ask_study(args.answers, args.study, args.keys, without=args.without)
    try:
        Path(args.output).write_bytes(request)
    except OSError as error:
        raise OutputError(
            f"cannot write {args.output!r} ({error.strerror}); choose another place"
        ) from None
    console().print(
        f"Send {printable(args.output)} to {', '.join(missing)}; each answers with `privet measure "
        "--request`.",
        soft_wrap=True,
    )
