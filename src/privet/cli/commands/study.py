"""``privet federate lock`` and ``ask``: the coordinator's side of a study whose sites add up."""

from __future__ import annotations

import argparse
from dataclasses import replace

from privet.cli.commands.combine import OPTIONS, show
from privet.cli.progress import progress
from privet.cli.results import add_option, add_output
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
    carried = command(actions, "postman", "write the file that carries messages over NVIDIA FLARE")
    carried.add_argument("--output", required=True, metavar="FILE", help="such as postman.py")
    carried.set_defaults(run=run_postman)
    _add_discover(actions)


def _add_discover(actions: Subparsers) -> None:
    found = command(actions, "discover", "run a whole study, with a postman; goes on if stopped")
    found.add_argument("study", metavar="LOCK", help="the study.lock")
    found.add_argument(
        "--keys", required=True, metavar="DIR", help="the folder that `federate lock` wrote"
    )
    found.add_argument(
        "--socket", required=True, metavar="PATH", help="where the postman of this side connects"
    )
    found.add_argument(
        "--wait", type=float, default=300.0, metavar="S", help="seconds for a postman (300)"
    )
    found.add_argument("--output", required=True, metavar="DIR", help="answers/ and joint/")
    search = found.add_argument_group("search")
    search.add_argument("--method", metavar="NAME", help="see `privet methods` (as the lock)")
    for option in OPTIONS:
        add_option(search, option)
    add_output(found)
    found.set_defaults(run=run_discover)


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
        f"coordinator; if all others did, the guarantee to a person at the last one would weaken "
        f"to epsilon {lock.alone_epsilon:.3g}.",
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


def run_postman(args: argparse.Namespace) -> None:
    from importlib.resources import files
    from pathlib import Path

    from privet.errors import OutputError

    try:
        text = (files("privet.postmen") / "flare.py").read_text("utf-8")
        Path(args.output).write_text(text, "utf-8")
    except OSError as error:
        raise OutputError(
            f"cannot write {args.output!r} ({error.strerror}); choose another place"
        ) from None
    console().print(f"{printable(args.output)} runs in FLARE's own environment, not here.")


def run_discover(args: argparse.Namespace) -> None:
    """What has been answered stays in the folder, so the same command goes on."""
    from pathlib import Path

    from privet.api.conduct import Conductor
    from privet.api.door import coordinator_socket
    from privet.methods.options import make_settings
    from privet.results.folder import Stage
    from privet.trust.study import read_lock

    home = Path(args.output)
    notes: list[str] = []
    stage = Stage(home / "joint", force=args.force, command="federate discover")
    asked = {option.name: getattr(args, option.name) for option in OPTIONS}
    with stage, progress(args) as on_step, coordinator_socket(Path(args.socket), args.wait) as send:
        made = Conductor(
            lock=read_lock(Path(args.study)),
            keys=Path(args.keys),
            kept=home / "answers",
            send=send,
            on_note=notes.append,
        )
        found = made.run(make_settings(on_step=on_step, **asked), args.method or "auto")
        found = replace(found, notes=(*found.notes, *notes))
        files = found.write(stage)
    show(found, files, args)
