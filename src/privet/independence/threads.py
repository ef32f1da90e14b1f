"""Many small matrices are worked out in one thread: several only wait for each other.

Numpy's linear algebra starts a thread on every core for each matrix that is not tiny. Tables of
many levels ask for thousands of these: all cores are busy, and nothing is sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def in_one_thread(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """The same work, with linear algebra in one thread meanwhile."""

    @wraps(work)
    def calm(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        with _pools().limit(limits=1, user_api="blas"):
            return work(*args, **kwargs)

    return calm


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
