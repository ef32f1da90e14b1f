"""What a site allows, written by the site: nothing that comes from elsewhere changes it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path

from privet.errors import StudyError
from privet.privacy.together.lock import Lock

POLICY = "policy.toml"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """``account`` names the people in the site's own ledger, whatever a study calls them; its cap
    is the site's, and no study sets it."""

    account: str
    rows_per_person: int = 1
    largest_epsilon: float = 1.0
    alone_epsilon: float = 5.0
    tolerated: int = 1
    fewest_sites: int = 3
    methods: tuple[str, ...] = ()
    expires: date | None = None

    def refusal(self, lock: Lock) -> tuple[str, str] | None:
        """Why this site takes no part in a study: a word for others, and a sentence for the
        site's own people."""
        people = lock.schema.rows_per_person
        if self.expires is not None and datetime.now(UTC).date() > self.expires:
            return "policy", f"the policy of this site expired on {self.expires}; renew it"
        if lock.epsilon > self.largest_epsilon:
            return "policy", (
                f"the study asks for epsilon {lock.epsilon:g}, but this site's policy allows "
                f"{self.largest_epsilon:g} (largest_epsilon)"
            )
        if lock.alone_epsilon > self.alone_epsilon:
            return "policy", (
                f"if all others colluded, the guarantee would weaken to epsilon "
                f"{lock.alone_epsilon:.3g}, but this site's policy allows {self.alone_epsilon:g} "
                "(alone_epsilon)"
            )
        if lock.tolerated < self.tolerated:
            return "sites", (
                f"the study holds against {lock.tolerated} colluding site(s), but this site's "
                f"policy wants {self.tolerated} (tolerated)"
            )
        if lock.fewest < self.fewest_sites:
            return "sites", (
                f"the study goes on with {lock.fewest} sites, but this site's policy wants "
                f"{self.fewest_sites} (fewest_sites)"
            )
        if self.methods and lock.method not in self.methods:
            return "method", (
                f"the study runs {lock.method}, but this site's policy allows "
                f"{', '.join(self.methods)} (methods)"
            )
        if people < self.rows_per_person:
            return "schema", (
                f"the study promises by {people} row(s) per person, but here a person has up to "
                f"{self.rows_per_person} (rows_per_person)"
            )
        return None


def text(account: str) -> str:
    """A policy to begin with."""
    quoted = account.replace("\\", "\\\\").replace('"', '\\"')
    return f'''\
# What this site allows. Nothing that comes from elsewhere changes it.
# The account is the name of these people in the site's own ledger, whatever a study calls them.
# Their cap is the site's, too: privet ledger create NAME --epsilon E --delta D.
account = "{quoted}"
rows_per_person = 1     # a person has at most so many rows here
largest_epsilon = 1.0   # of one study
alone_epsilon = 5.0     # to which the guarantee may weaken if everybody else colludes
tolerated = 1           # a study must hold against so many colluding sites at least
fewest_sites = 3        # a study must not go on with fewer
methods = []            # empty: any
# expires = 2030-12-31
'''


def load(folder: Path) -> Policy:
    path = folder / POLICY
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StudyError(
            f"cannot read {str(path)!r} ({error.strerror}); give the folder that `privet site key` "
            "wrote"
        ) from None
    except ValueError as error:
        raise StudyError(f"{str(path)!r} is not TOML ({error}); mend it") from None
    known = {field.name for field in fields(Policy)}
    if unknown := sorted(set(said) - known):
        raise StudyError(
            f"{str(path)!r} says {unknown[0]!r}, which is no rule of a policy; the rules are "
            f"{', '.join(sorted(known))}"
        )
    for name, value in said.items():
        if not _fits(name, value):
            raise StudyError(f"{str(path)!r} has {name} = {value!r}, which does not fit; mend it")
    if not str(said.get("account", "")).strip():
        raise StudyError(
            f'{str(path)!r} names no account; write account = "...", the name of these people in '
            "this site's ledger"
        )
    methods = tuple(said.pop("methods", ()))
    return Policy(**said, methods=methods)


def _fits(name: str, value: object) -> bool:
    if name in ("rows_per_person", "fewest_sites"):
        return type(value) is int and value > 0
    if name == "tolerated":
        return type(value) is int and value >= 0
    if name in ("largest_epsilon", "alone_epsilon"):
        return type(value) in (int, float) and value > 0  # type: ignore[operator]
    if name == "methods":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return type(value) is date if name == "expires" else isinstance(value, str)
