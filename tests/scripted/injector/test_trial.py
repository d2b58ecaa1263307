"""Of a slow suite in a language without a survey, changes that few test files load are tried first."""

import random
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import Suite
from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector.sources import Sources, read_sources
from selfplay.scripted.injector.trial import SLOW_SECONDS, _PlantingTrial
from selfplay.scripted.policy import Script

FILES = {
    "src/add.js": "exports.add = (a, b) => a + b;\n",
    "src/shop.js": "const { add } = require('./add');\nexports.price = (n) => add(n, n);\n",
    "test/add.test.js": "require('../src/add');\n",
    "test/shop.test.js": "require('../src/shop');\n",
}
SECONDS = {"test/add.test.js::adds": 8.0, "test/shop.test.js::prices": 2.0}


class Planned:
    """A planner of two changes: all tests load the first file, one of them, with a fifth of the time, the second."""

    def __init__(self) -> None:
        self.waiting = [(PlantedChange(path, "", "", (), ""),) for path in ("src/add.js", "src/shop.js")]

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        yield from ()
        return self.waiting.pop(0) if self.waiting else ()


def first(sources: Sources, suite: Suite) -> str:
    """The path of the first change."""
    trial = _PlantingTrial(InjectorTask("removal", 0, 0, suite), sources, random.Random(0), Planned())
    with pytest.raises(StopIteration) as done:
        next(trial.propose())
    (change,) = done.value.value
    return str(change.path)


@pytest.mark.parametrize(("seconds", "path"), [(SLOW_SECONDS, "src/add.js"), (SLOW_SECONDS + 1, "src/shop.js")])
def test_what_few_test_files_load_comes_first_in_a_slow_suite(tmp_path: Path, seconds: float, path: str) -> None:
    suite = Suite(("test/add.test.js", "test/shop.test.js"), SECONDS, wall_seconds=seconds)
    assert first(read_sources(write(tmp_path, FILES), "javascript"), suite) == path


def test_where_no_file_names_what_it_loads_the_order_stays(tmp_path: Path) -> None:
    """Go's tests load their package: none waits behind others, since none is known to be near."""
    suite = Suite(("test/add.test.js", "test/shop.test.js"), SECONDS, wall_seconds=SLOW_SECONDS + 1)
    bare = {path: text.replace("require", "own") for path, text in FILES.items()}
    assert first(read_sources(write(tmp_path, bare), "javascript"), suite) == "src/add.js"
