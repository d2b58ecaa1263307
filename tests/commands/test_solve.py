"""`selfplay solve` on a finished run of the tiny repository: what it attempts and stores, and what it refuses."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import tiny_repository
from commands.solved_runs import attempts, pair, run, solved
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay import patches
from selfplay.agent.trajectory_file import load as load_trajectory

__all__ = ["pair", "run", "solved"]

pytestmark = pytest.mark.slow  # a whole run to attempt, and many attempts


def test_every_bug_is_attempted_and_every_attempt_kept(solved: tuple[Path, Done]) -> None:
    run, done = solved
    assert done.code == 0, done.err
    found = done.json["solving"]["naive"]["order_1"]
    assert (found["bugs"], found["attempts"]) == (2, 4) and sum(found["histogram"].values()) == 2
    assert json.loads((run / "summary.json").read_text()) == done.json
    ids = {bug["id"] for bug in done.json["bugs"]}
    assert {(a.bug, a.policy, a.number) for a in attempts(run)} == {(bug, "naive", n) for bug in ids for n in (0, 1)}
    for attempt in attempts(run):
        assert attempt.resolved == (attempt.reason == "resolved")
        trajectory = load_trajectory(
            run / "trajectories" / f"{attempt.bug}-naive-{attempt.number:03d}-solver.jsonl.zst"
        )
        assert trajectory.role == "solver" and trajectory.submission == "/testbed"
        assert not any(patches.is_test_file(path) for path in patches.touched_paths(attempt.diff))


@pytest.mark.slow
def test_the_gold_patch_is_resolved_and_the_untouched_world_is_not(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    for policy in ("gold", "empty"):
        done = selfplay("solve", run, "--attempts", 1, "--policy", policy, "--json")
        assert done.code == 0, done.err
        for order in ("order_1", "order_2"):  # the second-order bugs, too
            rates = done.json["solving"][policy][order]
            assert rates["bugs"] > 0 and rates["resolved"] == (rates["attempts"] if policy == "gold" else 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--policy", "nobody"), "there is no policy 'nobody'"),
        (("--attempts", 0), "Invalid value for '--attempts'"),
    ],
)
def test_what_cannot_be_asked_for(selfplay: Command, run: Path, options: tuple[object, ...], says: str) -> None:
    done = selfplay.here("solve", run, *options)
    assert done.code == 2 and says in done.err


def test_a_folder_without_a_curriculum_and_a_run_without_its_original(
    selfplay: Command, run: Path, tmp_path: Path
) -> None:
    done = selfplay.here("solve", tmp_path / "nothing")
    assert done.code == 2 and f"{tmp_path / 'nothing'} has no curriculum" in done.err
    assert not (tmp_path / "nothing").exists()
    shutil.rmtree(run / "original")
    done = selfplay("solve", run)
    assert done.code == 2 and f"{run / 'original'} is gone" in done.err


def test_a_corrupt_row_is_a_clear_error(selfplay: Command, run: Path) -> None:
    with sqlite3.connect(run / "curriculum.sqlite") as database:
        database.execute("UPDATE episodes SET bug = '{\"id\": 3}' WHERE bug IS NOT NULL")
    done = selfplay("solve", run)
    assert done.code == 2 and "selfplay: a row of the pool is damaged: id: a text is needed, not 3" in done.err


def test_the_run_is_shown_with_its_figures(selfplay: Command, solved: tuple[Path, Done]) -> None:
    done = selfplay("show", solved[0])
    assert done.code == 0, done.err
    for line in (
        "changed lines",
        "near-duplicates",
        "entropy over functions",
        "gold patch resolved",
        "mean solve rate",
    ):
        assert line in done.out


@pytest.mark.slow
def test_a_leaking_bug_reaches_no_solver(selfplay: Command, source: Callable[..., Path], tmp_path: Path) -> None:
    code = ("tinyshop/prices.py", "tinyshop/stock.py", "tinyshop/words.py")
    pasted = "\n".join(tiny_repository.FILES[path] for path in code)
    repository, out = source({**tiny_repository.FILES, "docs/notes.txt": pasted}), tmp_path / "out"
    assert selfplay("curriculum", repository, "--out", out, "--bugs", 1, "--strategy", "removal").code == 0
    done = selfplay("solve", out, "--attempts", 1, "--policy", "naive")
    assert done.code == 2 and "could be attempted" in done.err, done.err
    assert "is left out: docs/notes.txt gives" in done.err
    quality = json.loads((out / "summary.json").read_text())["quality"]
    assert (quality["leaking"], quality["audited"]) == (1, 1) and attempts(out) == []
    with closing(sqlite3.connect(out / "curriculum.sqlite")) as database, database:  # as a stranger's run may say
        database.execute("""UPDATE audits SET clean = 1, findings = '{"state": "clean"}'""")
    again = selfplay("solve", out, "--attempts", 1, "--policy", "naive")
    assert again.code == 2 and "is left out: docs/notes.txt gives" in again.err and attempts(out) == []
