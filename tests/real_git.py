"""Random trees, and what the real git and diff make of them."""

import os
import shutil
import subprocess
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from selfplay.plain_text import decode, encode

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CEILING_DIRECTORIES": "/",
    "LC_ALL": "C.UTF-8",
}
NAMES = (
    "plain_text.py",
    "sp ace.txt",
    "café.c",
    'quo"te',
    "tab\there",
    "back\\slash",
    "b/ in.js",
    decode(b"\xff\xe9.bin"),
    "d",
)
# what goes wrong in diffs: line ends, Latin-1, form feeds, lines that look like a diff's own
LINES = (
    b"one\n",
    b"two\n",
    b"three\r\n",
    b"caf\xe9\n",
    b"\x0cpage\n",
    b"-- \n",
    b"+++ b/x\n",
    b"\n",
    b"diff --git a/x b/x\n",
)
Tree = dict[str, tuple[int, bytes]]
"""Path -> (mode, content); the mode of a link is 0 and its content the target."""

texts = st.builds(
    lambda lines, tail: b"".join(lines) + tail,
    st.lists(st.sampled_from(LINES), max_size=12),
    st.sampled_from((b"", b"last", b"\0\1\2binary")),
)
files = st.one_of(
    st.tuples(st.sampled_from((0o644, 0o755)), texts),
    st.tuples(st.just(0), st.sampled_from((b"gone", b"../../outside", b"nowhere"))),
)
paths = st.builds(str.__add__, st.sampled_from(("", "", "pkg/", "d/")), st.sampled_from(NAMES))


def _consistent(tree: Tree) -> Tree:
    """A path cannot be a file and a folder at once: the file goes."""
    return {path: file for path, file in tree.items() if not any(other.startswith(path + "/") for other in tree)}


trees = st.dictionaries(paths, files, max_size=6).map(_consistent)


def write(tree: Tree, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, (mode, content) in tree.items():
        full = root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        if mode == 0:
            full.symlink_to(content.decode())
        else:
            full.write_bytes(content)
            full.chmod(mode)


def read(root: Path) -> Tree:
    tree = {}
    for full in root.rglob("*"):
        path = str(full.relative_to(root))
        if full.is_symlink():
            tree[path] = (0, str(full.readlink()).encode())
        elif full.is_file():
            tree[path] = (0o755 if full.stat().st_mode & 0o100 else 0o644, full.read_bytes())
    return tree


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["git", *arguments], cwd=cwd, input=stdin, capture_output=True, env=ENV, timeout=20)
    assert done.returncode in (0, 1) if arguments[0] == "diff" else done.returncode == 0, done.stderr
    return done.stdout


def diff(old: Tree, new: Tree, base: Path, *options: str) -> str:
    """What `git diff` says between two trees, made in a throw-away repository."""
    repo = base / "repo"
    write(old, repo)
    git("init", "-q", cwd=repo)
    git("add", "-Af", cwd=repo)
    before = git("write-tree", cwd=repo).decode().strip()
    for entry in repo.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    store = (base / "store").absolute()
    shutil.rmtree(store, ignore_errors=True)
    (repo / ".git").rename(store)
    write(new, repo)
    store.rename(repo / ".git")
    git("add", "-Af", cwd=repo)
    after = git("write-tree", cwd=repo).decode().strip()
    return decode(git("diff", "--binary", *options, before, after, cwd=repo))


def apply(tree: Tree, text: str, base: Path) -> Tree:
    """The tree after `git apply` outside any repository."""
    root = base / "applied"
    write(tree, root)
    if text:
        git("apply", "--whitespace=nowarn", "-", cwd=root, stdin=encode(text))
    return read(root)


def git_can(tree: Tree, text: str, base: Path, *options: str) -> bool:
    """Whether git applies its own diff here: it refuses some that turn a link into a folder of the same name."""
    write(tree, base / "tried")
    command = ["git", "apply", "--whitespace=nowarn", *options, "-"]
    return (
        not text
        or not subprocess.run(
            command, cwd=base / "tried", input=encode(text), capture_output=True, env=ENV, timeout=20
        ).returncode
    )


RELAXED = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
