"""A test file that is watched keeps its own names."""

import ast
import subprocess
import sys
from pathlib import Path

from selfplay.oracle.behaviour.traced_calls import _TAKEN, _WATCHING, ENTERED_FILE, watcher


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
