"""What is found of pairs: their directions, the promise and the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from privet.pairs.way import Orientation
from privet.results.certificate import Certificate
from privet.results.folder import PAIRS, Stage
from privet.results.saved import Saved, to_json

VERSION = 1
SHOWN = 8  # pairs in a short text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Orientations(Sequence[Orientation]):
    """An orientation for each pair that was asked for, what was promised, and the evidence.

    >>> len(oriented), oriented[0].a, oriented.reused
    (1, 'height', False)
    """

    pairs: tuple[Orientation, ...]
    certificate: Certificate
    evidence: Saved
    method: str

    @overload
    def __getitem__(self, at: int) -> Orientation: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Orientation, ...]: ...

    def __getitem__(self, at: int | slice) -> Orientation | tuple[Orientation, ...]:
        return self.pairs[at]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Orientation]:
        return iter(self.pairs)

    @property
    def reused(self) -> bool:
        """Whether an earlier run has paid for the evidence.

        >>> oriented.reused
        False
        """
        return bool(self.certificate["reused"])

    def __repr__(self) -> str:
        shown = [str(pair) for pair in self.pairs[:SHOWN]]
        more = len(self.pairs) - SHOWN
        lines = [*shown, *([f"and {more} more"] if more > 0 else []), self.certificate.told()]
        first = filter(None, (self.certificate.not_measured, f"Orientations by {self.method}:"))
        return "\n".join((*first, *lines))

    def _repr_html_(self) -> str:
        from privet.results.report.notebook import orientations_html

        return orientations_html(self)

    def to_dict(self) -> dict[str, Any]:
        """What orientation.json holds.

        >>> sorted(oriented.to_dict())
        ['method', 'pairs', 'privet orientation']
        """
        return {
            "privet orientation": VERSION,
            "method": self.method,
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def save(self, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Write orientation.json, certificate.json, evidence.json and report.html.

        >>> [path.name for path in oriented.save("pairs")][:2]
        ['orientation.json', 'certificate.json']
        """
        with Stage(folder, force=force, command="orient") as stage:
            return self.write(stage)

    def write(self, stage: Stage) -> tuple[Path, ...]:
        """The files, into a folder in the making; returns where they will be."""
        from privet.results.report.pairs import report

        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        stage.write("evidence.json", to_json(self.evidence))
        stage.write(PAIRS, text)
        stage.write("certificate.json", self.certificate.to_json())
        stage.write("report.html", report(self))
        return stage.seal()

    def __str__(self) -> str:
        first = filter(None, [self.certificate.not_measured])
        return "\n".join([*first, *map(str, self.pairs), "", str(self.certificate)])
