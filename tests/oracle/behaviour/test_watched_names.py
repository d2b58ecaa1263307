"""A test file that is watched keeps its own names, and the files that make things for it are watched, too."""

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.oracle.behaviour import probe_runner
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.traced_calls import _TAKEN, _WATCHING, ENTERED_FILE, watcher
from selfplay.oracle.trial import Trial, TrialOrder
from selfplay.sandbox import Limits, World
from selfplay.workbench.files import TestFile


def test_a_test_file_keeps_its_own_names(tmp_path: Path) -> None:
    """simplejson's tests call it `json`, and others take `time` from `time`: they went on with the watch's own, so that
    three of four bugs of simplejson had no input that shows them."""
    nodes = list(ast.walk(ast.parse(_WATCHING)))
    ours = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias)}
    ours |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    ours -= {*_TAKEN}
    assert {"json", "time", "SelfplayEntered", "CALLS_MOST"} <= ours
    order = {"root": str(tmp_path), "tests": ["test_a.py"], "changed": {}}
    own = "".join(f"{name} = 'mine'\n" for name in sorted(ours))
    look = f"print([name for name in {sorted(ours)} if globals()[name] != 'mine'], 'selfplay_space' in globals())"
    program = f"{own}{watcher(order)}\n{look}\n".replace(ENTERED_FILE, str(tmp_path / "record"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


def test_what_makes_the_tests_things_is_watched_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application of flask comes from a fixture of `conftest.py`: no call of its client could be written."""
    files = {path: TestFile(text.encode(), 0o644) for path, text in (("test_a.py", "x = 1\n"), ("conftest.py", MADE))}
    seen: list[dict[str, str]] = []

    def trial(backend: object, world: object, artifact: object, order: TrialOrder, limits: object) -> Trial:
        seen.append({path: file.content.decode() for path, file in order.files.items()})
        return Trial()

    monkeypatch.setattr(probe_runner, "run_trial", trial)
    task: Any = SimpleNamespace(artifact=SimpleNamespace(test_files=[*files], bug_inject=""), world=World())
    oracle: Any = SimpleNamespace(seconds=9.0)
    backend: Any = None
    bench = Bench(
        backend, task, oracle, Limits(), False, {"test_a.py": files["test_a.py"]}, {"conftest.py": files["conftest.py"]}
    )
    bench.run({"test_a.py": "x = 1\n"}, watched=True)
    bench.run({"test_a.py": "x = 1\n"})
    assert seen[0].keys() == {"conftest.py", "test_a.py"} and seen[1] == {"test_a.py": "x = 1\n"}
    assert "selfplay_enter('', False)" in seen[0]["conftest.py"].split("selfplay_space")[0]


MADE = """
import pytest

@pytest.fixture
def app():
    return 1
"""
