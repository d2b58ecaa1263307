"""The solver's world on the hand-made Python repository: what is in it, and what comes out of a solver's tricks."""

import shutil
import time
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from sparse_tars import sparse_tar

from benchmarks.planting import HISTORY, Answer, plant
from selfplay import patches
from selfplay.errors import SelfplayError
from selfplay.oracle import world
from selfplay.oracle.errors import PredictionError, WorldError
from selfplay.oracle.task import Task
from selfplay.oracle.world import SolverWorld, open_world, prediction_of
from selfplay.sandbox import Backend, InsideError, World
from selfplay.sandbox.kill_detection import ProgramKilled

FIX = "sed -i 's/def /def  /' store/prices.py"


@pytest.fixture
def task(worlds: dict[str, World]) -> Task:
    return Task(worlds["python"], hand_made.artifact("python"))


def played(backend: Backend, task: Task, *commands: str) -> tuple[SolverWorld, list[str], str]:
    """The outputs of `commands` in a solver's world, and the prediction after them."""
    with open_world(backend, task) as world:
        outputs = [world.sandbox.run(command, timeout=20, merge_stderr=True).text for command in commands]
        changes = world.changes()
    return world, outputs, prediction_of(backend, task, changes).diff


def test_one_fresh_commit_and_none_of_the_answer(backend: Backend, task: Task) -> None:
    looks = (
        "git log --all --format=%an:%s", "git count-objects", "git stash list; git reflog", "git status --short",
        "find / -xdev \\( -name 'test_script.sh' -o -name 'test_parser.py' -o -name 'test_files.txt' \\) 2>/dev/null",
        "ls /original /oracle 2>&1 | grep -vc 'No such'", "find . -name __pycache__",
    )  # fmt: skip
    _, outputs, diff = played(backend, task, *looks)
    assert outputs[0] == "selfplay:The task\n"
    assert outputs[2:5] == ["", "", ""] and outputs[5].strip() == "0" and outputs[6] == ""
    assert diff == ""


def test_the_tree_is_the_buggy_and_weakened_one(backend: Backend, task: Task) -> None:
    with open_world(backend, task) as world:
        for diff in (task.artifact.test_weaken, task.artifact.bug_inject):
            done = world.sandbox.run(["git", "apply", "-R", "-"], timeout=20, stdin=diff.encode())
            assert done.exit_code == 0, done.text
        changes = world.changes()
    undone = prediction_of(backend, task, changes).diff
    expected = {*patches.touched_paths(task.artifact.bug_inject), *patches.touched_paths(task.artifact.test_weaken)}
    assert set(patches.touched_paths(undone)) == expected


def test_a_prediction_holds_every_kind_of_change(backend: Backend, task: Task) -> None:
    _, _, diff = played(
        backend, task,
        "printf 'x = 1\\n' > store/new.py; rm store/regions.py; chmod +x store/shop.py; ln -s shop.py store/link.py;"
        "printf '\\0\\1\\377' > store/data.bin; mkdir -p 'store/a dir'; printf 'no end' > 'store/a dir/ü.py';"
        "rm -rf store/plugins; printf 'now a file\\n' > store/plugins",
    )  # fmt: skip
    kinds = {patch.path: patch.kind for patch in patches.parse(diff)}
    assert kinds["store/new.py"] == "added" and kinds["store/regions.py"] == "deleted"
    assert kinds["store/shop.py"] == "mode" and kinds["store/link.py"] == "added"
    assert kinds["store/data.bin"] == "added" and kinds["store/a dir/ü.py"] == "added"
    assert kinds["store/plugins"] == "added" and kinds["store/plugins/tax.py"] == "deleted"


TRICKS = {
    "assumed unchanged": "git update-index --assume-unchanged store/prices.py; " + FIX,
    "skip worktree": "git update-index --skip-worktree store/prices.py; " + FIX,
    "committed": FIX + "; git -c user.name=a -c user.email=a@b commit -qam fix",
    "amended": FIX + "; git -c user.name=a -c user.email=a@b commit -qa --amend -m fix",
    "no git left": FIX + "; rm -rf .git",
    "broken index": FIX + "; echo rubbish > .git/index",
    "a filter hides it": "git config filter.f.clean 'git show HEAD:%f'; echo '*.py filter=f' > .git/info/attributes; "
    + FIX,
    "a diff driver": "echo '*.py diff=d' > .git/info/attributes; git config diff.d.command true; "
    "git config diff.d.textconv true; " + FIX,
    "user configuration": 'git config --global core.worktree /tmp; git config --global core.excludesFile /tmp/x; '
    "echo '*' > /tmp/x; " + FIX,
    "fsmonitor and hooks": "git config core.fsmonitor true; git config core.hooksPath /tmp; " + FIX,
    "shims": "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 1\\n' > ~/bin/git; chmod +x ~/bin/git; "
    "echo 'export PATH=~/bin:$PATH' > ~/.bashrc; cp ~/.bashrc ~/.profile; " + FIX,
    "forged modules": "printf 'raise SystemExit' | tee zlib.py tarfile.py hashlib.py > stat.py; " + FIX
    + "; rm zlib.py tarfile.py hashlib.py stat.py",
    "a nested repository": FIX + "; mkdir -p store/.GIT; git init -q store/sub; rm -rf store/sub",
    "unreadable": FIX + "; chmod 000 store/prices.py; chmod 644 store/prices.py",
    "background process": FIX + "; (sleep 1; git checkout store/prices.py) & disown",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("trick", TRICKS)
def test_what_the_solver_does_to_git_does_not_matter(backend: Backend, task: Task, trick: str) -> None:
    _, _, diff = played(backend, task, TRICKS[trick])
    (patch,) = patches.parse(diff)
    assert patch.path == "store/prices.py" and patch.kind == "modified" and patch.added >= 1
    assert all("def  " in line for line in patch.added_lines)


def test_what_git_would_not_take_is_named_and_left_out(backend: Backend, task: Task) -> None:
    with open_world(backend, task) as world:
        world.sandbox.run(
            "mkfifo store/pipe; printf 'x\\n' > 'store/a\nb'; echo junk.txt > .gitignore; echo 1 > junk.txt", timeout=9
        )
        changes = world.changes()
    prediction = prediction_of(backend, task, changes)
    assert patches.touched_paths(prediction.diff) == (".gitignore",)
    assert set(prediction.left_out) == {"store/pipe", "store/a\nb", "junk.txt"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "kept"),
    [("mkdir git~1; echo x > git~1/x", ("git~1/x", "store/prices.py")), ("ln -s /etc/passwd .gitmodules", None)],
    ids=["odd elsewhere", "refused by git"],
)
def test_a_file_that_git_refuses_is_its_solver_s_doing(
    backend: Backend, task: Task, left: str, kept: tuple[str, ...] | None
) -> None:
    """The attempt was played eight times, and lost as nobody's fault."""
    with open_world(backend, task) as world:
        world.sandbox.run(f"{FIX}; {left}", timeout=20)
        changes = world.changes()
    if kept:
        assert patches.touched_paths(prediction_of(backend, task, changes).diff) == kept
        return
    with pytest.raises(PredictionError, match=r"cannot be compared: .*gitmodules") as caught:
        prediction_of(backend, task, changes)
    assert caught.value.reason == "unreadable"


def test_only_so_many_bytes_of_a_solvers_listing_are_held(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """35,000 empty files with long paths took 600 MiB; what the tree held at first does not count."""
    monkeypatch.setattr(world, "MOST_LEFT", 5000)
    for files, refused in ((10, False), (100, True)):
        with open_world(backend, task) as opened:
            opened.sandbox.run(f"mkdir left && for n in $(seq {files}); do : > left/$n; done", timeout=20)
            if refused:
                with pytest.raises(PredictionError, match="the tree has too many files to be listed"):
                    opened.changes()
            else:
                assert opened.changes().packed


def test_a_prediction_that_is_too_large_says_so(backend: Backend, task: Task) -> None:
    with open_world(backend, task) as world:
        world.sandbox.run("head -c 6000000 /dev/urandom > store/big.bin", timeout=20)
        with pytest.raises(PredictionError) as caught:
            world.changes()
    assert caught.value.reason == "oversized"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name in HISTORY if name != "a bundle in base64"])
@pytest.mark.parametrize("seed", range(2))
def test_git_data_is_taken_out_in_whatever_shape(
    backend: Backend, task: Task, tmp_path: Path, mechanism: str, seed: int
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(task.world.tree[0], tree, symlinks=True)
    source = (tree / "store/prices.py").read_text()
    planted = plant(mechanism, Answer("store/prices.py", source, source, ""), seed)
    for path, data in planted.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
    hand_made.give(tree, backend)
    with open_world(backend, Task(replace(task.world, tree=(tree,)), task.artifact)) as world:
        files = world.sandbox.run("find . -name .git -prune -o -type f -print", timeout=20).text.split("\n")
    assert world.git and not {f"./{path}" for path in planted} & set(files)


def test_a_content_that_a_library_reads_for_minutes_ends_no_world(backend: Backend, task: Task, tmp_path: Path) -> None:
    """A sparse file of 26 kB in an archive took six minutes, and the world was booked as a lost sandbox."""
    tree = tmp_path / "tree"
    shutil.copytree(task.world.tree[0], tree, symlinks=True)
    (tree / "slow.tar").write_bytes(sparse_tar(2_000))
    hand_made.give(tree, backend)
    began = time.monotonic()
    with open_world(backend, Task(replace(task.world, tree=(tree,)), task.artifact)) as world:
        assert world.sandbox.run("test -f slow.tar", timeout=20).exit_code == 0
    assert time.monotonic() - began < 30  # a second here


def test_git_data_that_the_bug_changes_stays(backend: Backend, task: Task, tmp_path: Path) -> None:
    """Its diff would not apply without it; the audit reads it."""
    tree = tmp_path / "tree"
    shutil.copytree(task.world.tree[0], tree, symlinks=True)
    (tree / "history.txt").write_text("blob\nmark :1\ndata 2\nx\n")
    diff = hand_made.diff(tree, hand_made.substitute("history.txt", "data 2", "data 3"))
    hand_made.give(tree, backend)
    artifact = replace(task.artifact, bug_inject=task.artifact.bug_inject + diff)
    with open_world(backend, Task(replace(task.world, tree=(tree,)), artifact)) as world:
        assert world.git == () and world.sandbox.run("cat history.txt", timeout=20).text.endswith("data 3\nx\n")


def test_an_attempt_is_part_of_a_second_order_world(backend: Backend, task: Task) -> None:
    attempt = (
        "diff --git a/store/extra.py b/store/extra.py\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/store/extra.py\n@@ -0,0 +1 @@\n+x = 1\n"
    )
    second = Task(task.world, task.artifact, (attempt,))
    _, outputs, diff = played(backend, second, "cat store/extra.py")
    assert outputs == ["x = 1\n"] and diff == ""


def test_a_bug_that_does_not_apply_is_named(backend: Backend, task: Task) -> None:
    broken = Task(task.world, task.artifact, (task.artifact.bug_inject,))  # planted twice: its context is gone
    with pytest.raises(WorldError, match="does not apply"), open_world(backend, broken):
        pass


def test_a_tree_that_cannot_be_made_ready_is_the_bugs_fault_and_a_kill_is_nobodys(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was booked as a lost sandbox: each attempt was played nine times, and eight such bugs ended the run."""

    def fails(kind: type[SelfplayError]) -> None:
        def run(*_: object) -> None:
            raise kind("strip.py takes more than 120 s")

        monkeypatch.setattr(world, "_without_git", run)
        with open_world(backend, task):
            pytest.fail("it was opened")

    with pytest.raises(WorldError, match=r"cannot be built: strip\.py takes more than 120 s"):
        fails(InsideError)
    with pytest.raises(ProgramKilled):
        fails(ProgramKilled)
