"""What an audit has found, in words, as a document and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.attacks.bounds import Bound, Two
from privet.attacks.picture import picture
from privet.errors import OutputError, expect

FILES = ("audit.json", "audit.svg")


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """``scores`` are those of the judged runs on either table, for the picture; ``others`` the
    audits of the other ways in which the method runs, whose bounds are smaller.

    >>> found = privet.audit("parity", epsilon=1, runs=100)
    >>> found.to_dict()["method"]
    'parity'
    """

    method: str
    as_published: bool
    epsilon: float
    delta: float
    confidence: float
    runs: int
    words: str
    why: str
    bound: Bound
    scores: Two = field(compare=False)
    others: tuple[Audit, ...] = ()

    @property
    def lower(self) -> float:
        """The epsilon that there is at least, at this delta."""
        return self.bound.lower

    @property
    def violated(self) -> bool:
        """Whether the runs say that the promise is not kept."""
        return self.lower > self.epsilon

    def __repr__(self) -> str:
        return f"Audit of {self.method}: {self}"

    def __str__(self) -> str:
        level = f"with confidence {100 * self.confidence:.6g}%"
        word = "claimed" if self.as_published else "promised"
        found = f"epsilon is at least {self.lower:.3g} ({level}), {word} {self.epsilon:g}"
        verdict = "violates its promise" if self.violated else "no violation found"
        return f"{verdict}: {found}, at delta {self.delta:g}"

    @property
    def event(self) -> str:
        """What the bound rests on."""
        where, elsewhere = ("the neighbour", "the table")[:: 1 if self.bound.event.added else -1]
        return (
            f"the event happened in {self.bound.hits:,} of {self.bound.runs:,} runs on {where} and "
            f"in {self.bound.misses:,} on {elsewhere}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The audit as audit.json has it."""
        return {
            "method": self.method,
            "as_published": self.as_published,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "epsilon_at_least": round(self.lower, 4),
            "confidence": self.confidence,
            "violated": self.violated,
            "runs_on_each_table": self.runs,
            "judged": self.bound.runs,
            "hits": self.bound.hits,
            "misses": self.bound.misses,
            "likely_on_neighbour": self.bound.event.added,
            "tables": self.words,
            "flaw": self.why,
            "others": [other.to_dict() for other in self.others],
        }

    def picture(self) -> str:
        """What runs tell an attacker, and what the promise allows, as SVG."""
        title = f"{self.method}{' as published' * self.as_published}"
        return picture(title, self.scores, self.bound, self.epsilon, self.delta)

    def save(self, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Writes audit.json and audit.svg."""
        import json

        texts = (json.dumps(self.to_dict(), indent=2) + "\n", self.picture())
        home = Path(folder)
        files = tuple(home / name for name in FILES)
        check_output(home, force)
        try:
            home.mkdir(parents=True, exist_ok=True)
            for path, text in zip(files, texts, strict=True):
                path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise OutputError(
                f"cannot write to {str(folder)!r} ({error.strerror}); choose another folder"
            ) from None
        return files

    def _repr_svg_(self) -> str:
        return self.picture()


def check_output(folder: Path, force: bool) -> None:
    """Refuses to write over an older audit, before anything is run."""
    expect(folder, Path, "output", "give the path of a folder", OutputError)
    taken = [name for name in FILES if (folder / name).exists()]
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{str(folder)!r} is a file; choose another folder")
    if taken and not force:
        raise OutputError(
            f"{str(folder)!r} has {taken[0]} already; choose another folder, or replace it with "
            "⟦force=True⟧"
        )
