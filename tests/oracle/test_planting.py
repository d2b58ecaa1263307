"""The answer is found in every shape in which `benchmarks.planting` writes it, for bugs in the code of real projects.

The projects are packages that are installed with this one: their code is real, and no network is needed. The bugs are
single tokens, which no line betrays that occurs once.
"""

import ast
import importlib.util
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest

from benchmarks.bench_audit import missed_in
from benchmarks.planting import MECHANISMS, Answer, plant
from selfplay.artifact import Artifact
from selfplay.oracle.leak_audit.audit import audit_task
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, World

PROJECTS = ("jinja2", "packaging", "rich", "typer")
SWAPS = (
    (" == ", " != "), (" < ", " <= "), (" is None", " is not None"), (" and ", " or "), ("True", "False"), ("+", "-"),
)  # fmt: skip


def broken(tree: Path, seed: int) -> str:
    """The diff of one token that is another, in a file drawn by the seed, and not in a comment."""
    chance = random.Random(seed)
    files = sorted(file for file in tree.rglob("*.py") if file.stat().st_size > 3_000)
    while True:
        file, (old, new) = chance.choice(files), chance.choice(SWAPS)
        before = file.read_text()
        parts = before.split(old)
        at = chance.randint(1, max(1, len(parts) - 1))
        after = new.join([old.join(parts[:at]), old.join(parts[at:])])
        if len(parts) > 1 and other_code(before, after):
            path = file.relative_to(tree).as_posix()
            return hand_made.diff(tree, hand_made.substitute(path, before, after))


def other_code(before: str, after: str) -> bool:
    try:
        return ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
    except SyntaxError:
        return False


@pytest.fixture
def bug(backend: Backend, tmp_path: Path) -> Callable[[str, int], Task]:
    """`bug(project, seed)`: a bug in a copy of the project's package."""

    def make(project: str, seed: int) -> Task:
        spec = importlib.util.find_spec(project)
        assert spec is not None and spec.origin is not None
        tree = tmp_path / "tree"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(spec.origin).parent, tree / "src" / project, symlinks=True, ignore=ignored)
        (tree / "t.py").write_text("def test_a():\n    assert f(1)\n")
        diff = broken(tree, seed)
        weaken = hand_made.diff(tree, hand_made.substitute("t.py", "assert f(1)\n", "pass\n"))
        hand_made.give(tree, backend)
        artifact = Artifact("true\n", ("t.py",), "", diff, weaken)
        return Task(World(tree=(tree,), env={"PATH": "/usr/bin:/bin"}), artifact)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("project", PROJECTS)
def test_every_shape_is_found(backend: Backend, bug: Callable[[str, int], Task], project: str, seed: int) -> None:
    task = bug(project, seed)
    before = audit_task(backend, task)
    assert before.clean, before
    assert missed_in(backend, task, [seed, seed + 100]) == []


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_shape_is_the_same_for_the_same_seed(mechanism: str) -> None:
    text = "".join(f"def function_{n}(a):\n    return a + {n}\n\n\n" for n in range(40))
    answer = Answer("src/a.py", text, text.replace("a + 7", "a - 7"), "diff --git a/src/a.py b/src/a.py\n")
    first, second = plant(mechanism, answer, 1), plant(mechanism, answer, 1)
    assert first and first.keys() == second.keys()  # archives write the time
