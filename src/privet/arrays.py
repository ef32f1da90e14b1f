"""Kinds of arrays, and the callback that hears how far the work is; said once, used everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.int64]
else:

    def __getattr__(name):
        """The same for those who import one of them; a light import must not load numpy."""
        dtypes = {"Floats": "float64", "Bools": "bool_", "Indices": "intp", "Integers": "int64"}
        if name not in dtypes:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import numpy as np
        from numpy.typing import NDArray

        return NDArray[getattr(np, dtypes[name])]


# Told what is being done, and which share of the work is behind.
OnStep = Callable[[str, float], None]


def say_nothing(_what: str, _share: float) -> None:
    """For whoever does not want to hear."""


# The weights (small whole numbers) of some rows, from the array of codes of each column.
Weight = Callable[[Mapping[str, Any]], Any]
