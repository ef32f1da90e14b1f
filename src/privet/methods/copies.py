"""A search without the columns that say the same as another one.

Knowledge forbids their edges, which every search honours. Where hidden causes are allowed for,
columns may be joined although neither causes the other: so no test finds them dependent either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.copies import Guess, copies
from privet.graph.copies import set_apart
from privet.methods.basis import Basis, Replicas, Wide
from privet.schema.model import Schema
from privet.search.protocols import Judge

INDEPENDENT = -1e9  # an answer that nothing outweighs


def without_copies(schema: Schema, basis: Basis) -> tuple[Schema, Basis]:
    """The schema and the basis of a search in which copies are joined to nothing."""
    if not basis.copies:
        return schema, basis
    known = set_apart(schema.knowledge, schema.names, basis.copies)
    mute = np.array([name in basis.copies for name in schema.names])
    again = basis.replicas

    def replicas(count: int, rng: np.random.Generator) -> Replicas:
        assert again is not None
        made = again(count, rng)
        each = (replace(one, judge=_Mute(one.judge, mute)) for one in made.each)
        wide = None if made.wide is None else (_muted(one, mute) for one in made.wide)
        return replace(
            made,
            judge=_Mute(made.judge, mute),
            each=each,
            wide=wide,
            sure=lambda questions: made.sure(questions) & _loud(mute, questions),
        )

    alone = replace(
        basis,
        judge=_Mute(basis.judge, mute),
        wide=None if basis.wide is None else _muted(basis.wide, mute),
        replicas=None if again is None else replicas,
    )
    return replace(schema, knowledge=known), alone


def copies_of(schema: Schema, found: Iterable[Guess]) -> dict[str, str]:
    """Columns that say the same as another one, and that one; of a column that knowledge joins to
    another, more is known than that."""
    required = {name for arrow in schema.knowledge.required for name in arrow}
    return copies(found, schema.names, required)


def said(copies: Mapping[str, str]) -> tuple[str, ...]:
    """What whoever reads the graph should know about them."""
    if not copies:
        return ()
    pairs = ", ".join(f"{copy!r} (of {kept!r})" for copy, kept in copies.items())
    return (
        f"Left out of the search as copies and hung beside their originals: {pairs}. What is "
        "joined to an original may be joined to its copy instead.",
    )


def _muted(wide: Wide, mute: Bools) -> Wide:
    return replace(wide, judge=_Mute(wide.judge, mute), tests=None)


def _loud(mute: Bools, questions: Indices) -> Bools:
    return np.asarray(~mute[questions[:, :2]].any(axis=1))


@dataclass(frozen=True)
class _Mute:
    """A judge to whom some columns are independent of all others."""

    judge: Judge
    mute: Bools

    def strengths(self, pairs: Bools | None = None) -> Floats:
        return self.judge.strengths(pairs)

    def margins(self, questions: Indices) -> Floats:
        loud = _loud(self.mute, questions)
        answers = self.judge.margins(questions[loud])
        out = np.full((*answers.shape[:-1], len(questions)), INDEPENDENT)
        out[..., loud] = answers
        return out
