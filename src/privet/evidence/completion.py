"""Tables of three columns completed from their pairs: the least that pairs say of them.

Of all tables with the measured pairs, the one without an interaction of three columns, found by
iterative proportional fitting. Where pairs have much noise, it is closer to the truth than a noisy
measurement of the triple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Floats, Indices

if TYPE_CHECKING:
    from privet.evidence.tables import TableEvidence

ROUNDS = 25
EMPTIEST = 1e-5  # share of the rows below which no cell of a pair is believed


def completed(evidence: TableEvidence, sets: Indices) -> Floats:
    """The components of sets of three columns of one shape; a stack has an axis of replicas
    before."""
    assert evidence.features is not None
    pairs = [_positive(evidence, sets[:, [i, j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    table = np.ones((*pairs[0].shape, pairs[1].shape[2]))
    for _ in range(ROUNDS):
        table *= (pairs[0] / table.sum(axis=3))[:, :, :, None]
        table *= (pairs[1] / table.sum(axis=2))[:, :, None, :]
        table *= (pairs[2] / table.sum(axis=1))[:, None, :, :]
    copies = len(table) // len(sets)
    for axis in range(3):
        u = np.stack([evidence.features[i] for i in sets[:, axis]])
        moved = np.moveaxis(table, axis + 1, 1)
        flat = np.tile(u.transpose(0, 2, 1), (copies, 1, 1)) @ moved.reshape(*moved.shape[:2], -1)
        shape = (len(flat), flat.shape[1], *moved.shape[2:])
        table = np.moveaxis(flat.reshape(shape), 1, axis + 1)
    return table.reshape(*evidence.replicas, len(sets), *table.shape[1:])


def _positive(evidence: TableEvidence, pairs: Indices) -> Floats:
    tables = evidence.tables(pairs)
    rows = evidence.rows_of(len(tables))[:, None, None]
    return np.maximum(tables, EMPTIEST * rows)
