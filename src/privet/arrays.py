"""Kinds of arrays, and the callback that hears how far the work is; said once, used everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

# Arrays as the type checker knows them: a light import must not load numpy.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.int64]

# Told what is being done, and which share of the work is behind.
OnStep = Callable[[str, float], None]
