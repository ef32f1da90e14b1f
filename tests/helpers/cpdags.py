"""What a CPDAG must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.graph.meek import cpdag, extension


def is_valid_cpdag(A: NDArray[np.bool_]) -> bool:
    """Whether A is the CPDAG of some DAG, so of any of its extensions."""
    dag = extension(A)
    return dag is not None and bool(np.array_equal(cpdag(dag), A))
