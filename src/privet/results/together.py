"""The certificate of sites that have added up what they counted, and evidence made of the sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privet.privacy.ledger.conversion import epsilon_of
from privet.privacy.queries.base import Release
from privet.privacy.together.lock import ACCOUNTING, Lock
from privet.privacy.together.wire import UNIT, Answer
from privet.results.promise import at_most, factor, of_missing, owned, unconfirmed
from privet.results.saved import Saved
from privet.results.words import words
from privet.schema.model import Schema


def evidence(lock: Lock, releases: Sequence[Release], answers: Sequence[Answer]) -> Saved:
    return Saved(
        schema=lock.schema,
        releases=tuple(releases),
        certificate=certificate(lock, answers),
    )


def code(lock: Lock) -> str:
    """Eight words of the hash of a lock, which its sites read to each other."""
    return words(lock.text)


def certificate(lock: Lock, answers: Sequence[Answer]) -> dict[str, Any]:
    """The facts, of answers that have passed all checks."""
    schema, roster = lock.schema, sorted({answer.site for answer in answers})
    most = min(schema.sites_per_person, len(roster))
    # one noise covers all sites: whoever is at several moves the sum so many times as far
    budget = Fraction(lock.budget, UNIT)
    epsilon = lock.epsilon if most == 1 else epsilon_of(budget * most**2, lock.delta, ACCOUNTING)
    return {
        "private": True,
        "promise": _promise(lock, len(roster), epsilon, most),
        "epsilon": epsilon,
        "delta": lock.delta,
        "epsilon_at_one_site": lock.epsilon,
        "alone_epsilon": lock.alone_epsilon,
        "tolerated": lock.tolerated,
        "accounting": ACCOUNTING,
        "adjacency": schema.adjacency.value,
        "rows_per_person": schema.rows_per_person,
        "sites_per_person": schema.sites_per_person,
        "trust": "together",
        "site": None,
        "sites": [_line(name, answers) for name in roster],
        "study": lock.study,
        "code": code(lock),
        "schema": schema.name,
        "spent": None,
        "method": lock.method,
        "queries": [],
        "ledger": None,
        "reused": False,
        "warnings": [],
        "assumptions": _assumptions(schema, lock),
    }


def _line(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    mine = [answer for answer in answers if answer.site == name]
    return {
        "label": name,
        "people": mine[0].people,
        "rho": sum(answer.price for answer in mine) / UNIT,
        "questions": [answer.digest for answer in mine],
    }


def _promise(lock: Lock, sites: int, epsilon: float, most: int) -> str:
    several = f", who is at up to {most} of them," if most > 1 else ""
    return (
        f"{sites} sites have added up what they counted, each with a share of noise and under "
        f"masks, of which only the sum is free. Whether any one person{several} is in their data "
        f"or not changes the probability of anything that can be concluded from these results, by "
        f"the coordinator and up to {lock.tolerated} other site(s) that put together all they "
        f"know, by at most {factor(epsilon)} (epsilon {epsilon:.6g}), plus {lock.delta:g}."
    )


def _assumptions(schema: Schema, lock: Lock) -> list[str]:
    found = unconfirmed(schema)
    return [
        *found,
        f"everything {'else ' if found else ''}in the schema (columns, kinds, levels, bounds, "
        "knowledge) was known without looking at the rows of any site",
        f"the sites have read the code of the lock ({code(lock)}) to each other, without the "
        "coordinator between them",
        f"no more than {lock.tolerated} of the sites share with the coordinator what they know; a "
        "coordinator's own site is one of them. If all others did, the guarantee to a person at "
        f"the last site would weaken to epsilon {lock.alone_epsilon:.3g}",
        "nobody breaks X25519, HKDF-SHA256 or ChaCha20, now or later; if somebody did, the "
        "guarantee would weaken to the same epsilon",
        f"{owned(schema, 'at a site')}; the sites have at most {schema.most_rows} rows together",
        at_most(schema.sites_per_person),
        "the sites are samples of one population. Where two or more mechanisms differ between "
        "sites, a sum can show edges that no site has; sites that may differ measure apart",
        "whoever runs Privet at a site may see its rows; sizes of messages and the time at which "
        "they are sent are public",
        *of_missing(schema),
    ]
