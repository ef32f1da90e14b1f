"""Linear algebra in one thread, and afterwards as it was before."""

from __future__ import annotations

from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from privet.independence.threads import in_one_thread


def counts() -> set[int]:
    np.linalg.inv(np.eye(2))  # so that there is a library
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@in_one_thread
def within() -> set[int]:
    return counts()


@in_one_thread
def twice() -> tuple[set[int], set[int]]:
    return within(), counts()


@in_one_thread
def fails() -> None:
    raise ZeroDivisionError


def test_one_thread_within_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(3, user_api="blas"):
        if counts() != {3}:
            pytest.skip("linear algebra has no threads here")
        assert twice() == ({1}, {1}) and counts() == {3}
        with pytest.raises(ZeroDivisionError):
            fails()
        assert counts() == {3}


def test_runs_in_several_threads_of_a_program_restore_what_they_found() -> None:
    before, entered, leave = counts(), Event(), Event()

    @in_one_thread
    def first() -> None:
        entered.set()
        leave.wait(60)

    @in_one_thread
    def second() -> None:
        leave.set()
        other.join(60)

    other = Thread(target=first)
    other.start()
    assert entered.wait(60)
    second()
    assert not other.is_alive() and counts() == before
