"""``privet discover``: a private causal graph of a table."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.show import (
    Subparsers,
    add_json,
    add_ledger,
    command,
    console,
    number,
    print_json,
    print_promise,
    print_warnings,
    printable,
    rows,
    table,
    teller,
)
from privet.errors import BudgetError, DataError, MethodError

if TYPE_CHECKING:
    from privet.arrays import OnStep
    from privet.results.discovery import Discovery
    from privet.results.folder import Stage

# Options of the search, as make_settings calls them.
SEARCH_OPTIONS = (
    "alpha",
    "max_order",
    "score",
    "penalty",
    "max_parents",
    "sparsity",
    "threshold",
    "statistic",
    "cap",
    "subsample",
    "beta1",
    "beta2",
    "steps",
    "schedule",
    "orient_pairs",
    "seed",
)
PATIENCE = 2.0  # seconds without a progress bar
PAIRS = 0.2  # share of the budget for pairs, unless another is given


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "discover", "find the causal graph of a table, with privacy")
    parser.add_argument("data", metavar="DATA", nargs="?", help="CSV or Parquet file")
    parser.add_argument("--schema", metavar="FILE", help="what is public about the data (TOML)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the results")
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument("--epsilon", type=float, metavar="E", help="smaller is more private")
    privacy.add_argument("--delta", type=float, metavar="D", help="1e-6; 0 where that shows more")
    add_ledger(privacy)  # type: ignore[arg-type]
    privacy.add_argument("--no-privacy", action="store_true", help="exact, and not private at all")
    privacy.add_argument(
        "--evidence", metavar="FILE", help="search the evidence.json of an earlier run, for free"
    )
    privacy.add_argument(
        "--protocol",
        metavar="FILE",
        help="DATA are reports that devices have randomised, and this is their protocol.json",
    )
    search = parser.add_argument_group("search")
    search.add_argument("--method", metavar="NAME", help="see `privet methods` (auto)")
    search.add_argument(
        "--methods", metavar="A,B,…", help="several on one measurement, and where they agree"
    )
    search.add_argument(
        "--alpha",
        type=float,
        metavar="A",
        help="smaller keeps fewer edges (2 / (columns - 1), at most 0.2)",
    )
    search.add_argument(
        "--max-order", type=int, metavar="K", help="most columns to condition on (2)"
    )
    search.add_argument("--score", metavar="NAME", help="auto, bic, bdeu or bge")
    search.add_argument("--penalty", type=float, metavar="W", help="of BIC; more keeps less (1)")
    search.add_argument("--max-parents", type=int, metavar="K", help="most parents of a column")
    search.add_argument("--sparsity", type=float, metavar="L", help="l1 weight of NOTEARS, DAGMA")
    search.add_argument("--threshold", type=float, metavar="W", help="smallest weight they keep")
    search.add_argument(
        "--orient-pairs",
        type=float,
        nargs="?",
        const=PAIRS,
        metavar="SHARE",
        help=f"spend this share of the budget ({PAIRS:g}) on directions of undirected edges "
        "between numeric columns",
    )
    _add_published(parser)
    search.add_argument("--seed", type=int, metavar="S", help="of the search (0)")
    show = parser.add_argument_group("output")
    show.add_argument("--force", action="store_true", help="replace the results in DIR")
    add_json(show)  # type: ignore[arg-type]
    show.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def _add_published(parser: argparse.ArgumentParser) -> None:
    """Options of the published methods, which ask one question after another."""
    asking = parser.add_argument_group("published methods (em-pc, svt-pc, priv-pc, curate, …)")
    asking.add_argument(
        "--as-published",
        action="store_true",
        help="as the paper has it, to compare with: NOT private, whatever it claims",
    )
    asking.add_argument(
        "--statistic", metavar="NAME", help="t1, t2, cmh, g2, kendall, spearman, distance"
    )
    asking.add_argument("--cap", type=int, metavar="K", help="how often to ask at most")
    asking.add_argument("--subsample", type=float, metavar="Q", help="share of rows to look at")
    asking.add_argument("--beta1", type=float, metavar="B", help="doubt below the bar, CURATE")
    asking.add_argument("--beta2", type=float, metavar="B", help="doubt above the bar, CURATE")
    asking.add_argument("--steps", type=int, metavar="T", help="number of gradients")
    asking.add_argument(
        "--schedule", metavar="NAME", help="additive, exponential or multiplicative budgets"
    )


def run(args: argparse.Namespace) -> None:
    from privet.results.folder import Stage

    _check_combination(args)
    stage = Stage(args.output, force=args.force, on_note=teller(args))
    with stage, progress(args) as on_step:
        found, files = _discover(args, stage, on_step)
    if not args.quiet:
        print_warnings(found.certificate.warnings)
    if args.json:
        _print_json(found, files)
    elif not args.quiet:
        _print(found, files, args)


def _discover(
    args: argparse.Namespace, stage: Stage, on_step: OnStep
) -> tuple[Discovery, tuple[Path, ...]]:
    """Evidence that was paid for is kept even if the search on it is stopped."""
    from privet.api.checks import paid
    from privet.api.discover import measure, receive, reuse, search
    from privet.methods.options import make_settings
    from privet.results.saved import to_json

    settings = make_settings(
        on_step=on_step, **{name: getattr(args, name) for name in SEARCH_OPTIONS}
    )
    method = _methods(args)
    if args.evidence:
        found = reuse(args.evidence, settings, schema=args.schema, method=method)
        return found, found.write(stage)
    if args.protocol:
        saved = receive(args.data, args.protocol, settings, schema=args.schema, method=method)
        found = search(saved, settings, method=method)
        return found, found.write(stage)
    with _kept(stage):
        saved = measure(
            args.data,
            args.schema,
            settings,
            epsilon=args.epsilon,
            delta=args.delta,
            method=method,
            private=not args.no_privacy,
            ledger=args.ledger,
            as_published=args.as_published,
        )
    with paid(saved):
        stage.write("evidence.json", to_json(saved))
        stage.keep("evidence.json")
        found = search(saved, settings, method=method)
        return found, found.write(stage)


@contextmanager
def _kept(stage: Stage) -> Iterator[None]:
    """An error that holds evidence leaves it in the folder."""
    from privet.results.saved import to_json

    try:
        yield
    except BaseException as error:
        if saved := getattr(error, "evidence", None):
            stage.write("evidence.json", to_json(saved))
            stage.keep("evidence.json")
        raise


def _methods(args: argparse.Namespace) -> str | list[str]:
    if args.methods is None:
        return "auto" if args.method is None else args.method
    if args.method is not None:
        raise MethodError(
            f"--method {args.method} was given with --methods {args.methods}; leave one of the "
            f"two away"
        )
    return [name.strip() for name in args.methods.split(",") if name.strip()]


def _check_combination(args: argparse.Namespace) -> None:
    sources = {"--evidence": args.evidence, "--protocol": args.protocol}
    named = [option for option, value in sources.items() if value]
    if len(named) > 1:
        raise DataError(
            "--evidence was given with --protocol, but evidence knows its protocol; leave one of "
            "the two away"
        )
    free = named[0] if named else "--no-privacy" if args.no_privacy else None
    if named and (args.no_privacy or args.as_published):
        given = "--no-privacy" if args.no_privacy else "--as-published"
        raise BudgetError(
            f"{given} was given with {free}, which is as private as the run or the devices that "
            "it comes from; leave one of the two away"
        )
    for option in ("epsilon", "delta", "ledger"):
        value = getattr(args, option)
        if free and value is not None:
            raise BudgetError(
                f"--{option} {value} was given with {free}, which spends nothing; leave one of "
                f"the two away"
            )
    if args.evidence and args.data:
        raise DataError(
            f"DATA ({args.data!r}) was given with --evidence, which reads no data; leave one of "
            f"the two away"
        )
    if not args.evidence and not args.data:
        raise DataError("no data were named; give a CSV or Parquet file: privet discover DATA ...")


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[OnStep]:
    """A bar on standard error, once the work has taken some seconds and somebody is watching."""
    if args.json or args.quiet or not sys.stderr.isatty():
        yield lambda _what, _share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1.0)
    began = time.monotonic()

    def on_step(what: str, share: float) -> None:
        bar.update(task, description=what, completed=share)
        if time.monotonic() - began > PATIENCE:
            bar.start()

    patience = threading.Timer(PATIENCE, bar.start)  # for a step that is long and says nothing
    patience.daemon = True
    patience.start()
    try:
        yield on_step
    finally:
        patience.cancel()
        patience.join()
        bar.stop()


def _print_json(found: Discovery, files: tuple[Path, ...]) -> None:
    import json
    from dataclasses import asdict

    from privet.graph.formats.files import to_json

    result: dict[str, Any] = {
        "graph": json.loads(to_json(found.graph)),
        "certificate": dict(found.certificate),
        "files": {path.name: str(path) for path in files},
    }
    if found.notes:
        result["notes"] = list(found.notes)
    if found.others:
        result["others"] = {o.method: json.loads(to_json(o.graph)) for o in found.others}
        result["agreement"] = [asdict(line) for line in found.agreement()]
    print_json(result)


def _print(found: Discovery, files: tuple[Path, ...], args: argparse.Namespace) -> None:
    out = console()
    edges = sorted(found.graph.edges, key=lambda e: -(e.confidence or 0.0))
    if edges:
        figures = ("confidence", "of its mark")
        made = table("edge", "", "", *figures, right=figures)
        for e in edges:
            sure = (number(e.confidence, 2), number(e.arrow_confidence, 2))
            rows(made, (e.source, e.mark, e.target, *sure))
        out.print(made)
    else:
        plan = "privet plan --local" if found.certificate.local else "privet plan"
        hint = f"No edge stands out of the noise. `{plan}` says what could have been detected."
        out.print(hint if found.certificate.private else "No edge was found.")
    for note in found.notes:
        out.print(printable(note))
    if found.others:
        _print_agreement(found)
    print_promise(found.certificate, files, args.ledger)


def _print_agreement(found: Discovery) -> None:
    """How each method marks each pair that some method joins."""
    methods = [found.method, *(other.method for other in found.others)]
    made = table("pair", "", *methods, "joined by")
    lines = found.agreement()
    for line in lines:
        rows(made, (line.a, line.b, *line.marks, f"{line.joined} of {len(methods)}"))
    out = console()
    out.print(made)
    same = sum(line.unanimous for line in lines)
    out.print(
        f"All {len(methods)} methods searched the same evidence; of {len(lines)} pairs that some "
        f"method joins they mark {same} alike. The graph above is that of {methods[0]}.",
        soft_wrap=True,
    )
