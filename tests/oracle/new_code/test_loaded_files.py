"""Which new files of a prediction are part of the program: code that nobody looks at is where a wrong repair hides."""

from collections.abc import Callable, Collection, Mapping

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab, write
from oracle.new_code.test_judge import BRANCH, SAME, graded

from selfplay import patches
from selfplay.oracle.new_code.left_files import WHY
from selfplay.oracle.new_code.loaded_files import loaded_files
from selfplay.oracle.new_code.other_files import unread_code

TREE = {
    "setup.py": "from setuptools import setup\n",
    "src/pkg/__init__.py": "from ._cached import x\nfrom . import debug\n",
    "src/pkg/_cached.py": "x = 1\n",
    "src/space/tool.py": "try:\n    import fast_tool\nexcept ImportError:\n    fast_tool = None\n",
}


class Tree:
    """An original of these files."""

    def __init__(self, files: Mapping[str, str] = TREE) -> None:
        self.files = files

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def changed(self, path: str) -> bool:
        return False

    def there(self, path: str) -> bool:
        return path in self.files

    def below(self, folder: str) -> Collection[str]:
        return [path for path in self.files if path.startswith(folder)]

    def sources(self) -> Collection[str] | None:
        return list(self.files)


@pytest.mark.parametrize(
    ("path", "loaded"),
    [
        ("src/pkg/_cached/__init__.py", True),  # it wins over the module of its name, which nobody changed
        ("src/pkg/_other.py", True),  # whatever finds it
        ("src/space/more.py", True),  # beside the changed file, in a package without `__init__`
        ("fast_tool.py", True),  # an unchanged file asks for it, and went on without
        ("repro.py", False),
        ("scripts/repro.py", False),
        ("setuptools_left.py", False),
        ("_cached.py", False),  # a module of a package has its name
        ("debug.py", False),
    ],
)
def test_a_new_file_is_of_the_program_where_something_may_load_it(path: str, loaded: bool) -> None:
    found = loaded_files({path: "x = 2\n"}, {"src/space/tool.py": "x = 1\n"}, Tree(), {"src/space"})
    assert found == ({path} if loaded else set())


@pytest.mark.parametrize(
    "loads",
    [
        "import repro",
        "pkgutil.resolve_name('re' + 'pro')",
        "runpy.run_path(name)",
        "__import__(name)",
        "import_module(n)",
    ],
)
def test_a_changed_file_may_load_any(loads: str) -> None:
    assert loaded_files({"repro.py": "x = 2\n"}, {"src/space/tool.py": loads}, Tree(), ()) == {"repro.py"}


def test_a_tree_that_is_too_large_to_be_read_may_load_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tree, "sources", lambda self: None)
    assert loaded_files({"repro.py": "x = 2\n"}, {}, Tree(), ()) == {"repro.py"}


@pytest.mark.slow
def test_a_package_in_the_place_of_a_module_is_judged(lab: Callable[[str], Lab]) -> None:
    """With the bug left in `money.py`, and what is wrong for large amounts in a package that is imported instead."""
    grade = graded(lab("python"), {"ledger/money/__init__.py": BRANCH})
    assert {one.partition(":")[0] for one in grade.weaknesses} >= {"coverage", "parts"}


@pytest.mark.slow
def test_a_script_left_behind_changes_nothing(lab: Callable[[str], Lab]) -> None:
    grade = graded(lab("python"), {"ledger/money.py": MONEY, "repro.py": BRANCH, "scripts/look.py": SAME})
    assert grade.resolved and not grade.weaknesses


@pytest.mark.slow
def test_what_runs_and_is_no_source_is_suspect(lab: Callable[[str], Lab]) -> None:
    """An extension module wins over the source of its name; this one has none, so that the tests pass."""
    here = lab("python")
    made = {"ledger/money.py": SAME, "ledger/extra.cpython-311-x86_64-linux-gnu.so": "\x7fELF\n"}
    code = here.grade(here.diff(lambda root: write(root, made)))
    assert (code.resolved, code.reason) == (False, "suspect") and "is code that is no source" in code.detail

    def link(root: object) -> None:
        write(root, {"ledger/money.py": SAME})  # type: ignore[arg-type]
        (root / "ledger/other").symlink_to("../docs")  # type: ignore[operator]

    linked = here.grade(here.diff(link))
    assert (linked.resolved, linked.reason) == (
        False,
        "suspect",
    ) and "ledger/other is a link in the program" in linked.detail


def test_a_source_and_what_is_taken_away_are_read() -> None:
    (gone,) = patches.parse(patches.deletion("a/b.so", "x\n"))
    assert unread_code(gone, Tree(), ()) == ""
    head = "diff --git a/{0} b/{0}\nnew file mode 120000\n--- /dev/null\n+++ b/{0}\n"
    link = head + "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    for path, said in (("latest", ""), ("src/pkg/more", "src/pkg/more is a link in the program")):
        (made,) = patches.parse(link.format(path))
        assert unread_code(made, Tree(), ()) == said


@pytest.mark.slow
def test_what_is_left_behind_is_not_there_for_what_would_load_it(lab: Callable[[str], Lab]) -> None:
    """A resolver of names that no list of loaders holds; and data in a file that looks like a backup."""
    resolver = "import logging.config\n\nshare = logging.config.BaseConfigurator({}).resolve('notes' + '_x.share')\n"
    grade = graded(lab("python"), {"ledger/money.py": resolver, "notes_x.py": MONEY})
    assert not grade.resolved and ("notes_x.py", WHY) in grade.left_out
    backup = "from pathlib import Path\n\nexec(Path(__file__).with_suffix('.bak').read_text())\n"
    grade = graded(lab("python"), {"ledger/money.py": backup, "ledger/money.bak": MONEY})
    assert not grade.resolved and [path for path, _ in grade.left_out] == ["ledger/money.bak"]


@pytest.mark.slow
def test_a_prediction_of_nothing_but_what_is_left_behind_is_empty(lab: Callable[[str], Lab]) -> None:
    grade = graded(lab("python"), {"repro.py": MONEY})
    assert grade.reason == "empty" and grade.left_out == (("repro.py", WHY),)
