"""``privet compare``: how close a found graph is to the true one."""

from __future__ import annotations

import argparse

from privet.cli.show import (
    Subparsers,
    add_json,
    command,
    console,
    print_json,
    rows,
    table,
    write_new,
)


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "compare", "say how close a found graph is to the true one")
    parser.add_argument(
        "truth",
        metavar="TRUTH",
        help="graph file of the true graph, or a list of edges (.csv, .edges, .txt)",
    )
    parser.add_argument("found", metavar="FOUND", help="graph file of the found graph")
    parser.add_argument("--output", metavar="FILE", help="a page with the picture (.html)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from privet.graph.formats.files import load
    from privet.graph.metrics import compare

    found = load(args.found)
    truth = load(args.truth, found.nodes)
    result = compare(truth, found)
    if args.output is not None:
        from privet.results.report.compare import report

        write_new(args.output, report(truth, found, result))
    if args.json:
        print_json(asdict(result))
        return
    scores = table("", "precision", "recall", "F1", right=("precision", "recall", "F1"))
    for what, part in (("skeleton", "skeleton"), ("directed", "directed")):
        values = [getattr(result, f"{part}_{score}") for score in ("precision", "recall", "f1")]
        rows(scores, (what, *("-" if v is None else f"{v:.3f}" for v in values)))
    others = table("measure", "value", "", right=("value",))
    rows(
        others,
        ("SHD", result.shd, "pairs whose edge differs; 0 is perfect"),
        ("TPR", f"{result.tpr:.3f}", "share of the true pairs that were found"),
        ("FPR", f"{result.fpr:.3f}", "share of the true gaps that were joined"),
        ("TDR", f"{result.tdr:.3f}", "share of the found pairs that are true"),
    )
    if result.sid is not None:
        rows(others, ("SID", result.sid, "ordered pairs whose intervention effect is wrong"))
    out = console()
    out.print(scores)
    out.print(others)
