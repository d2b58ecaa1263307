"""Run folders as somebody hostile would share them, each through the commands that open one (the cases are in
`benchmarks/hostile`): one typed line, at most 200 MB and 5 s, nothing executed, nothing outside touched."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_fixtures import Command, Done, finished, selfplay, shop, together

from benchmarks.bench_hostile_runs import Commands, play, table
from benchmarks.hostile import Case, cases

__all__ = ["finished", "selfplay", "shop", "together"]
CASES = list(cases())
EVERY = 8
"""`make test` plays every so many."""


@pytest.fixture(scope="module")
def commands(selfplay: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands of a user who made none of these runs."""
    state = str(tmp_path_factory.mktemp("state"))
    found = Commands({**os.environ, "SELFPLAY_CACHE": str(selfplay.cache), "XDG_STATE_HOME": state, "NO_COLOR": "1"})
    yield found
    found.close()


@pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=case.name, marks=pytest.mark.long if number % EVERY else pytest.mark.slow)
        for number, case in enumerate(CASES)
    ],
)
def test_a_hostile_run_is_refused_in_a_line(
    finished: tuple[Path, Done], commands: Commands, tmp_path: Path, number: int, case: Case
) -> None:
    rows = list(play(case, finished[0], tmp_path / "place", commands, seed=number))
    assert rows and not [row for row in rows if row.faults], "\n".join(table(rows))


def test_there_are_enough_cases_and_each_has_its_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 120
    assert all(case.refused or case.tried for case in CASES)
