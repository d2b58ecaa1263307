"""What a sandbox is shown of a Python that is not the system's."""

import json
from pathlib import Path

import pytest

from selfplay.repository.building.environment import hidden_packages, python_mounts
from selfplay.repository.building.interpreters import Interpreter
from selfplay.sandbox import Backend, World


def test_of_a_python_in_the_home_its_own_folders_are_shown_alone(backend: Backend, tmp_path: Path) -> None:
    """A repository chooses its Python (`requires-python`), and its `setup.py` read the keys beside it."""
    home = tmp_path / "home"
    for name in ("bin/python3.11", "lib/python3.11/os.py", ".ssh/id_ed25519", ".local/share/keyrings/one", "notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    mounts = python_mounts(Interpreter("3.11.1", home / "bin" / "python3.11", home))
    with backend.open(World(mounts=mounts)) as sandbox:
        assert sandbox.run(["ls", "-A", str(home)], timeout=10).stdout.split() == [b"bin", b"lib"]
        assert sandbox.read_file(f"{home}/lib/python3.11/os.py") == b"lib/python3.11/os.py"


def test_the_machine_s_own_packages_are_hidden(backend: Backend, tmp_path: Path) -> None:
    """One of them may be the project itself, whole: one copy command earned the reward, and the audit said "clean"."""
    mounts = hidden_packages(tmp_path / "empty", tmp_path, "python")
    assert {place for place in ("/usr/lib/python3/dist-packages",) if Path(place).is_dir()} <= {
        m.target for m in mounts
    }
    with backend.open(World(mounts=mounts)) as sandbox:
        for mount in mounts:
            assert sandbox.run(["ls", "-A", mount.target], timeout=10).stdout == b""


@pytest.mark.parametrize("name", ["chalk", "../../etc", "", "no such package"])
def test_of_node_s_those_of_the_project_s_name_are(backend: Backend, tmp_path: Path, name: str) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"name": name}))
    mounts = hidden_packages(tmp_path / "empty", tmp_path, "javascript")
    with backend.open(World(mounts=mounts)) as sandbox:
        left = sandbox.run(f"find /usr/lib/node_modules -path '*/{name}/package.json'", timeout=20).stdout
    assert left == b"" if name == "chalk" else mounts == ()
