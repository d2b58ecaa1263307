"""The answer is found in compiled code, under any name."""

import marshal
import py_compile
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType

import hand_made
import pytest
from oracle.leak_audit.planted import SOURCE, answer, plant

from selfplay.oracle.leak_audit.audit import audit_task
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend

__all__ = ["plant"]


def test_compiled_code_is_found_under_any_name(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path
) -> None:
    compiled = tmp_path / "x.pyc"
    py_compile.compile(str(hand_made.original("python") / SOURCE), str(compiled), doraise=True)
    found = audit_task(backend, plant("cache/prices.bin", compiled.read_bytes()))
    assert any(finding.where == "cache/prices.bin" for finding in found.findings), found


def test_a_bug_outside_of_functions_is_found_in_compiled_code(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path
) -> None:
    """One value of a table; the functions of the module are those of the broken one."""
    table = "".join(f"    'name{at}': {{'id': {at}, 'old': {at % 2 == 0}}},\n" for at in range(40))
    before = f"TABLE = {{\n{table}}}\n\n\ndef get(name):\n    return TABLE[name]\n"
    compiled = tmp_path / "x.pyc"
    (tmp_path / "x.py").write_text(before)
    py_compile.compile(str(tmp_path / "x.py"), str(compiled), doraise=True)
    task = plant("cache/table.bin", compiled.read_bytes())
    tree = tmp_path / "tree"
    (tree / "store" / "table.py").write_text(before)
    hand_made.give(tree, backend)
    after = before.replace("'id': 20, 'old': True", "'id': 20, 'old': False")
    bug = hand_made.diff(tree, hand_made.substitute("store/table.py", before, after))
    found = audit_task(backend, replace(task, artifact=replace(task.artifact, bug_inject=bug)))
    assert ("cache/table.bin", "compiled") in {(finding.where, finding.kind) for finding in found.findings}, found


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, marshal.version])
@pytest.mark.parametrize("whole", [True, False], ids=["a module", "a function"])
def test_marshalled_code_is_found(
    backend: Backend, plant: Callable[[str, bytes], Task], whole: bool, version: int
) -> None:
    module = compile(answer(), "x", "exec")
    (function,) = (part for part in module.co_consts if isinstance(part, CodeType) and part.co_name == "total")
    found = audit_task(backend, plant("cache/prices.bin", marshal.dumps(module if whole else function, version)))
    assert ("cache/prices.bin", "compiled") in {(finding.where, finding.kind) for finding in found.findings}


def test_the_compiled_cache_of_the_original_is_cleaned_away(
    backend: Backend, plant: Callable[[str, bytes], Task]
) -> None:
    task = plant("README", b"x\n")
    tree = task.world.tree[0]
    subprocess.run(["python3", "-m", "compileall", "-q", str(tree)], check=True, timeout=30)
    assert any(tree.rglob("*.pyc"))
    hand_made.give(tree, backend)
    assert audit_task(backend, task).clean
