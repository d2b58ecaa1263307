"""Programs of ours are those of the sandbox, whatever a build has put first on the path of the tests."""

from pathlib import Path

import hand_made
import pytest

from selfplay.sandbox import Backend, Mount, World
from selfplay.sandbox.protocol import SYSTEM_PATH
from selfplay.workbench import restoring
from selfplay.workbench.applying import DoesNotApply, apply_diffs, missing_files
from selfplay.workbench.files import sums
from selfplay.workbench.own import own_programs
from selfplay.workbench.restoring import restore_files

PROGRAMS = ("bash", "git", "sha256sum", "tar", "xargs", "rm", "touch")


def test_the_folders_of_mounts_and_of_the_tree_are_not_searched() -> None:
    path = "/env/bin:/testbed/node_modules/.bin:bin::/usr/local/bin:/usr/bin"
    assert World(mounts=(Mount(Path("/x"), "/env"),), env={"PATH": path}).own_env == {"PATH": "/usr/local/bin:/usr/bin"}
    assert World(env={"PATH": "/environment/bin"}).own_env == {"PATH": "/environment/bin"}
    assert World().own_env == {}  # an image's own
    built = World(env={"PATH": "/env/bin:/usr/bin"}, folders=("/env",))  # what a build fills
    assert built.own_env == {"PATH": "/usr/bin"}
    assert World(env={"PATH": "/env/bin"}, folders=("/env",)).own_env == {"PATH": SYSTEM_PATH}


def test_test_files_that_hold_too_much_are_not_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go through the host's memory, three times at once; small ones are kept for the next run."""
    monkeypatch.setattr(restoring, "MOST_BYTES", 1000)
    monkeypatch.setattr(restoring, "KEPT_BYTES", 100)
    for name, size in (("small", 100), ("large", 900)):
        (tmp_path / name).write_bytes(b"x" * size)
    layers = (tmp_path,)
    assert restoring._archive(layers, ("small",)) is restoring._archive(layers, ("small",))
    assert restoring._archive(layers, ("large",)) is not restoring._archive(layers, ("large",))
    assert restoring._archive(layers, ("small", "large"))
    for names in (("small", "large", "small"), tuple(map(str, range(5001)))):
        with pytest.raises(DoesNotApply, match="the test files hold"):
            restoring._archive(layers, names)


def test_staging_does_not_start_what_a_build_installed(backend: Backend, tmp_path: Path) -> None:
    tree, env = tmp_path / "tree", tmp_path / "env"
    (env / "bin").mkdir(parents=True)
    tree.mkdir()
    (tree / "a.py").write_text("A = 1\n")
    for name in PROGRAMS:
        (env / "bin" / name).write_text(f"#!/bin/sh\necho {name} >> /tmp/stranger\nexit 0\n")
        (env / "bin" / name).chmod(0o755)
    diff = hand_made.diff(tree, hand_made.substitute("a.py", "1", "2"))
    hand_made.give(tree, backend)
    tmp_path.chmod(0o755)
    world = World(tree=(tree,), mounts=(Mount(env, "/env"),), env={"PATH": "/env/bin:/usr/bin:/bin"})
    with backend.open(world) as sandbox:
        apply_diffs(sandbox, [diff])
        assert sandbox.read_file("a.py") == b"A = 2\n"
        restore_files(sandbox, world, ["a.py"])
        assert sandbox.read_file("a.py") == b"A = 1\n"
        assert missing_files(sandbox, ["a.py", "b.py"]) == ("b.py",) and len(sums(sandbox, ["a.py"])["a.py"]) == 64
        assert sandbox.run(["/bin/sh", "-c", "mkfifo pipe; ln -s a.py link"], timeout=10).exit_code == 0
        assert {*sums(sandbox, ["a.py", "pipe", "link", "none"])} == {"a.py", "link", ""}  # a pipe is not waited for
        assert own_programs(backend, sandbox).run("git", ["git", "--version"]).stdout.startswith(b"git version")
        assert sandbox.run(["/bin/sh", "-c", "cat /tmp/stranger; bash"], timeout=10).stdout == b""
        assert sandbox.read_file("/tmp/stranger") == b"bash\n"  # the tests' own path is as it was
