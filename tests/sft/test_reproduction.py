"""Which test a solver puts back, and how somebody who knows the repository runs it."""

from pathlib import Path

import hand_made
import pytest
from pools import bug

from selfplay.artifact import Artifact
from selfplay.curriculum.stored_bugs import oracle_of
from selfplay.oracle.specification import specification
from selfplay.oracle.task import Task
from selfplay.repository import Suite
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.sandbox import World
from selfplay.sft.reproduction import Reproduction, command, reproduction
from selfplay.validators import Thresholds

JAVASCRIPT = 'PATH="$PWD/node_modules/.bin:$PATH"'


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        (Suite((), {}), "python3 -m pytest -q --tb=short t.py"),
        (
            Suite((), {}, failing=("t.py::b", "u.py::c"), flaky=("t.py::a b",), options=("-p", "no:x")),
            "python3 -m pytest -q --tb=short -p no:x '--deselect=t.py::a b' --deselect=t.py::b t.py",
        ),
        (Suite((), {}, command="make test"), "make test"),
        (Suite((), {}, runner="node"), "node --test t.py"),
        (Suite((), {}, runner="mocha", options=("A=b c", "--ui")), f"export 'A=b c'; {JAVASCRIPT} mocha --ui t.py"),
        (Suite((), {}, runner="go"), "go test -vet=off ./..."),
    ],
)
def test_the_command_of_each_framework(suite: Suite, said: str) -> None:
    """Of pytest, what fails without a bug is left out, in the file that is run; Go takes packages, so all are run."""
    assert command(suite, ["t.py", "t.py"]) == said


BASE = "class Base:\n    def test_a(self):\n        assert f() == 1\n\n\n"
CHILD = "class TestChild(Base):\n    x = 1\n\n    def test_b(self):\n        assert f() == 1\n"


def seen(root: Path, weaken: tuple[str, str], failing: str) -> Reproduction:
    """What is seen of a bug that fails one test of `t.py`, in which the first text of `weaken` became the second."""
    (root / "t.py").write_text(BASE + CHILD)
    diff = hand_made.diff(root, lambda copy: (copy / "t.py").write_text((BASE + CHILD).replace(*weaken)))
    artifact = Artifact("script", ("t.py",), "parser", "", diff)
    task, made = Task(World(tree=(root,)), artifact), bug(artifact, fail_to_pass=(failing,))
    told = specification(diff, {"t.py": BASE + CHILD})
    ready = ReadyBug(root, made, artifact, task, task, told, oracle_of(made, Thresholds()), 30.0)
    return reproduction(ready, Suite((), {}))


def test_one_test_is_put_back_without_what_identifies_a_blob(tmp_path: Path) -> None:
    found = seen(tmp_path, ("    def test_b(self):\n        assert f() == 1\n", ""), "t.py::TestChild::test_b")
    assert "\n+    def test_b(self):\n" in found.restore and "index " not in found.restore
    assert found.run == "set -o pipefail\npython3 -m pytest -q --tb=short t.py 2>&1 | tail -n 20"


def test_what_is_told_is_put_back_where_a_class_inherits_the_test(tmp_path: Path) -> None:
    """`test_a = None` stands in no test, and hides one."""
    found = seen(tmp_path, ("    x = 1\n", "    x = 1\n    test_a = None\n"), "t.py::TestChild::test_a")
    assert "\n-    test_a = None\n" in found.restore and found.run.endswith("t.py 2>&1 | tail -n 20")
