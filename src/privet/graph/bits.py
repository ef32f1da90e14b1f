"""Sets of columns as whole numbers: bit j for column j."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Bools

_POWERS = 1 << np.arange(63, dtype=np.int64)


def members(bits: int) -> list[int]:
    out = []
    while bits:
        low = bits & -bits
        out.append(low.bit_length() - 1)
        bits ^= low
    return out


def bits_of(flags: Bools) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def bitsets(matrix: Bools) -> list[int]:
    """Each row as one whole number."""
    if matrix.shape[1] <= len(_POWERS):
        return list(matrix.dot(_POWERS[: matrix.shape[1]]).tolist())
    packed = np.packbits(matrix, axis=1, bitorder="little")
    joined, width = packed.tobytes(), max(packed.shape[1], 1)
    parts = (joined[at : at + width] for at in range(0, len(packed) * width, width))
    return [int.from_bytes(part, "little") for part in parts]


def flags_of(sets: Sequence[int], size: int) -> Bools:
    """Each set as a row of flags, of so many columns."""
    width = (size + 7) // 8
    joined = b"".join(bits.to_bytes(width, "little") for bits in sets)
    packed = np.frombuffer(joined, dtype=np.uint8).reshape(len(sets), width)
    return np.unpackbits(packed, axis=1, count=size, bitorder="little").view(bool)
