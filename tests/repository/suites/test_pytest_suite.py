"""The rendered scripts as a person runs them by hand: plain bash, our own interpreter as `python` on PATH."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository.errors import BadStream
from selfplay.repository.prepared import Suite
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.pytest_suite import PARSER, finished, parse_records, render_script, script_for

ODD = """
import os, time, pytest

@pytest.mark.parametrize("value", ["a b", "[x]", "é", "n\\nl", "::", "'\\"$(exit 3)"])
def test_ok(value): pass

def test_bad(): assert 0

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.mark.xfail
def test_unexpected(): pass

@pytest.mark.xfail(strict=True)
def test_strict(): pass

@pytest.mark.skip
def test_skipped(): pass

@pytest.fixture
def broken():
    yield
    raise OSError

def test_teardown(broken): pass

@pytest.fixture
def absent(): raise OSError

def test_setup(absent): pass

def test_forks():
    child = os.fork()
    if child == 0:
        raise SystemExit
    os.waitpid(child, 0)
"""
HANGS = """
import time
def test_swallows():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass
def test_after(): pass
"""
CRASHES = "import os\ndef test_a(): pass\ndef test_b(): os._exit(3)\ndef test_c(): pass\n"


def run(folder: Path, script: str, **env: str) -> bytes:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path, **env}, capture_output=True, timeout=60
    )
    return done.stdout


def parsed(log: bytes) -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", PARSER], input=log, capture_output=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_outcomes_and_odd_ids(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test odd ü.py": ODD})
    outcomes = parsed(run(tmp_path, render_script(["tests/test odd ü.py"])))
    names = {test.split("::", 1)[1]: outcome for test, outcome in outcomes.items()}
    passing = {name for name, outcome in names.items() if outcome == "passed"}
    # the six parameters and test_forks; a skipped, an expected and an unexpectedly passing test are neither
    assert len(passing) == 7 and {"test_ok[a b]", "test_ok[[x]]", "test_ok[::]", "test_forks"} <= passing
    failing = {name for name, outcome in names.items() if outcome == "failed"}
    assert failing == {"test_bad", "test_strict", "test_teardown", "test_setup"}


@pytest.mark.slow
def test_a_log_says_where_a_test_failed_and_of_what(tmp_path: Path) -> None:
    """As Python tells it: pytest's own way reads and colours the source for each, a tenth of a small suite's time."""
    write(tmp_path, {"test_a.py": "def double(x): return x + x + 1\n\ndef test_a():\n    assert double(2) == 4\n"})
    log = run(tmp_path, render_script(["test_a.py"])).decode()
    assert 'test_a.py", line 4, in test_a' in log and "AssertionError: assert 5 == 4" in log
    assert "where 5 = double(2)" in log


@pytest.mark.slow
def test_every_id_can_be_excluded_or_run_alone(tmp_path: Path) -> None:
    write(tmp_path, {"test_odd.py": ODD})
    everything = parsed(run(tmp_path, render_script(["test_odd.py"])))
    assert parsed(run(tmp_path, render_script(["test_odd.py"], list(everything)))) == {}
    assert parsed(run(tmp_path, render_script(["test_odd.py"], only=list(everything)))) == everything


@pytest.mark.slow
def test_a_hanging_test_fails_and_the_rest_runs(tmp_path: Path) -> None:
    write(tmp_path, {"test_h.py": HANGS})
    outcomes = parsed(run(tmp_path, render_script(["test_h.py"], test_seconds=0.5)))
    assert outcomes == {"test_h.py::test_swallows": "failed", "test_h.py::test_after": "passed"}


WAITING = """
import time

def test_waits(): time.sleep(1)

def test_loops():
    while True: pass

def test_sleeps(): time.sleep(60)
"""


@pytest.mark.long
def test_a_test_that_waits_has_more_time_than_one_that_loops(tmp_path: Path) -> None:
    """So that what is said to hang does not depend on other work on the machine."""
    write(tmp_path, {"test_h.py": WAITING})
    outcomes = parsed(run(tmp_path, render_script(["test_h.py"], test_seconds=0.3, patience=10)))
    assert outcomes == {f"test_h.py::test_{name}": said for name, said in
                        (("waits", "passed"), ("loops", "failed"), ("sleeps", "failed"))}  # fmt: skip
    assert outcomes == parsed(run(tmp_path, render_script(["test_h.py"], test_seconds=0.3, patience=10)))


@pytest.mark.slow
def test_too_many_hanging_tests_stop_the_run(tmp_path: Path) -> None:
    write(tmp_path, {"test_h.py": "import time\n" + "".join(f"def test_{n}(): time.sleep(9)\n" for n in range(5))})
    outcomes = parsed(run(tmp_path, render_script(["test_h.py"], test_seconds=0.2)))
    assert list(outcomes.values()) == ["failed"] * 3


@pytest.mark.slow
def test_a_crash_keeps_what_ran(tmp_path: Path) -> None:
    write(tmp_path, {"test_c.py": CRASHES})
    log = run(tmp_path, render_script(["test_c.py"]))
    assert parsed(log) == {"test_c.py::test_a": "passed", "test_c.py::test_b": "failed"}
    assert finished(log) == 3
    assert [record.seconds is None for record in parse_records(log)] == [False, True]


@pytest.mark.slow
def test_files_that_are_gone_are_skipped_and_broken_ones_fail(tmp_path: Path) -> None:
    write(tmp_path, {"test_a.py": "def test_a(): pass\n", "test_b.py": "import absent_module\ndef test_b(): pass\n"})
    outcomes = parsed(run(tmp_path, render_script(["test_a.py", "test_b.py", "test_gone.py"])))
    assert outcomes == {"test_a.py::test_a": "passed", "test_b.py": "failed"}
    assert b"no chosen test file is left" in run(tmp_path, render_script(["test_gone.py"]))


@pytest.mark.slow
def test_options_of_absent_or_disturbing_plugins_do_no_harm(tmp_path: Path) -> None:
    options = "--cov=x --cov-report xml --no-cov-on-fail -n auto --dist loadfile -x --ff --black --random-order"
    write(tmp_path, {"pytest.ini": f"[pytest]\naddopts = {options}\n", "test_a.py": "def test_a(): assert 0\n",
                     "test_b.py": "def test_b(): pass\n"})  # fmt: skip
    log = run(tmp_path, render_script(["test_a.py", "test_b.py"]))
    assert parsed(log) == {"test_a.py::test_a": "failed", "test_b.py::test_b": "passed"}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        "pytest.ini", "test_a.py", "test_b.py",
    ]  # fmt: skip


@pytest.mark.slow
def test_ids_do_not_depend_on_where_the_settings_lie(tmp_path: Path) -> None:
    write(tmp_path, {"sub/pytest.ini": "[pytest]\n", "sub/test_a.py": "def test_a(): pass\n"})
    assert parsed(run(tmp_path, render_script(["sub/test_a.py"]))) == {"sub/test_a.py::test_a": "passed"}


@pytest.mark.slow
def test_unittest_cases_and_random_draws(tmp_path: Path) -> None:
    source = (
        "import random, unittest\nclass T(unittest.TestCase):\n"
        "    def test_x(self): print(random.random()); self.fail()\n"
    )
    write(tmp_path, {"checks.py": source})
    logs = [run(tmp_path, render_script(["checks.py"])) for _ in range(2)]
    assert parsed(logs[0]) == {"checks.py::T::test_x": "failed"}
    draws = [[line for line in log.split(b"\n") if line.startswith(b"0.")] for log in logs]
    assert draws[0] == draws[1] and len(draws[0]) == 1


@pytest.mark.slow
def test_a_users_own_command_is_recorded(tmp_path: Path) -> None:
    write(tmp_path, {"t/test_a.py": "def test_a(): pass\ndef test_b(): pass\n", "t/test_c.py": "def test_c(): pass\n",
                     "check.sh": "exec python -m pytest --cov=x t\n"})  # fmt: skip
    suite = Suite(("t/test_a.py",), {}, failing=("t/test_a.py::test_b",), command="bash check.sh")
    assert parsed(run(tmp_path, script_for(suite))) == {"t/test_a.py::test_a": "passed"}


@pytest.mark.parametrize("log", [b"", b"\xff\xfe noise", b'SELFPLAY {"id": 3}', b"SELFPLAY {", b"SELFPLAY [1]"])
def test_the_parser_takes_any_log(log: bytes) -> None:
    assert parsed(log) == {} and parse_records(log) == []


def test_too_many_records_of_one_id_are_refused_before_any_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = b'SELFPLAY {"id": "a", "outcome": "passed"}\n'
    monkeypatch.setattr(pytest_suite, "MOST_RECORDS", 20)
    assert len(parse_records(one * 20)) == 1
    parsed: list[bytes] = []
    monkeypatch.setattr(pytest_suite, "_record", parsed.append)
    with pytest.raises(BadStream, match="more than 20 records"):
        parse_records(one * 21)
    assert parsed == []


def test_scripts_name_no_place_of_this_machine(tmp_path: Path) -> None:
    script = render_script(["tests/test_a.py"], ["tests/test_a.py::x"])
    assert str(Path.home()) not in script and os.fspath(Path(__file__).parent) not in script
