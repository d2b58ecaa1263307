"""A run of two bugs, before and after two attempts at each of them, for the tests of `selfplay solve` and `grade`."""

from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Command, Done, done_once, with_calibrations
from together import made_once

from selfplay.curriculum import Attempt, open_curriculum


@pytest.fixture(scope="session")
def pair(selfplay: Command, shop: Path, together: Path) -> Path:
    """A finished run of two bugs with their calibrations: copy it, never write to it."""
    out, done = done_once(
        together / "pair", lambda out: selfplay("curriculum", shop, "--out", out, "--bugs", 2, "--seed", 3)
    )
    assert done.code == 0, done.err
    return made_once(together / "pair-calibrated", lambda folder: with_calibrations(selfplay, out, folder))


@pytest.fixture
def run(pair: Path, tmp_path: Path) -> Path:
    return copy_of(pair, tmp_path / "run")


def attempts(run: Path) -> list[Attempt]:
    with open_curriculum(run) as pool:
        return list(pool.attempts.all())


@pytest.fixture(scope="session")
def solved(selfplay: Command, pair: Path, together: Path) -> tuple[Path, Done]:
    """The run after two shallow attempts at each of its two bugs, with second-order bugs made of them."""

    def solve(run: Path) -> Done:
        copy_of(pair, run)
        return selfplay("solve", run, "--attempts", 2, "--policy", "naive", "--promote", 1, "--json")

    return done_once(together / "solved", solve)
