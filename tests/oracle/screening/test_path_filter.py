"""Which sections of a prediction are applied, which are left out, and which refuse all of it."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from trees import Tree

from selfplay.oracle.screening.path_filter import Screened, screen
from selfplay.patches import deletion, join, parse
from selfplay.patches.quoting import name_line, quote

PYTHON = hand_made.artifact("python")
TREE = Tree({"store/shop.py": "x = 1\n", "tests/test_prices.py": "def test(): ...\n", "tests/helper.py": "h = 1\n"})
ADDED = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+X = 1\n"
CHANGED = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
GONE = "diff --git a/{0} b/{0}\ndeleted file mode 100644\n--- a/{0}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
MODE = "diff --git a/{0} b/{0}\nold mode 100644\nnew mode 100755\n"
LINK = "diff --git a/{0} b/{0}\nnew file mode 120000\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{1}\n"
LINK += "\\ No newline at end of file\n"
MOVED = "diff --git a/{0} b/{1}\nsimilarity index 100%\n{2} from {0}\n{2} to {1}\n"
FIX = CHANGED.format("store/shop.py")


def screened(*diffs: str, tree: Tree = TREE) -> Screened:
    return screen(parse("".join(diffs)), PYTHON, tree)


@pytest.mark.parametrize("form", [ADDED, CHANGED, GONE, MODE])
def test_changes_of_tests_are_left_out_and_the_fix_is_kept(form: str) -> None:
    for path in ("tests/test_prices.py", "tests/test_new.py", "test_repro.py", "tests/data/in.txt"):
        found = screened(FIX, form.format(path))
        assert join(found.kept) == FIX and found.refused is None
        assert [out for out, _ in found.left_out] == [path]


def test_what_steers_the_run_is_refused_and_only_that() -> None:
    found = screened(FIX, ADDED.format("tests/conftest.py"), ADDED.format("tests/test_new.py"))
    assert found.refused == (
        "touches-infrastructure",
        "'tests/conftest.py' configures or extends what runs the tests",
    )
    listed = replace(PYTHON, test_files=(*PYTHON.test_files, "tests/conftest.py"))
    assert screen(parse(CHANGED.format("tests/conftest.py")), listed, TREE).refused is None  # it is restored


def test_a_test_moved_into_the_program_is_copied() -> None:
    for text in (MOVED.format("tests/helper.py", "store/helper.py", "rename"),):
        found = screened(text)
        assert [(one.kind, one.old_path, one.new_path) for one in found.kept] == [
            ("copied", "tests/helper.py", "store/helper.py")
        ]
        assert found.left_out == (("tests/helper.py", "belongs to the tests"),)
    assert screened(MOVED.format("tests/helper.py", "store/helper.py", "copy")).left_out == ()


def test_a_program_moved_among_the_tests_is_removed(tmp_path: Path) -> None:
    found = screened(MOVED.format("store/shop.py", "tests/shop.py", "rename"))
    assert [(one.kind, one.path) for one in found.kept] == [("deleted", "store/shop.py")]
    assert found.left_out == (("tests/shop.py", "belongs to the tests"),)
    moved = MOVED.format("store/shop.py", "tests/shop.py", "rename")
    assert (screened(moved, tree=replace(TREE, edited=frozenset({"store/shop.py"}))).refused or ("",))[0]
    assert screened(MOVED.format("store/shop.py", "tests/shop.py", "copy")).kept == ()


@pytest.mark.parametrize("text", ["", "a\n", "a", "a\n\nb\n", "\n", "a\n\n", "-\n"])
def test_a_deletion_is_gits(tmp_path: Path, text: str) -> None:
    (tmp_path / "gone.txt").write_text(text)
    diff = deletion("gone.txt", text)
    parse(diff)
    env = {"GIT_CEILING_DIRECTORIES": "/", "PATH": os.environ["PATH"]}
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True, env=env)
    assert not (tmp_path / "gone.txt").exists()


@pytest.mark.parametrize(
    ("path", "target", "outcome"),
    [
        ("store/more", "../tests", "left out"),
        ("store/more", "../tests/helper.py", "left out"),
        ("store/tests", "../other", "kept"),
        ("tests", "store", "left out"),  # in place of the folder
        ("store/more", "shop.py", "kept"),
        ("more", "store", "kept"),
        ("store/more", "/etc", "refused"),
        ("store/more", "../../etc", "refused"),
        ("store/more", "deep/../../tests", "refused"),  # `deep` may be a link itself
        ("json", "store", "refused"),
        ("unittest", "store", "refused"),
        ("sitecustomize", "store", "refused"),
        ("usercustomize.py", "store/shop.py", "refused"),
        ("x.dist-info", "store", "left out"),
        ("store/__pycache__", "../tests", "left out"),
    ],
)
def test_links(path: str, target: str, outcome: str) -> None:
    found = screened(LINK.format(path, target))
    assert outcome == ("refused" if found.refused else "left out" if found.left_out else "kept"), found


SHADOWS = """
hashlib.py pluggy.py _pytest/__init__.py pytest_more.py pytest_cov/plugin.py selfplay_witness.py json/__init__.py
sitecustomize/__init__.py usercustomize/__init__.py src/json.py lib/re.py email.cpython-311-x86_64-linux-gnu.so json.so
enum.pyd mock/x.py types/__init__.cpython-311-x86_64-linux-gnu.so
"""
HARMLESS = """
code/examples/run.py site/index.html store/json.py json.txt platform/linux.py types/index.d.ts repro.py src/new.py
store/pytest_helper.py
"""


@pytest.mark.parametrize("path", SHADOWS.split())
def test_a_name_that_shadows_is_refused_added_renamed_or_copied(path: str) -> None:
    for form in (ADDED.format(path), *(MOVED.format("store/shop.py", path, verb) for verb in ("rename", "copy"))):
        assert (screened(form).refused or ("",))[0] == "touches-infrastructure", form


@pytest.mark.parametrize("path", HARMLESS.split())
def test_a_name_that_wins_over_nothing_is_kept(path: str) -> None:
    assert screened(ADDED.format(path)).refused is None


def test_a_package_that_is_there_may_grow_whatever_its_name() -> None:
    grows = ADDED.format("src/packaging/_more.py")
    own = replace(PYTHON, bug_inject=ADDED.format("src/packaging/tags.py"))
    assert screen(parse(grows), own, Tree()).refused is None
    assert screened(grows, tree=Tree({"src/packaging/__init__.py": ""})).refused is None
    assert screened(grows.replace("_more", "__init__")).refused is not None


def test_the_folders_that_pytest_puts_first_count_as_well() -> None:
    """`pkg/tests/__init__.py` makes pytest put `pkg` before all others, when `pkg` is no package."""
    tree = Tree({"pkg/tests/__init__.py": "", "pkg/tests/test_a.py": ""})
    bug = replace(PYTHON, test_files=("pkg/tests/test_a.py",))
    section = parse(ADDED.format("pkg/json.py"))
    assert screen(section, bug, tree).refused is not None
    package = Tree({**tree.files, "pkg/__init__.py": ""})
    assert screen(section, bug, package).refused is None


def test_a_thousand_files_and_odd_names() -> None:
    paths = [f"made/{number}/test_{number}.py" if number % 2 else f"made_{number}.py" for number in range(1000)]
    paths += ["a b.txt", 'q"uote.txt', "tab\there.txt", "caf\u00e9.py", "\udcff\udcfe.bin"]
    text = "".join(
        f"diff --git {quote(f'a/{path}')} {quote(f'b/{path}')}\nnew file mode 100644\n"
        f"--- /dev/null\n{name_line('+++', 'b', path)}\n@@ -0,0 +1 @@\n+x = 1\n"
        for path in paths
    )
    found = screened(FIX, text)
    assert [section.path for section in found.kept] == [
        "store/shop.py",
        *(path for path in paths if "test_" not in path),
    ]
    assert len(found.left_out) == 500 and found.refused is None
