"""Loops on threads: every row once, the same bits for every number of threads."""

import os
import threading

import numpy as np
import pytest

from partwise.threads import add_scaled, dot, resolve_jobs, run_beside, run_sharded


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 17, 40_000])
def test_every_row_is_visited_once(n_jobs, n):
    visits = np.zeros(n, int)

    def work_on(first, last):
        visits[first:last] += 1

    run_sharded(n_jobs, n, work_on)
    assert (visits == 1).all()


def test_an_error_in_a_shard_reaches_the_caller():
    def work_on(first, last):
        raise ValueError("shard")

    for _ in range(2):  # the pool of threads survives
        with pytest.raises(ValueError, match="shard"):
            run_sharded(2, 100, work_on)


@pytest.mark.parametrize("n", [0, 3, 65_536, 300_001])
def test_sums_have_the_same_bits_on_two_threads(n):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, n))
    assert dot(1, one, other) == dot(2, one, other)
    assert dot(1, one, other) == pytest.approx(float(one @ other), abs=1e-9)
    results = []
    for n_jobs in (1, 2):
        into = one.copy()
        add_scaled(n_jobs, into, 0.25, other, share=3.0)
        results.append(into)
    assert np.array_equal(*results)
    np.testing.assert_allclose(results[0], 3.0 * one + 0.25 * other)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux alone has it")
def test_all_cores_are_those_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    assert resolve_jobs(-1) == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert resolve_jobs(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_two_things_are_done_beside_each_other(n_jobs):
    seen = np.zeros((2, 1000), int)

    def visit(row):
        def work_on(first, last):
            seen[row, first:last] += 1

        for _ in range(20):
            run_sharded(n_jobs, 1000, work_on)
        return row

    # both use loops on threads; the one within the pool must not wait for the pool
    result = run_beside(n_jobs, lambda: visit(0), lambda: visit(1), lambda: None)
    assert result == 0
    assert (seen == 20).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_other_work_reaches_the_caller(n_jobs):
    def fail():
        raise ValueError("other work")

    with pytest.raises(ValueError, match="other work"):
        run_beside(n_jobs, lambda: 1, fail, lambda: None)


def test_an_error_in_work_halts_the_other():
    halted, ended = threading.Event(), threading.Event()

    def fail():
        raise ValueError("work")

    def wait():
        assert halted.wait(10)
        ended.set()

    with pytest.raises(ValueError, match="work"):
        run_beside(2, fail, wait, halted.set)
    assert ended.is_set()
