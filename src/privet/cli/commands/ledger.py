"""``privet ledger``: the budgets, and what was spent of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from privet.cli.show import (
    Subparsers,
    add_json,
    add_ledger,
    command,
    console,
    print_json,
    printable,
    rows,
    table,
)

if TYPE_CHECKING:
    from privet.privacy.ledger.account import Account, RunRecord


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "ledger", "show or change the privacy budgets")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = command(actions, "show", "what each data set may spend, has spent and has left")
    show.add_argument("name", metavar="NAME", nargs="?", help="a data set, for its single runs")
    add_json(show)
    add_ledger(show)
    show.set_defaults(run=run_show)
    close = command(actions, "close", "end a run that was killed; what it did not charge is free")
    close.add_argument("run_id", metavar="RUN", help="the run, as `privet ledger show NAME` has it")
    add_ledger(close)
    close.set_defaults(run=run_close)
    create = command(actions, "create", "set the budget of a data set that has none")
    grant = command(actions, "grant", "raise the budget of a data set, to this much in total")
    for action, run in ((create, run_create), (grant, run_grant)):
        action.add_argument("name", metavar="NAME", help="the data set, as its schema names it")
        action.add_argument("--epsilon", type=float, required=True, metavar="E")
        action.add_argument("--delta", type=float, metavar="D")
        action.add_argument(
            "--test-delta",
            type=float,
            metavar="T",
            help="what noisy tests of stability may add to delta (0)",
        )
        add_ledger(action)
        action.set_defaults(run=run)
    create.add_argument(
        "--accounting",
        choices=("gdp", "zcdp"),
        default="gdp",
        help="how runs with a delta are counted, for good (gdp; zcdp for selections and sieves)",
    )
    create.set_defaults(delta=1e-6, test_delta=0.0)


def run_create(args: argparse.Namespace) -> None:
    from privet.privacy.ledger.book import Ledger

    book = Ledger(args.ledger)
    book.create(
        args.name,
        epsilon=args.epsilon,
        delta=args.delta,
        test_delta=args.test_delta,
        accounting=args.accounting,
    )
    _print_accounts((_account(book.account(args.name)),))


def run_grant(args: argparse.Namespace) -> None:
    from privet.privacy.ledger.book import Ledger

    book = Ledger(args.ledger)
    book.grant(args.name, epsilon=args.epsilon, delta=args.delta, test_delta=args.test_delta)
    _print_accounts((_account(book.account(args.name)),))


def run_close(args: argparse.Namespace) -> None:
    from privet.privacy.ledger.book import Ledger

    _print_accounts((Ledger(args.ledger).close(args.run_id),))


def run_show(args: argparse.Namespace) -> None:
    from privet.errors import LedgerError
    from privet.privacy.ledger.book import Ledger
    from privet.schema.column import did_you_mean
    from privet.schema.names import same_name

    book = Ledger(args.ledger)
    accounts = book.accounts()
    if args.name is not None:
        names = [account.dataset for account in accounts]
        accounts = tuple(account for account in accounts if same_name(account.dataset, args.name))
        if not accounts:
            raise LedgerError(
                f"data set {args.name!r} has no budget in {book.path}"
                f"{did_you_mean(args.name, names)}; its first run sets one, or use "
                f"`privet ledger create`"
            )
    if args.json:
        print_json([_facts(account) for account in accounts])
    elif not accounts:
        console().print(f"No data set has a budget yet in {book.path}.", soft_wrap=True)
    else:
        _print_accounts(accounts)
        if args.name is not None:
            _print_runs(accounts[0])


def _account(found: Account | None) -> Account:
    assert found is not None  # it was written just now
    return found


def _print_accounts(accounts: tuple[Account, ...]) -> None:
    """The delta is that of the promise; a part of it may be for tests."""
    tests = any(account.test_delta for account in accounts)
    amounts = ("epsilon", "delta", *(["for tests"] if tests else []), "spent", "left", "runs")
    made = table("data set", *amounts, right=amounts)
    for account in accounts:
        spent, left = _amounts(account)
        line = [f"{account.epsilon:g}", f"{account.promised_delta:g}"]
        line += [f"{float(account.test_delta):g}"] if tests else []
        rows(made, (account.dataset, *line, f"{spent:g}", f"{left:g}", len(account.runs)))
    console().print(made)


def _amounts(account: Account) -> tuple[float, float]:
    """Spent and left, as epsilon; rounded so that neither looks better than it is."""
    from decimal import ROUND_CEILING, ROUND_FLOOR

    from privet.privacy.ledger.conversion import shorten

    spent = shorten(account.spent_epsilon, ROUND_CEILING)
    return min(spent, max(account.epsilon, account.spent_epsilon)), shorten(
        account.left_epsilon, ROUND_FLOOR
    )


def _print_runs(account: Account) -> None:
    from privet.privacy.ledger.conversion import NAMES, UNITS

    out = console()
    out.print(f"Accounting: {NAMES[account.currency]}.", soft_wrap=True)
    if account.unit is not None:
        out.print(f"The promise is to each person by: {account.unit}.", soft_wrap=True)
    if account.test_delta:
        out.print(
            f"Of its delta, {float(account.test_delta):g} is for noisy tests of stability; "
            f"{float(account.tested):g} of that is used up.",
            soft_wrap=True,
        )
    for run in account.runs:
        unit = UNITS[run.currency]
        out.print(
            printable(
                f"run {run.id}: {run.when}, {run.method}, epsilon {run.epsilon:g}, delta "
                f"{run.promised_delta:g}, {run.state}"
            ),
            soft_wrap=True,
        )
        tests = ("delta",) if run.test_delta else ()
        made = table("question", unit, *tests, right=(unit, *tests))
        for e in run.entries:
            extra = (f"{float(e.test_delta):.4g}",) if tests else ()
            rows(made, (e.what, f"{float(e.cost):.4g}", *extra))
        out.print(made)
    if any(run.state == "open" for run in account.runs):
        out.print(
            "An open run is still going on or was killed; it keeps what it reserved. If it was "
            "killed: privet ledger close RUN",
            soft_wrap=True,
        )


def _facts(account: Account) -> dict[str, Any]:
    return {
        "dataset": account.dataset,
        "epsilon": account.epsilon,
        "delta": account.promised_delta,
        "test_delta": float(account.test_delta),
        "test_delta_left": float(account.test_delta_left),
        "accounting": account.currency,
        "unit": account.unit,
        "people": account.people,
        "spent_epsilon": None if account.beyond_price else account.spent_epsilon,
        "left_epsilon": account.left_epsilon,
        "runs": [_run_facts(run) for run in account.runs],
    }


def _run_facts(run: RunRecord) -> dict[str, Any]:
    from privet.privacy.ledger.conversion import UNITS

    return {
        "id": run.id,
        "when": run.when,
        "method": run.method,
        "epsilon": run.epsilon,
        "delta": run.promised_delta,
        "test_delta": float(run.test_delta),
        "state": run.state,
        "currency": UNITS[run.currency],
        "queries": [
            {"what": e.what, "cost": float(e.cost), "test_delta": float(e.test_delta)}
            for e in run.entries
        ],
    }
