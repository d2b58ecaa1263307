"""The survey of real repositories, in real sandboxes."""

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import zstandard
from repository_fixtures import write

from selfplay.repository import Prepared, Suite
from selfplay.sandbox import Backend, Limits, Mount, Sandbox, World
from selfplay.scripted.injector import traced
from selfplay.scripted.injector.survey import SurveyFailed, survey_of
from selfplay.scripted.injector.traced import coverage_of, survey_seconds
from selfplay.untrusted_json import inflated

PRICES, TEST = "tinyshop/prices.py", "tests/test_prices.py"
Layer = Callable[[Mapping[str, str]], Prepared]

SANDBOXES = 2
"""Of one survey: one in which nothing of the suite has run, for git, and one for the suite."""


@dataclass
class Counting:
    """A real backend that counts the sandboxes it is asked for."""

    backend: Backend
    opened: int = 0

    @property
    def name(self) -> str:
        return self.backend.name

    def open(self, world: World, limits: Limits = Limits()) -> AbstractContextManager[Sandbox]:
        self.opened += 1
        return self.backend.open(world, limits)

    def close(self) -> None:
        self.backend.close()

    def owner(self) -> tuple[int, int]:
        return self.backend.owner()


@pytest.fixture
def layer(shop: Prepared, tmp_path: Path) -> Layer:
    """The shop's environment over a tree of its own, which is the shop's with these files."""

    def make(files: Mapping[str, str]) -> Prepared:
        tree = tmp_path / "layer"
        shutil.copytree(shop.tree, tree)
        return replace(shop, tree=write(tree, files), tree_hash="a layer of its own", bytecode=None)

    return make


def suite_of(*files: str, seconds: float = 1.0) -> Suite:
    return Suite(files, {f"{files[0]}::test_it": seconds}, wall_seconds=seconds)


def test_it_knows_the_sources_and_which_test_runs_which_line(
    shop: Prepared, suite: Suite, backend: Backend, tmp_path: Path
) -> None:
    survey = survey_of(shop, suite, backend, tmp_path)
    assert survey.texts[PRICES] == (shop.tree / PRICES).read_text()
    line = survey.texts[PRICES].splitlines().index("        result -= result * discount // 100") + 1
    assert [survey.tests[n] for n in survey.tests_of(PRICES, line, line)] == [f"{TEST}::test_discount"]
    assert {target.name for target in survey.targets if target.path == PRICES} == {"total", "shown", "parse"}
    assert survey.changed == {PRICES, "tinyshop/stock.py", "tinyshop/words.py"}  # the tests came with the first commit
    assert survey.installed == ()


def test_a_second_call_runs_nothing_and_says_nothing(
    shop: Prepared, suite: Suite, backend: Backend, tmp_path: Path
) -> None:
    counting, said = Counting(backend), list[str]()
    first = survey_of(shop, suite, counting, tmp_path, said.append)
    assert counting.opened == SANDBOXES and said == ["running the tests under coverage, to learn which code they run"]
    assert survey_of(shop, suite, counting, tmp_path, said.append) == first
    assert counting.opened == SANDBOXES and len(said) == 1


@pytest.mark.slow
def test_another_suite_or_another_tree_is_surveyed_anew(
    shop: Prepared, suite: Suite, backend: Backend, tmp_path: Path
) -> None:
    counting = Counting(backend)
    survey_of(shop, suite, counting, tmp_path)
    survey_of(shop, replace(suite, files=(TEST,)), counting, tmp_path)
    survey_of(replace(shop, tree_hash="another"), suite, counting, tmp_path)
    survey_of(replace(shop, source="the same from elsewhere"), suite, counting, tmp_path)
    assert counting.opened == 3 * SANDBOXES


@pytest.mark.long
@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "other"])
def test_a_damaged_survey_is_made_again(
    damage: str, shop: Prepared, suite: Suite, backend: Backend, tmp_path: Path
) -> None:
    counting = Counting(backend)
    first = survey_of(shop, suite, counting, tmp_path)
    [place] = (tmp_path / "surveys").iterdir()
    whole = place.read_bytes()
    damaged = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "bit": whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:],
        "other": zstandard.compress(json.dumps({"coverage": "{}", "changed": [], "installed": []}).encode()),
    }
    place.write_bytes(damaged[damage])
    assert survey_of(shop, suite, counting, tmp_path) == first and counting.opened == 2 * SANDBOXES
    assert survey_of(shop, suite, counting, tmp_path) == first and counting.opened == 2 * SANDBOXES


def test_a_survey_that_cannot_be_kept_is_used_all_the_same(
    shop: Prepared, suite: Suite, backend: Backend, tmp_path: Path
) -> None:
    (tmp_path / "surveys").write_text("a file where the folder belongs")
    said: list[str] = []
    assert survey_of(shop, suite, backend, tmp_path, said.append).targets
    assert "the survey cannot be kept for later runs" in said[-1]


def test_the_time_limit_grows_with_the_measured_suite() -> None:
    """60 s to start, and ten times what the suite took: 60 + 10 * 0 = 60; 60 + 10 * 0.7 = 67; a suite of 90 s, the
    longest that is measured by default, gets 60 + 10 * 90 = 960, far over the 120 s that a tool of an episode has. A
    suite that computed for 40 s on four cores in 10 s of wall time may have one core now: 60 + 10 * 40 = 460."""
    assert survey_seconds(suite_of("t.py", seconds=0.0)) == 60
    assert survey_seconds(suite_of("t.py", seconds=0.7)) == 67
    assert survey_seconds(suite_of("t.py", seconds=90.0)) == 960
    assert survey_seconds(replace(suite_of("t.py", seconds=10.0), cpu_seconds=40.0)) == 460


@pytest.mark.slow
def test_a_suite_that_takes_too_long_under_coverage(
    layer: Layer, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traced, "START_SECONDS", 1.0)
    prepared = layer({"tests/test_slow.py": "import time\ndef test_it(): time.sleep(60)\n"})
    with pytest.raises(SurveyFailed, match="takes more than 1 s under coverage") as failed:
        survey_of(prepared, suite_of("tests/test_slow.py", seconds=0.0), backend, tmp_path)
    assert "--test" in failed.value.hint and "a model needs no survey" in failed.value.hint
    assert not (tmp_path / "surveys").exists()


@pytest.mark.slow
def test_a_suite_that_cannot_run_under_coverage(layer: Layer, backend: Backend, tmp_path: Path) -> None:
    prepared = layer({"tests/test_end.py": "import os\ndef test_it():\n    os._exit(3)\n"})
    with pytest.raises(SurveyFailed, match="cannot be run under coverage") as failed:
        survey_of(prepared, suite_of("tests/test_end.py"), backend, tmp_path)
    assert "--test" in failed.value.hint


@pytest.mark.slow
def test_packages_that_the_tests_import_from_somewhere_else(layer: Layer, backend: Backend, tmp_path: Path) -> None:
    """The tree holds src/wares, which no path leads to; a copy that is installed answers."""
    code = "def price():\n    return 1\n"
    prepared = layer({
        "src/wares/__init__.py": code,
        "tests/test_wares.py": "from wares import price\ndef test_it(): assert price() == 1\n",
    })  # fmt: skip
    write(tmp_path / "site", {"wares/__init__.py": code})
    installed = replace(
        prepared,
        mounts=(*prepared.mounts, Mount(tmp_path / "site", "/opt/site")),
        env={**prepared.env, "PYTHONPATH": "/opt/site"},
    )
    survey = survey_of(installed, suite_of("tests/test_wares.py"), backend, tmp_path)
    assert survey.installed == ("wares",) and survey.targets == ()


def test_links_and_files_that_are_no_text_are_no_sources(layer: Layer, backend: Backend, tmp_path: Path) -> None:
    prepared = layer(
        {
            "real.py": "def one():\n    return 1\n",
            "tests/test_it.py": "import link, latin\ndef test_it(): link.one(), latin.two()\n",
        }
    )
    (prepared.tree / "link.py").symlink_to("real.py")
    (prepared.tree / "latin.py").write_bytes(b"# coding: latin-1\ndef two():\n    return '\xe9'\n")
    survey = survey_of(prepared, suite_of("tests/test_it.py"), backend, tmp_path)
    assert set(survey.texts) == {"tests/test_it.py", "real.py"}


@pytest.mark.parametrize(
    "report",
    [
        "", "[]", "{}", "{", '"text"', "[" * 100_000,
        '{"tests": [], "sets": [[0]], "files": {"a.py": {"1": 0}}}',
        '{"tests": ["t"], "sets": [[1]], "files": {"a.py": {"1": 0}}}',
        '{"tests": ["t"], "sets": [[-1]], "files": {"a.py": {"1": 0}}}',
        '{"tests": ["t"], "sets": [[0]], "files": {"a.py": {"1": 7}}}',
        '{"tests": ["t"], "sets": [[0]], "files": {"a.py": {"one": 0}}}',
    ],
)  # fmt: skip
def test_a_report_that_the_repository_wrote_itself_is_refused(report: str) -> None:
    with pytest.raises(ValueError):
        coverage_of(report)


def test_a_packed_report_is_bounded() -> None:
    assert inflated(gzip.compress(b"a" * 1000), 1000, gzip=True) == b"a" * 1000
    for data in (gzip.compress(b"a" * 1001), gzip.compress(b"a" * 1000)[:-5], b"", b"no gzip"):
        with pytest.raises(ValueError):
            inflated(data, 1000, gzip=True)
