"""Which test files a bug's script runs: all of a quick suite, and those that reach the changed code of a slow one."""

from dataclasses import replace

from selfplay.repository import Suite
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector.slow_suites import MOST_DISTANT, SLOW_SECONDS, Changes, NearFirst, reaching_files
from selfplay.scripted.policy import Script

SECONDS = {**{f"test_a.py::test_{n}": 1.0 for n in range(10)}, **{f"test_b.py::test_{n}": 3.0 for n in range(10)}}
QUICK = Suite(("test_a.py", "test_b.py"), SECONDS, cpu_seconds=SLOW_SECONDS)
SLOW = replace(QUICK, cpu_seconds=SLOW_SECONDS + 1)


def test_a_quick_suite_is_run_whole() -> None:
    assert reaching_files(QUICK, ["test_a.py::test_1"], 5) is None


def test_a_slow_one_is_cut_to_the_files_that_reach_the_change() -> None:
    """File a takes 10 of 40 seconds, and has nine other tests: at least the five asked for."""
    assert reaching_files(SLOW, ["test_a.py::test_1"], 5) == ["test_a.py"]


def test_it_is_run_whole_where_that_saves_too_little_or_leaves_too_few() -> None:
    assert reaching_files(SLOW, ["test_b.py::test_1"], 5) is None  # 30 of 40 seconds
    assert reaching_files(SLOW, [f"test_a.py::test_{n}" for n in range(6)], 5) is None  # four others


def test_a_command_of_the_user_is_run_as_it_is() -> None:
    assert reaching_files(replace(SLOW, command="make test"), ["test_a.py::test_1"], 5) is None


def proposed(names: str) -> list[str]:
    """The order in which these changes come. Capital letters: the distant ones."""
    waiting = [(PlantedChange(name, "", "", (), ""),) for name in names]

    def propose() -> Script[Changes]:
        yield from ()
        return waiting.pop(0) if waiting else ()

    near, found = NearFirst(propose, lambda changes: changes[0].path.isupper()), list[str]()
    while True:
        try:
            next(near.propose())
        except StopIteration as done:
            if not done.value:
                return found
            found.append(done.value[0].path)


def test_changes_that_need_the_whole_suite_come_last() -> None:
    assert proposed("aBCdE") == ["a", "d", "B", "C", "E"]
    assert proposed("Z" * (MOST_DISTANT + 2) + "a") == ["Z", "Z", "a", *"Z" * MOST_DISTANT]
