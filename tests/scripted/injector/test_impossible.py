"""Runs that cannot succeed say why, before an episode is played and in each that is."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_repository
from playing import played as play

from selfplay.agent import Finish, Trajectory
from selfplay.repository import Prepared, Suite, measure_suite, prepare
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.sandbox import Backend
from selfplay.scripted.injector.impossible import OTHER_CODE, impossible
from selfplay.scripted.injector.script import scripted_injector
from selfplay.scripted.injector.survey import Survey, survey_of

CODE = "def price(count, cents):\n    count = max(count, 0)\n    return count * cents\n"
TEST = "from shop import price\ndef test_it():\n    assert price(2, 3) == 6\n"


def suite_of(tests: int) -> Suite:
    return Suite(("test_shop.py",), {f"test_shop.py::test_{n}": 0.1 for n in range(tests)})


def task(strategy: Strategy = "removal", tests: int = 10, **more: int) -> InjectorTask:
    return InjectorTask(strategy, 0, 0, suite_of(tests), **more)


def survey(
    *files: str, code: str = CODE, line: int = 2, tests: int = 1, changed: frozenset[str] = frozenset()
) -> Survey:
    """Files of the same `code`, whose `line` so many tests run."""
    reached = {path: {line: frozenset(range(tests))} for path in files}
    names = tuple(f"test_shop.py::test_{n}" for n in range(tests))
    return Survey(names, {**dict.fromkeys(files, code), "test_shop.py": TEST}, reached, changed)


def test_an_ordinary_repository_is_possible() -> None:
    known = survey("shop.py", changed=frozenset({"shop.py"}))
    assert [impossible(task(strategy), known) for strategy in ("removal", "direct", "history")] == [""] * 3


@pytest.mark.parametrize(
    ("asked", "known", "reason"),
    [
        (task(tests=3), survey("shop.py"), "the suite has 3 usable tests, and a bug needs 5 (min-passing)"),
        (
            task(tests=1, min_passing_tests=1),
            survey("shop.py"),
            "the suite has 1 usable test, and a bug needs 1 that fail (min-failing) and one that does not",
        ),
        (task(), survey(), f"no Python function of the tree is reached by tests: {OTHER_CODE}"),
        (task(), survey("shop.py", line=1), f"no Python function of the tree is reached by tests: {OTHER_CODE}"),
        (
            task(),
            replace(survey(), installed=("shop",)),
            "the tests import the installed package shop, not the one in the tree",
        ),
        (
            task("history"),
            survey("shop.py", changed=frozenset({"setup.py"})),
            "the history strategy finds no commit that changes code that tests reach",
        ),
        (
            task("history", min_changed_files=2),
            survey("shop.py", "wares.py", changed=frozenset({"shop.py"})),
            "past commits change 1 file that tests reach, --min-files asks for 2",
        ),
        (
            task(min_changed_files=3),
            survey("shop.py", "wares.py"),
            "the removal strategy can change 2 files that tests reach, --min-files asks for 3",
        ),
        (
            task("direct"),
            survey("shop.py", code="def price(a):\n    return a\n"),
            "the direct strategy finds no line that it can change and that 1 to 60 tests run",
        ),
        (
            task(tests=70),
            survey("shop.py", tests=61),
            "the removal strategy finds no line that it can change and that 1 to 60 tests run",
        ),
        (task("feature"), survey("shop.py"), "the scripted injector adds no features"),
    ],
)
def test_the_reason_is_told(asked: InjectorTask, known: Survey, reason: str) -> None:
    assert impossible(asked, known) == reason


Source = Callable[..., Prepared]


@pytest.fixture
def prepared(backend: Backend, tmp_path: Path) -> Source:
    def make(files: Mapping[str, str], **options: str) -> Prepared:
        folder = tiny_repository.make(tmp_path / "project", files, past=())
        tmp_path.chmod(0o755)
        return prepare(str(folder), backend=backend, cache=tmp_path / "cache", **options)

    return make


def played(prepared: Prepared, backend: Backend, strategy: Strategy, tmp_path: Path) -> Trajectory:
    suite = measure_suite(prepared, backend)
    known = survey_of(prepared, suite, backend, tmp_path / "cache")
    asked = InjectorTask(strategy, 0, 0, suite, min_passing_tests=1)
    with backend.open(prepared.world(history=True)) as sandbox:
        return play(scripted_injector(asked, known), sandbox)


@pytest.mark.long
def test_one_commit_of_history(prepared: Source, backend: Backend, tmp_path: Path) -> None:
    """The commit that brought the files changes none of them."""
    files = {"shop.py": CODE, "test_shop.py": TEST + "def test_nothing(): pass\n"}
    ended = played(prepared(files), backend, "history", tmp_path)
    assert (ended.finish, ended.error, ended.steps) == (Finish.GAVE_UP, "", ())
    assert ended.last_words == "the history strategy finds no commit that changes code that tests reach"


@pytest.mark.long
def test_code_that_no_test_runs_in_python(prepared: Source, backend: Backend, tmp_path: Path) -> None:
    files = {
        "shop.py": "from math import gcd\n",
        "test_shop.py": "import shop\ndef test_it(): assert shop.gcd(4, 6) == 2\ndef test_other(): pass\n",
    }
    ended = played(prepared(files), backend, "removal", tmp_path)
    assert ended.finish is Finish.GAVE_UP
    assert ended.last_words == f"no Python function of the tree is reached by tests: {OTHER_CODE}"


@pytest.mark.long
def test_an_episode_that_tries_in_vain_says_what_went_wrong(prepared: Source, backend: Backend, tmp_path: Path) -> None:
    """The tests run the code and look at nothing it does: each of the 8 tries changes what no test notices, until
    nothing is left to change."""
    files = {"shop.py": CODE, "test_shop.py": "import shop\ndef test_it(): shop.price(2, 3)\ndef test_other(): pass\n"}
    ended = played(prepared(files), backend, "direct", tmp_path)
    assert ended.finish is Finish.GAVE_UP and ended.error == ""
    assert ended.last_words == "none of 8 tries made a bug: nothing is left to change (7), too few tests fail (1)"
