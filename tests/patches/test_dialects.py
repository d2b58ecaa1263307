"""Diffs as other programs write them: each means to us what it means to `git apply`, or is refused with a reason."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from real_git import ENV, RELAXED, Tree, apply, diff, git, git_can, trees, write

from selfplay.patches import PatchError, parse
from selfplay.patches.dialects import read
from selfplay.plain_text import decode

PLAIN = settings(RELAXED, phases=[Phase.explicit, Phase.generate], print_blob=False)
"""Without shrinking: each example starts git a dozen times. Without context lines git applies nothing for sure."""
GIT_SETTINGS = {
    "diff.noprefix": ("--no-prefix",),
    "diff.mnemonicPrefix": ("--src-prefix=i/", "--dst-prefix=w/"),
    "of commit and work tree": ("--src-prefix=c/", "--dst-prefix=w/"),
    "of an object": ("--src-prefix=o/", "--dst-prefix=w/"),
    "prefixes of its own": ("--src-prefix=old/", "--dst-prefix=new/"),
    "core.quotePath off": (),
    "with a summary": ("--stat", "--summary", "-p"),
}
MESSAGE = "mend it\n\nA word of why:\n- one\n+ two\n    --- a/x\n\n* three\n"


def there_in(tree: Tree) -> Callable[[str], bool]:
    folders = {"/".join(path.split("/")[:depth]) for path in tree for depth in range(1, path.count("/") + 1)}
    return lambda path: path in tree or path in folders


def reversed_order(old: Tree, new: Tree, base: Path, *options: str) -> str:
    """What `git diff -R` prints between the same two trees: the patch from old to new, with its prefixes swapped."""
    return diff(new, old, base, "-R", *options)


def committed(old: Tree, new: Tree, base: Path, *command: str) -> str:
    """What a command of git prints of the commit that makes the new tree out of the old."""
    repo = base / "commits"
    shutil.rmtree(repo, ignore_errors=True)
    repo.mkdir()
    git("init", "-q", cwd=repo)
    who = ("-c", "user.name=A U Thor", "-c", "user.email=a@example.invalid")
    for tree, message in ((old, "first\n"), (new, MESSAGE)):
        store = base / "dot"
        shutil.rmtree(store, ignore_errors=True)
        (repo / ".git").rename(store)
        write(tree, repo)
        store.rename(repo / ".git")
        git("add", "-Af", cwd=repo)
        git(*who, "commit", "-q", "--allow-empty", "-m", message, cwd=repo)
    return decode(git(*command, cwd=repo))


def gnu_diff(old: Tree, new: Tree, base: Path, *options: str) -> str:
    write(old, base / "old")
    write(new, base / "new")
    done = subprocess.run(
        ["diff", *options, "old", "new"], cwd=base, capture_output=True, env={**ENV, "TZ": "Asia/Tokyo"}
    )
    return decode(done.stdout)


def same(old: Tree, new: Tree, text: str, base: Path) -> None:
    """The text is read into a diff that makes the new tree."""
    made = read(text, there_in(old))
    assert apply(old, made.text, base) == new
    assert parse(made.text) == made.sections and read(made.text).text == made.text


@pytest.mark.slow
@PLAIN
@given(old=trees, new=trees, how=st.sampled_from(sorted(GIT_SETTINGS)), turned=st.booleans())
def test_what_git_prints_by_any_setting(tmp_path: Path, old: Tree, new: Tree, how: str, turned: bool) -> None:
    assume(git_can(old, diff(old, new, tmp_path, "--no-renames"), tmp_path))
    make = reversed_order if turned else diff
    text = make(old, new, tmp_path, *GIT_SETTINGS[how])
    if how == "diff.noprefix":
        try:
            read(text, there_in(old))
        except PatchError as error:  # a file of the same name may lie in the root: nothing is guessed
            assume("may have a prefix" not in error.message)
    assume(git_can(old, diff(old, new, tmp_path), tmp_path) and text)
    same(old, new, text, tmp_path)


@pytest.mark.slow
@PLAIN
@given(
    old=trees,
    new=trees,
    command=st.sampled_from(
        [("format-patch", "--stdout", "--binary", "-1"), ("show", "--binary"), ("log", "-p", "--binary", "-1")]
    ),
)
def test_what_git_prints_of_a_commit(tmp_path: Path, old: Tree, new: Tree, command: tuple[str, ...]) -> None:
    assume(git_can(old, diff(old, new, tmp_path), tmp_path) and old != new)
    text = committed(old, new, tmp_path, *command)
    same(old, new, text, tmp_path)
    assert "text around the diff was passed over" in read(text, there_in(old)).notes


def regular(tree: Tree) -> Tree:
    """The tree without what a plain diff cannot say: links, modes, binary and empty files."""
    return {
        path: (0o644, content) for path, (mode, content) in tree.items() if mode and content and b"\0" not in content
    }


@pytest.mark.slow
@PLAIN
@given(old=trees.map(regular), new=trees.map(regular), command=st.sampled_from(["-ruN", "-rupN"]))
def test_what_diff_prints(tmp_path: Path, old: Tree, new: Tree, command: str) -> None:
    assume(old != new and git_can(old, diff(old, new, tmp_path), tmp_path))
    text = gnu_diff(old, new, tmp_path, *command.split())
    assume(not any(path.startswith(f"{other}/") for path in {*old, *new} for other in {*old, *new}))
    same(old, new, text, tmp_path)


@pytest.mark.slow
@PLAIN
@given(old=trees.map(regular), new=trees.map(regular))
def test_bare_headers(tmp_path: Path, old: Tree, new: Tree) -> None:
    """Only `---`, `+++` and hunks, as models and reviewing tools write them."""
    whole = diff(old, new, tmp_path, "--no-renames")
    assume(old != new and git_can(old, whole, tmp_path))
    assume(not any(path.startswith(("a/", "b/")) for path in (*old, *new)))  # what only the tree settles is refused
    heads = ("diff --git ", "index ", "new file mode", "deleted file mode")
    sections = parse(whole)
    bare = "".join(
        "".join(f"{line}\n" for line in section.text[:-1].split("\n") if not line.startswith(heads))
        if section.hunks and "diff --git a/x" not in section.text[10:]
        else section.text
        for section in sections
    )
    same(old, new, bare, tmp_path)


HUNK = "@@ -1 +1 @@\n-x = 1\n+x = 2\n"
PLAIN_DIFF = f"--- a/pkg/m.py\n+++ b/pkg/m.py\n{HUNK}"
GIT_DIFF = f"diff --git a/pkg/m.py b/pkg/m.py\n{PLAIN_DIFF}"
BARE = f"diff --git pkg/m.py pkg/m.py\n--- pkg/m.py\n+++ pkg/m.py\n{HUNK}"
TREE = there_in({"pkg/m.py": (0o644, b"x = 1\n"), "setup.py": (0o644, b"x = 1\n")})
MAIL = f"From 0123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] mend\n\n---\n m.py | 2 +-\n\n{GIT_DIFF}-- \n2.39.5\n\n"
READ = {
    "bare headers": PLAIN_DIFF,
    "times after tabs": PLAIN_DIFF.replace("m.py\n", "m.py\t2024-01-01 10:00:00.000000000 +0100\n"),
    "times after blanks": PLAIN_DIFF.replace("m.py\n", "m.py 2024-01-01 10:00:00\n"),
    "Mercurial": f"# HG changeset patch\n# User a\nmend\n\ndiff -r 0123 pkg/m.py\n{PLAIN_DIFF}",
    "Mercurial's times": PLAIN_DIFF.replace("m.py\n", "m.py\tThu Jan 01 10:00:00 2024 +0000\n"),
    "Subversion": f"Index: pkg/m.py\n{67 * '='}\n--- pkg/m.py\t(revision 3)\n+++ pkg/m.py\t(working copy)\n{HUNK}",
    "Subversion's properties": "Index: pkg/m.py\n=====\n--- pkg/m.py\t(revision 3)\n+++ pkg/m.py\t(working copy)\n"
    f"{HUNK}\nProperty changes on: pkg/m.py\n{67 * '_'}\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n",
    "no prefixes": BARE,
    "reversed": GIT_DIFF.replace("a/pkg", "x/pkg").replace("b/pkg", "a/pkg").replace("x/pkg", "b/pkg"),
    "a mail": MAIL,
    "fences and words": f"Here it is:\n\n```diff\n{GIT_DIFF}```\nIt works now.\n",
    "ids that are none": GIT_DIFF.replace("--- a", "index abcdefg..hijklmn 100644\n--- a"),
    "diff -ru with a file on one side": f"Only in new/pkg: more.py\ndiff -ru old/pkg/m.py new/pkg/m.py\n"
    f"{PLAIN_DIFF.replace('a/', 'old/').replace('b/', 'new/')}",
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name: str) -> None:
    made = read(READ[name], TREE)
    assert made.text.replace("diff --git a/pkg/m.py b/pkg/m.py\n", "").endswith(PLAIN_DIFF), made.text
    assert [section.path for section in made.sections] == ["pkg/m.py"]
    assert made.notes or made.text == GIT_DIFF


def test_a_file_that_is_new_or_gone_is_told_by_what_programs_write() -> None:
    new = "@@ -0,0 +1 @@\n+x\n"
    for old, kind in (
        ("/dev/null", "added"),
        ("/dev/null\tThu Jan 01 00:00:00 1970 +0000", "added"),
        ("a/pkg/n.py\t1970-01-01 09:00:00.000000000 +0900", "added"),
        ("a/pkg/n.py\t(nonexistent)", "added"),
        ("a/pkg/n.py", "added"),  # it is not in the tree
        ("a/pkg/m.py", "modified"),  # it is, and says so by failing when it is not empty
    ):
        path = "m.py" if "m.py" in old else "n.py"
        (section,) = read(f"--- {old}\n+++ b/pkg/{path}\n{new}", TREE).sections
        assert (section.kind, section.path) == (kind, f"pkg/{path}"), old
    gone = "@@ -1 +0,0 @@\n-x = 1\n"
    for stamp in ("/dev/null", "b/pkg/m.py\t1970-01-01 00:00:00 +0000"):
        (section,) = read(f"--- a/pkg/m.py\n+++ {stamp}\n{gone}", TREE).sections
        assert section.kind == "deleted"
    assert read(f"--- a/pkg/m.py\n+++ b/pkg/m.py\n{gone}", TREE).sections[0].kind == "modified"  # an empty file is left


REFUSED = {
    "a prefix or a folder": (BARE.replace("pkg/m.py", "pkg/setup.py"), "neither reading fits"),
    "both": (BARE.replace("pkg/m.py", "pkg/both.py"), "both readings fit"),
    "some with, some without": (GIT_DIFF + BARE.replace("m.py", "n.py"), "some names of the diff"),
    "two files": (PLAIN_DIFF.replace("b/pkg/m.py", "b/pkg/m.py.orig"), "two files"),
    "names that disagree": (GIT_DIFF.replace("+++ b/pkg/m.py", "+++ b/tests/m.py"), "its names differ"),
    "Index and names": (f"Index: other.py\n===\n{PLAIN_DIFF}", "names after it differ"),
    "a count too small": (PLAIN_DIFF + "+y = 3\n", "is longer than its header says"),
    "after a blank line": (PLAIN_DIFF + "\n-y = 3\n", "is longer than its header says"),
    "a count too large": (PLAIN_DIFF.replace("-1 +1", "-1,2 +1,2"), "shorter than its header"),
    "no numbers": (PLAIN_DIFF.replace("@@ -1 +1 @@", "@@ @@"), "malformed hunk header"),
    "a section cut off": (f"--- a/x\n+++ b/x\n{GIT_DIFF}", "without a hunk"),
    "a lost header": (f"{GIT_DIFF}\nnew file mode 100644\n", "not part of a git diff"),
    "a hunk alone": (HUNK, "not part of a git diff"),
    "a combined diff": (f"diff --cc pkg/m.py\n{GIT_DIFF}", "not part of a git diff"),
    "a context diff": ("*** a/x\n--- b/x\n***************\n", "not part of a git diff"),
    "binary files": (f"diff -r old/x new/x\nBinary files old/x and new/x differ\n{PLAIN_DIFF}", "without its content"),
    "a binary file of Subversion": (
        "Index: x.png\n===\nCannot display: file marked as a binary type.\n",
        "its content",
    ),
    "a mail in another encoding": (MAIL.replace("Subject", "Content-Transfer-Encoding: base64\nSubject"), "encoded"),
    "two answers": (f"```diff\n{GIT_DIFF}```\nor\n```diff\n{GIT_DIFF.replace('m.py', 'n.py')}```\n", "several blocks"),
    "two commits": (f"commit 1\n\n{GIT_DIFF}\ncommit 2\n\n{GIT_DIFF}", "two sections for"),
    "neither side": ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "on neither side"),
    "an absolute name": (PLAIN_DIFF.replace("a/pkg", "/tmp").replace("b/pkg", "/tmp"), "it touches"),
    "out of the tree": (PLAIN_DIFF.replace("pkg/", "../"), "it touches"),
    "git's own folder": (PLAIN_DIFF.replace("pkg/m.py", ".git/config"), "it touches"),
    "a new file without its mode": (GIT_DIFF.replace("--- a/pkg/m.py", "--- /dev/null"), "do not fit"),
    "words alone": ("I could not mend it.\n", "not part of a git diff"),
    "an announcement": ("Index: pkg/m.py\n", "followed by no change"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    text, why = REFUSED[name]
    tree = there_in({"pkg/m.py": (0o644, b""), "pkg/both.py": (0o644, b""), "both.py": (0o644, b"")})
    with pytest.raises(PatchError) as caught:
        read(text, tree)
    assert why in caught.value.message


def test_without_the_tree_nothing_is_guessed() -> None:
    with pytest.raises(PatchError, match="may have a prefix or not"):
        read(BARE)
    assert read(PLAIN_DIFF).sections and read(BARE.replace("pkg/m.py", "setup.py")).sections  # no folder, no prefix
