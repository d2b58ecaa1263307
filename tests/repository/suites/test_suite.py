"""Suites measured in real sandboxes. One environment serves all: only the files of the layer above it differ."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import NoPassingTests, NoTests, Prepared, measure_suite, prepare
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.suite import RESCUE
from selfplay.sandbox import Backend, Limits, Sandbox, World


@pytest.fixture(scope="module")
def bare(backend: Backend, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(
        str(write(tmp_path_factory.mktemp("bare"), {"README": "", "a.py": ""})), backend=backend, cache=cache
    )


@pytest.fixture
def project(bare: Prepared, tmp_path: Path) -> Callable[[Mapping[str, str]], Prepared]:
    """The bare environment over a tree of its own."""
    return lambda files: replace(bare, tree=write(tmp_path / "p" / "tree", files), source="project", bytecode=None)


@pytest.mark.slow
def test_failing_and_flaky_tests_are_left_out(backend: Backend, project: Callable[..., Prepared]) -> None:
    """Twenty fair coins: all show the same face twice with probability 2**-20."""
    coins = "import os\n" + "".join(f"def test_coin_{n}(): assert os.urandom(1)[0] < 128\n" for n in range(20))
    prepared = project({"test_a.py": "def test_steady(): pass\ndef test_bad(): assert 0\n", "test_coins.py": coins})
    suite = measure_suite(prepared, backend)
    assert "test_a.py::test_steady" in suite.seconds and "test_a.py::test_bad" in suite.failing
    assert suite.flaky and all(test.startswith("test_coins.py") for test in suite.flaky)
    assert len(suite.excluded) == len(suite.failing) + len(suite.flaky)
    assert measure_suite(prepared, backend) == suite  # from the cache, coins and all


@pytest.mark.slow
def test_thousands_of_failing_tests_are_left_out(backend: Backend, project: Callable[..., Prepared]) -> None:
    """Their names, 1,500 times 121 characters, are more than a program's argument may have (128 KiB): of Django's tests
    15,000 fail without its own runner."""
    cases = "@pytest.mark.parametrize('n', range(1500))\ndef test_" + "x" * 100 + "(n): assert 0\n"
    prepared = project({"test_a.py": f"import pytest\ndef test_steady(): pass\n{cases}"})
    suite = measure_suite(prepared, backend)
    assert list(suite.seconds) == ["test_a.py::test_steady"] and len(suite.failing) == 1500


class Stopped(Exception):
    """What the kill of a run is here."""


class Stopping:
    """A real backend that stops everything when it is asked for sandbox number `last` + 1."""

    def __init__(self, backend: Backend, last: int) -> None:
        self.backend, self.last, self.opened, self.name = backend, last, 0, backend.name

    def open(self, world: World, limits: Limits = Limits()) -> AbstractContextManager[Sandbox]:
        if self.opened == self.last:
            raise Stopped
        self.opened += 1
        return self.backend.open(world, limits)

    def close(self) -> None:
        self.backend.close()

    def owner(self) -> tuple[int, int]:
        return self.backend.owner()


@pytest.mark.slow
def test_a_measurement_that_was_stopped_goes_on(backend: Backend, project: Callable[..., Prepared]) -> None:
    """Three runs: one collects, two run the tests. Stopped after the second, one is left; after it, none."""
    prepared = project({"test_a.py": "def test_a(): pass\n"})
    with pytest.raises(Stopped):
        measure_suite(prepared, Stopping(backend, 2))
    rest = Stopping(backend, 1)
    suite = measure_suite(prepared, rest)
    assert rest.opened == 1 and list(suite.seconds) == ["test_a.py::test_a"]
    assert measure_suite(prepared, Stopping(backend, 0)) == suite
    assert [path.suffix for path in prepared.tree.parent.glob("suite-*")] == [".json"]  # the runs are gone


@pytest.mark.long
def test_a_damaged_measurement_is_made_again(backend: Backend, project: Callable[..., Prepared]) -> None:
    prepared = project({"test_a.py": "def test_a(): pass\n"})
    with pytest.raises(Stopped):
        measure_suite(prepared, Stopping(backend, 1))
    [run] = prepared.tree.parent.glob("suite-*.runs/*")
    run.write_bytes(run.read_bytes()[:-9])
    whole = Stopping(backend, 3)
    suite = measure_suite(prepared, whole)
    assert whole.opened == 3
    [kept] = prepared.tree.parent.glob("suite-*")
    for damage in ("", "[]", "{}", kept.read_text()[:40]):
        kept.write_text(damage)
        assert measure_suite(prepared, backend).files == suite.files


def test_a_measurement_that_fails_keeps_no_runs(backend: Backend, project: Callable[..., Prepared]) -> None:
    prepared = project({"test_a.py": "def test_a(): assert 0\n"})
    with pytest.raises(NoPassingTests):
        measure_suite(prepared, backend)
    assert not [*prepared.tree.parent.glob("suite-*")]


@pytest.mark.slow
def test_crashing_files_are_left_out_and_hanging_tests_excluded(
    backend: Backend, project: Callable[..., Prepared]
) -> None:
    prepared = project({
        "test_a.py": "def test_a(): pass\n",
        "test_crash.py": "import os\ndef test_x(): os._exit(1)\n",
        "test_hang.py": "import time\ndef test_h(): time.sleep(60)\ndef test_after(): pass\n",
        "test_import.py": "import sys\nraise OSError\n",
        "test_z.py": "def test_z(): pass\n",
    })  # fmt: skip
    suite = measure_suite(prepared, backend, time_limit=12.0)
    assert suite.files == ("test_a.py", "test_hang.py", "test_z.py")
    assert set(suite.left_out) == {"test_crash.py", "test_import.py"}
    assert "test_hang.py::test_h" in suite.failing and "test_hang.py::test_after" in suite.seconds


@pytest.mark.slow
def test_a_suite_over_the_limit_is_cut_to_whole_files(backend: Backend, project: Callable[..., Prepared]) -> None:
    """1 + 1 + 4 seconds against a limit of 5: the two quick files fit, the slow one does not."""
    slow = "import time\ndef test_s(): time.sleep({})\n"
    files = {"test_a.py": slow.format(1), "test_b.py": slow.format(4), "test_c.py": slow.format(1)}
    suite = measure_suite(project(files), backend, time_limit=5.0)
    assert suite.files == ("test_a.py", "test_c.py") and suite.left_out == ("test_b.py",)


@pytest.mark.slow
def test_the_time_of_a_file_that_crashes_is_not_the_others(backend: Backend, project: Callable[..., Prepared]) -> None:
    """The first run ends after 6 s in the first file; the other four take 2 s, for which a limit of 6 has room."""
    quick = {f"test_{n}.py": "import time\ndef test_s(): time.sleep(0.5)\n" for n in range(4)}
    crash = "import os, time\n" + "".join(f"def test_{n}(): time.sleep(1)\n" for n in range(6))
    crash += "def test_crash(): os._exit(1)\n"
    suite = measure_suite(project({"test_.py": crash, **quick}), backend, time_limit=6.0)
    assert suite.files == tuple(quick) and suite.left_out == ("test_.py",)


@pytest.mark.slow
def test_a_suite_far_over_the_limit_is_not_run_to_its_end(backend: Backend, project: Callable[..., Prepared]) -> None:
    """Twenty files of 1 s against a limit of 5: the first run is stopped after twice that, with more than fits. A
    second one would learn of files that are left out anyway: sandboxes are opened to collect, to run, and to run
    again."""
    slow = "import time\ndef test_s(): time.sleep(1)\n"
    counted = Stopping(backend, 100)
    suite = measure_suite(project({f"test_{n}.py": slow for n in range(20)}), counted, time_limit=5.0)
    assert suite.files and len(suite.files) + len(suite.left_out) == 20 and counted.opened == 3


@pytest.mark.slow
def test_files_pytest_does_not_look_for_by_itself(backend: Backend, project: Callable[..., Prepared]) -> None:
    case = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n"
    suite = measure_suite(project({"pkg/__init__.py": "", "pkg/tests.py": case}), backend)
    assert list(suite.seconds) == ["pkg/tests.py::T::test_x"] and suite.options


@pytest.mark.slow
def test_a_users_own_command(backend: Backend, project: Callable[..., Prepared]) -> None:
    prepared = project({"run.sh": "python -m pytest t", "t/test_a.py": "def test_a(): pass\n", "test_b.py": "x = 1\n"})
    assert list(measure_suite(prepared, backend, command="bash run.sh").seconds) == ["t/test_a.py::test_a"]
    with pytest.raises(NoTests, match="the test command of project runs no test under pytest"):
        measure_suite(prepared, backend, command="true")


@pytest.mark.slow
def test_no_tests_and_none_that_passes(backend: Backend, project: Callable[..., Prepared]) -> None:
    with pytest.raises(NoTests, match="no tests can be collected in project"):
        measure_suite(project({"a.py": "x = 1\n"}), backend)
    with pytest.raises(NoPassingTests, match="none of the tests of project passes"):
        measure_suite(project({"test_a.py": "def test_a(): assert 0\n"}), backend)
    with pytest.raises(NoTests, match="is written in c"):
        measure_suite(replace(project({}), language="c"), backend)


@pytest.mark.slow
def test_coverage_says_which_test_runs_which_line(backend: Backend, project: Callable[..., Prepared]) -> None:
    prepared = project({
        "lib.py": "def one(x):\n    if x:\n        return 1\n    return 0\n",
        "test_lib.py": "from lib import one\ndef test_yes(): assert one(1)\ndef test_no(): assert not one(0)\n",
    })  # fmt: skip
    suite = measure_suite(prepared, backend)
    with backend.open(prepared.world()) as sandbox:
        sandbox.run(pytest_suite.render_coverage(suite.files, output="/tmp/coverage"), timeout=60)
        coverage = pytest_suite.parse_coverage(sandbox.read_file("/tmp/coverage"))
    yes, no = map(coverage.tests.index, ("test_lib.py::test_yes", "test_lib.py::test_no"))
    assert coverage.lines["lib.py"] == {2: {yes, no}, 3: {yes}, 4: {no}}  # line 1 runs at import, in no test


def test_a_pipe_in_the_place_of_a_record_is_not_opened(backend: Backend) -> None:
    """A suite that hangs and leaves one: the program that reads what it recorded waited, as if it had no core."""
    with backend.open(World()) as sandbox:
        left = "mkdir /tmp/tmp.a /tmp/tmp.b /tmp/tmp.c && mkfifo /tmp/tmp.a/record && echo said > /tmp/tmp.b/record"
        sandbox.run(f"{left} && ln -s /proc/self/environ /tmp/tmp.c/record", timeout=20)
        done = sandbox.run(RESCUE, timeout=20, env=sandbox.own_env)
        assert (done.stdout, done.timed_out) == (b"said\n", False)


@pytest.mark.slow
def test_test_files_of_one_name_in_two_folders(backend: Backend, project: Callable[..., Prepared]) -> None:
    """As in a monorepo: pytest imports both as `test_core`, and leaves the second out."""
    test = "def test_it(): pass\n"
    prepared = project({"packages/a/tests/test_core.py": test, "packages/b/tests/test_core.py": test})
    suite = measure_suite(prepared, backend)
    assert len(suite.seconds) == 2 and not suite.left_out
    assert "--import-mode=importlib" in suite.options
    (prepared.tree / "test_other.py").write_text(test)
    named = measure_suite(prepared, backend, command="python -m unittest discover -s packages")
    assert named.seconds.keys() == suite.seconds.keys(), "the places of the command are kept"
