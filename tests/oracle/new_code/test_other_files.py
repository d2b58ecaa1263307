"""What a patch does beside its code: no input tells what that breaks."""

from collections.abc import Callable

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, PYTHON, Lab, write
from oracle.new_code.test_loaded_files import Tree

from selfplay import patches
from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.new_code.judge import _scope
from selfplay.oracle.new_code.other_files import MOST_BESIDE, changed_beside

TOUCHED = {"src/space/tool.py"}


def section(path: str, old: str = "x\n", new: str = "y\n") -> patches.FilePatch:
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    (found,) = patches.parse(f"{head}@@ -1 +1 @@\n-{old}+{new}")
    return found


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("pyproject.toml", True),
        ("src/pkg/data.json", True),
        ("src/space/table.csv", True),
        ("src/pkg/README.md", False),
        ("speedups.c", True),
        ("tools/install.sh", True),
        ("dev.requirements.txt", True),
        ("poetry.lock", True),
        ("notes.txt", False),
        ("trace.log", False),
        ("CHANGES", False),
        ("CHANGELOG.rst", False),
        (".github/workflows/test.yml", False),
        ("tox.ini", False),
        ("src/pkg/_cached.py", False),  # what a source does is judged by itself
        ("src/space/tool.py", False),
    ],
)
def test_what_a_build_reads_and_data_of_the_program_is_named(path: str, said: bool) -> None:
    found = list(changed_beside([section(path)], TOUCHED, Tree(), {"src/space"}))
    assert found == ([f"{path} is changed, which the bug left as it was"] if said else [])


def test_a_source_that_is_gone_is_named() -> None:
    gone = patches.parse(patches.deletion("src/pkg/_cached.py", "x = 1\n"))
    assert list(changed_beside(gone, (), Tree(), ())) == ["src/pkg/_cached.py is gone, which the bug left as it was"]
    assert list(changed_beside(gone, {"src/pkg/_cached.py"}, Tree(), ())) == []


def test_a_module_that_becomes_a_package_is_gone_and_not_hidden() -> None:
    moved = patches.parse(
        "diff --git a/src/pkg/_cached.py b/src/pkg/_cached/__init__.py\nsimilarity index 100%\n"
        "rename from src/pkg/_cached.py\nrename to src/pkg/_cached/__init__.py\n"
    )
    assert list(changed_beside(moved, (), Tree(), ())) == ["src/pkg/_cached.py is gone, which the bug left as it was"]
    readme = patches.parse(patches.deletion("README.rst", "x\n"))
    assert list(changed_beside(readme, (), Tree(), ())) == ["README.rst is gone, which the bug left as it was"]


def test_a_module_behind_a_new_package_is_named() -> None:
    """An empty first file hides all of it."""
    made = patches.parse(
        "diff --git a/src/pkg/_cached/__init__.py b/src/pkg/_cached/__init__.py\nnew file mode 100644\n"
    )
    said = ["src/pkg/_cached/__init__.py takes the place of src/pkg/_cached.py"]
    assert list(changed_beside(made, (), Tree(), ())) == said


def test_a_file_that_is_emptied_is_beyond_the_bug() -> None:
    text = "LIMIT = 3\n\n\ndef line(name):\n    return name\n"
    said = _scope(ChangedFiles({"a.py": text}, {"a.py": ""}, {"a.py": text}))
    assert said.state == "unavailable" and said.reason.startswith("a.py: `line` is gone, which the bug left as it was")


@pytest.mark.slow
def test_the_right_repair_with_another_build_is_weak(lab: Callable[[str], Lab]) -> None:
    """Its Python files are those of the original."""
    files = {"ledger/money.py": MONEY, "pyproject.toml": PYTHON["pyproject.toml"].replace("= '1'", "= '2'")}
    here = lab("python")
    grade = here.grade(here.diff(lambda root: write(root, files)))
    assert grade.resolved
    assert grade.weaknesses == ("scope: pyproject.toml is changed, which the bug left as it was",)


def test_a_mode_and_a_large_file_are_named() -> None:
    mode = patches.parse("diff --git a/src/pkg/_cached.py b/src/pkg/_cached.py\nold mode 100644\nnew mode 100755\n")
    assert list(changed_beside(mode, (), Tree(), ())) == ["the mode of src/pkg/_cached.py is changed"]
    lines = MOST_BESIDE // 100 + 1
    head = f"diff --git a/blob b/blob\nnew file mode 100644\n--- /dev/null\n+++ b/blob\n@@ -0,0 +1,{lines} @@\n"
    large = head + f"+{'x' * 99}\n" * lines
    assert list(changed_beside(patches.parse(large), (), Tree(), ())) == ["blob is new, and large"]


def test_what_was_there_and_is_no_document_matters() -> None:
    class Had(Tree):
        def there(self, path: str) -> bool:
            return path in ("Dockerfile", "NEWS", "data/table.json")

    for path, said in (("Dockerfile", True), ("data/table.json", True), ("NEWS", False), ("data/other.json", False)):
        assert bool(list(changed_beside([section(path)], (), Had(), ()))) == said
