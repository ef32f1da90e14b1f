"""The lock of a study: all that its sites agree on before anything is measured, in one file.

Its hash is in every digest and every mask. Sites read the code, eight words of that hash, to each
other: one comparison settles schema, budget, collusion and everybody's keys. A changed roster is a
new lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from privet.errors import PrivetError, StudyError
from privet.privacy.ledger.conversion import Accounting, budget_for, check_asked, epsilon_of
from privet.privacy.together.keys import KEY, PublicKeys
from privet.privacy.together.wire import UNIT, canonical, parsed
from privet.schema.model import Adjacency, Schema
from privet.schema.names import SITE, SITE_RULE

VERSION = 1
FEWEST = 3  # sites; in the sum of two, each sees the other's numbers
MOST_SITES = 1000
SITE_COLUMN = "site"
ACCOUNTING: Accounting = "gdp"  # of studies, all of whose noise is Gaussian
NONCE = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True)
class Lock:
    """``tolerated`` is how many sites may collude with the coordinator, who may be one of them,
    without breaking the promise to people at the others. ``fewest`` sites must answer. With
    ``compare_sites`` the schema has a column ``site`` whose levels are the sites; no site has it
    in its data, and each fills in itself."""

    name: str
    nonce: str
    schema: Schema
    method: str
    epsilon: float
    delta: float
    tolerated: int
    fewest: int
    compare_sites: bool
    coordinator: PublicKeys
    sites: tuple[PublicKeys, ...]

    def __post_init__(self) -> None:
        names = [site.name for site in self.sites]
        self._check_sites(names)
        if type(self.tolerated) is not int or not 0 <= self.tolerated < len(names):
            raise StudyError(
                f"{self.tolerated!r} of {len(names)} sites are to be tolerated as colluders, but "
                f"at least one must be honest; use 0 to {len(names) - 1}"
            )
        if type(self.fewest) is not int or not self.tolerated < self.fewest <= len(names):
            raise StudyError(
                f"at least {self.fewest!r} sites are to answer, but there are {len(names)}, of "
                f"which {self.tolerated} may collude; use {self.tolerated + 1} to {len(names)}"
            )
        levels = tuple(names) if self.compare_sites else None
        if self.compare_sites and self.schema.column(SITE_COLUMN).levels != levels:
            raise StudyError(
                f"sites are to be compared, so the column {SITE_COLUMN!r} must have the levels "
                f"{', '.join(names)}; let `privet federate lock --compare-sites` add it"
            )
        if self.schema.adjacency is not Adjacency.ADD_REMOVE:
            raise StudyError(
                f"the schema has the adjacency {self.schema.adjacency.value!r}, but where sites "
                'add up, the number of rows is blurred too; use adjacency = "add-remove"'
            )
        if check_asked(self.epsilon, self.delta)[1] == 0:
            raise StudyError(
                "delta is 0, but shares of noise add up to Gaussian noise, which needs a delta; "
                "give ⟦delta=1e-6⟧, or let the sites measure apart"
            )

    def _check_sites(self, names: Sequence[str]) -> None:
        if not FEWEST <= len(names) <= MOST_SITES:
            raise StudyError(
                f"the study has {len(names)} sites, but it takes {FEWEST} to {MOST_SITES}: in the "
                "sum of two each would see the other's numbers; let fewer sites measure apart"
            )
        for name in names:
            if not SITE.fullmatch(name):
                raise StudyError(f"a site is named {name!r}, but a name {SITE_RULE}")
        if list(names) != sorted(set(names)):
            raise StudyError(
                "the sites of the lock are not sorted, or two have one name; give each its own"
            )
        everybody = (*self.sites, self.coordinator)
        keys = [key for one in everybody for key in (one.sign, one.agree)]
        if len(set(keys)) != len(keys) or not all(KEY.fullmatch(key) for key in keys):
            raise StudyError(
                "two parties of the study have one key, or a key is malformed; let each site make "
                "its own with `privet site key`"
            )

    @property
    def honest(self) -> int:
        """How many shares of noise make the promise, if all sites answer."""
        return len(self.sites) - self.tolerated

    @property
    def budget(self) -> int:
        """Of the study, in units of 2^-64."""
        rho = budget_for(self.epsilon, self.delta, ACCOUNTING) * UNIT
        return rho.numerator // rho.denominator

    @property
    def alone_epsilon(self) -> float:
        """To which the guarantee weakens if all other sites and the coordinator collude: that of a
        site's own share of noise, which is that of the promise divided by the number of honest
        shares."""
        return epsilon_of(Fraction(self.budget, UNIT) * self.honest, self.delta, ACCOUNTING)

    def site(self, name: str) -> PublicKeys | None:
        return next((site for site in self.sites if site.name == name), None)

    @cached_property
    def text(self) -> str:
        """The one spelling of the lock."""
        said = {
            "privet study": VERSION,
            **{k: getattr(self, k) for k in _PLAIN},
            "schema": json.dumps(self.schema.to_dict()),  # as text: the order of columns matters
            "coordinator": asdict(self.coordinator),
            "sites": [asdict(site) for site in self.sites],
        }
        return canonical(said).decode("ascii")

    @cached_property
    def study(self) -> str:
        """Its hash, by which everything in the study is bound to it."""
        return sha256(self.text.encode("ascii")).hexdigest()


_PLAIN = {
    "name": str,
    "nonce": str,
    "method": str,
    "epsilon": float,
    "delta": float,
    "tolerated": int,
    "fewest": int,
    "compare_sites": bool,
}


def load(path: Path) -> Lock:
    try:
        return read(path.read_bytes())
    except OSError as error:
        raise StudyError(
            f"cannot read {str(path)!r} ({error.strerror}); give the study.lock that "
            "`privet federate lock` wrote"
        ) from None
    except PrivetError as error:
        raise StudyError(f"{str(path)!r}: {error.said}") from None


def read(text: bytes) -> Lock:
    """A lock, or a StudyError. What it says must be in its one spelling: nothing may be said
    twice, or be said that nobody reads."""
    try:
        said = parsed(text)
        plain = {k: said[k] for k in _PLAIN}
        if not all(type(plain[k]) is kind for k, kind in _PLAIN.items()):
            raise TypeError("plain")
        if not NONCE.fullmatch(plain["nonce"]):
            raise ValueError("nonce")
        lock = Lock(
            **plain,
            schema=Schema.from_dict(json.loads(said["schema"])),
            coordinator=_keys(said["coordinator"]),
            sites=tuple(_keys(site) for site in said["sites"]),
        )
        if lock.text.encode("ascii") != text.strip():
            raise ValueError("spelling")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise StudyError(
            "this is no lock of a study, or it was changed; take a fresh copy of the study.lock "
            "that `privet federate lock` wrote"
        ) from None
    return lock


def _keys(said: Any) -> PublicKeys:
    if set(said) != {"name", "sign", "agree"} or not all(isinstance(v, str) for v in said.values()):
        raise ValueError("keys")
    return PublicKeys(**said)
