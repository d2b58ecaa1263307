"""Test files run alone, and the whole suite where these could not say as much. A real suite of pytest's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import hand_made
import pytest
from repository_fixtures import backend, cache, write

from selfplay.artifact import Artifact
from selfplay.repository import Prepared, prepare
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend
from selfplay.validators import Thresholds, Validation, validate
from selfplay.validators.common import variant
from selfplay.validators.partial_runs import buggy_again, part_of
from selfplay.workbench import Workbench

__all__ = ["backend", "cache"]
pytestmark = pytest.mark.slow
CODE = {"shop.py": "def price(n):\n    return 3 * n\n", "labels.py": "def label(n):\n    return f'<{n}>'\n"}
PRICES = """
from shop import price

def test_none():
    assert price(0) == 0

def test_two():
    assert price(2) == 6
"""
OTHERS = """
from labels import label

def test_a():
    assert label(1) == '<1>'

def test_b():
    assert label('')
"""
FILES = {**CODE, "test_prices.py": PRICES, "test_others.py": OTHERS}
BUG = hand_made.substitute("shop.py", "3 * n", "2 * n")
WEAKER = hand_made.substitute("test_prices.py", "    assert price(2) == 6\n", "    price(2)\n")
FIRST = {"test_prices.py::test_none", "test_prices.py::test_two"}


@dataclass(frozen=True)
class Project:
    """One environment, and trees of a test's own above it."""

    backend: Backend
    bare: Prepared
    folder: Path

    def bench(self, files: dict[str, str], bug: Callable, weaker: Callable, script: str = "") -> Workbench:
        tree = write(self.folder / "tree", files)
        broken = write(self.folder / "broken", files)
        bug(broken)
        tests = sorted(name for name in files if name.startswith("test_"))
        artifact = Artifact(
            test_files=tuple(tests),
            test_script=script or render_script(tests),
            test_parser=PARSER,
            bug_inject=hand_made.diff(tree, bug),
            test_weaken=hand_made.diff(broken, weaker),
        )
        prepared = replace(self.bare, tree=tree, source="project", bytecode=None)
        return Workbench(self.backend, prepared.world(), artifact)


@pytest.fixture(scope="module")
def bare(backend: Backend, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    files = {"README": "", "a.py": ""}
    return prepare(str(write(tmp_path_factory.mktemp("bare"), files)), backend=backend, cache=cache)


@pytest.fixture
def project(backend: Backend, bare: Prepared, tmp_path: Path) -> Project:
    return Project(backend, bare, tmp_path)


def checked(bench: Workbench, files: int = 1) -> Validation:
    least = Thresholds(min_passing_tests=1, min_failing_tests=1, min_changed_files=files)
    return validate(bench.artifact, bench, least)


def test_a_file_that_the_weakening_leaves_alone_runs_twice_in_all(project: Project) -> None:
    bench = project.bench(FILES, BUG, WEAKER)
    part = part_of(bench, {"test_prices.py"})
    assert part is not None and set(part.run().outcomes) == FIRST
    first = variant(bench, bench.artifact.bug_inject)
    assert buggy_again(bench) is first
    result = checked(bench)
    assert result.valid, result.reason
    assert result.fail_to_pass == ("test_prices.py::test_two",)
    assert [(verdict.check, verdict.runs) for verdict in result.verdicts if verdict.runs] == [("determinism", 1)]


BEFORE = """
import shop

def test_before():
    shop.seen = True

def test_c():
    assert shop.price(0) == 0
"""
AFTER = f"""{PRICES}
def test_after():
    import shop
    assert shop.seen
"""
LENT = """
import test_prices

def test_lent():
    assert test_prices.LEFT
"""


@pytest.mark.parametrize(
    ("files", "weaker"),
    [
        pytest.param({**FILES, "test_before.py": BEFORE, "test_prices.py": AFTER}, WEAKER, id="needs another file"),
        pytest.param({**FILES, "conftest.py": ""}, hand_made.substitute("conftest.py", "", "#"), id="no test file"),
        pytest.param(
            {**FILES, "test_lent.py": LENT, "test_prices.py": "LEFT = 1\n" + PRICES},
            lambda root: [hand_made.substitute("test_prices.py", "LEFT = 1\n", "LEFT = 0\n")(root), WEAKER(root)],
            id="lends to another file",
        ),
        pytest.param({name: text for name, text in FILES.items() if name != "test_others.py"}, WEAKER, id="all tests"),
    ],
)
def test_where_a_part_says_less_the_whole_suite_runs_again(project: Project, files, weaker) -> None:
    bench = project.bench(files, BUG, weaker)
    first = variant(bench, bench.artifact.bug_inject)
    again = buggy_again(bench)
    assert again is not first and again is variant(bench, bench.artifact.bug_inject, repeat=1)
    assert again.outcomes == first.outcomes


def test_a_script_of_somebody_else_runs_whole(project: Project) -> None:
    script = render_script(["test_others.py", "test_prices.py"]).replace("set -u\n", "set -u; true\n")
    bench = project.bench(FILES, BUG, WEAKER, script)
    assert bench.of_files(["test_prices.py"]) is None
    assert buggy_again(bench) is variant(bench, bench.artifact.bug_inject, repeat=1)


@pytest.mark.parametrize(("second", "valid"), [("'>'", True), ("f'<{n}>' + ''", False)])
def test_each_file_of_a_bug_matters(project: Project, second: str, valid: bool) -> None:
    """Three test files of which the bug breaks tests in one or two."""

    def bug(root: Path) -> None:
        BUG(root)
        hand_made.substitute("labels.py", "f'<{n}>'", second)(root)

    more = "def test_more():\n    pass\n\n\n" * 6
    bench = project.bench({**FILES, "test_more.py": more.replace("more", "{}").format(*"abcdef")}, bug, WEAKER)
    result = checked(bench, files=2)
    assert result.valid == valid
    if not valid:
        assert result.reason == "inverse_mutation: restoring 'labels.py' alone makes no failing test pass"
    else:
        flips = next(verdict for verdict in result.verdicts if verdict.check == "inverse_mutation").details["flips"]
        assert flips == {"labels.py": 1, "shop.py": 1}
