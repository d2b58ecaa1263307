"""The shared cache under threads: one runs, the others wait; a failure is told to all and kept by none."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from selfplay.workbench import RunCache, TestRun


def test_one_runs_and_the_others_wait():
    cache, started, calls = RunCache(), threading.Event(), []

    def compute() -> TestRun:
        calls.append(threading.get_ident())
        assert started.wait(10)
        return TestRun(outcomes={"a": "passed"})

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(cache.get, "key", compute) for _ in range(4)]
        started.set()
        runs = [future.result(10) for future in futures]
    assert len(calls) == 1
    assert all(run is runs[0] for run in runs)


def test_different_keys_do_not_wait_for_each_other():
    cache, release = RunCache(), threading.Event()

    def slow() -> TestRun:
        assert release.wait(10)
        return TestRun()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.get, "slow", slow)
        assert cache.get("fast", TestRun) == TestRun()
        release.set()
        assert waiting.result(10) == TestRun()


def test_a_failure_is_raised_and_not_kept():
    cache = RunCache()

    def fail() -> TestRun:
        raise OSError("no sandbox")

    with pytest.raises(OSError, match="no sandbox"):
        cache.get("key", fail)
    assert cache.get("key", TestRun) == TestRun()


def test_the_oldest_entries_go_first():
    cache, calls = RunCache(entries=2), []

    def compute() -> TestRun:
        calls.append(1)
        return TestRun()

    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, compute)
    assert len(calls) == 4  # a, b, c, and b again: c pushed it out
