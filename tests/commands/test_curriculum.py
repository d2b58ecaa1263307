"""`selfplay curriculum` from end to end on a tiny repository: what it makes, and that it always makes the same."""

import json
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest
import tiny_repository
import tiny_shop
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay import patches
from selfplay.agent.trajectory import Finish
from selfplay.agent.trajectory_file import load as load_trajectory
from selfplay.artifact import load, load_bug


def hashes(out: Path) -> list[str]:
    """The content of every bug of a run, in the order they were made."""
    return [load_bug(out / "bugs" / bug["id"]).content_hash for bug in summary(out)["bugs"]]


def summary(out: Path) -> dict:
    return json.loads((out / "summary.json").read_text())


def test_a_run_makes_what_was_asked_for(finished: tuple[Path, Done], shop: Path) -> None:
    out, done = finished
    assert done.code == 0, done.err
    said = done.json
    assert (
        said == summary(out) and said["figures"]["bugs"] == 4 == len(said["bugs"]) and said["stopped"] == "enough bugs"
    )
    assert said["suite"]["tests"] == tiny_shop.COUNT and said["suite"]["files"] == 3
    assert said["commit"] == tiny_repository.git(shop, "rev-parse", "HEAD")
    assert said["tree_hash"] == tiny_repository.git(shop, "rev-parse", "HEAD^{tree}")
    assert sorted(path.name for path in (out / "bugs").iterdir()) == sorted(bug["id"] for bug in said["bugs"])
    assert sum(said["figures"]["by_strategy"].values()) == 4
    for row in said["bugs"]:
        bug, artifact = load_bug(out / "bugs" / row["id"]), load(out / "bugs" / row["id"])
        assert artifact.content_hash() == bug.content_hash and bug.seed == 3 and bug.order == 1
        assert [verdict["passed"] for verdict in bug.verdicts] == [True] * 8
        assert len(bug.fail_to_pass) + len(bug.pass_to_pass) == tiny_shop.COUNT
        assert [section.path for section in patches.parse(artifact.bug_inject)] == row["files"]
        assert all(path.startswith("tinyshop/") for path in row["files"])
        assert all(s.path.startswith("tests/") for s in patches.parse(artifact.test_weaken))


def test_no_two_bugs_are_the_same(finished: tuple[Path, Done]) -> None:
    out, _ = finished
    assert len({load(out / "bugs" / bug["id"]).bug_inject for bug in summary(out)["bugs"]}) == 4


def test_every_episode_has_its_trajectory(finished: tuple[Path, Done]) -> None:
    out, _ = finished
    for episode in range(summary(out)["figures"]["episodes"]):
        trajectory = load_trajectory(out / "trajectories" / f"{episode:06d}-injector.jsonl.zst")
        assert trajectory.role == "injector" and trajectory.finish in (Finish.SUBMITTED, Finish.GAVE_UP)
        assert trajectory.steps[-1].call.tool == "submit" or trajectory.finish == Finish.GAVE_UP


def test_the_original_is_kept_and_the_source_left_alone(finished: tuple[Path, Done], shop: Path) -> None:
    out, _ = finished
    kept = {p.relative_to(out / "original").as_posix(): p.read_text() for p in (out / "original").rglob("*.*")}
    assert kept == tiny_repository.FILES
    assert tiny_repository.git(shop, "status", "--porcelain", "--ignored") == ""


@pytest.mark.long
def test_one_worker_makes_the_same_bugs_as_two(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path, "--bugs", 4, "--seed", 3, "--workers", 1)
    assert done.code == 0, done.err
    assert hashes(tmp_path) == hashes(finished[0])


@pytest.mark.long
def test_a_run_again_adds_nothing_and_with_more_bugs_goes_on(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    copy_of(finished[0], out)
    before = hashes(out)
    again = selfplay("curriculum", shop, "--out", out, "--bugs", 4, "--seed", 3, "--workers", 2)
    assert again.code == 0 and "episode" not in again.err and hashes(out) == before
    more = selfplay("curriculum", shop, "--out", out, "--bugs", 5, "--seed", 3, "--workers", 2)
    assert more.code == 0 and len(hashes(out)) == 5 and hashes(out)[:4] == before


@pytest.mark.slow
def test_other_settings_are_refused(selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    copy_of(finished[0], out)
    done = selfplay("curriculum", shop, "--out", out, "--bugs", 4, "--seed", 4)
    assert done.code == 2 and f"selfplay: {out} was made with seed = 3, not 4" in done.err
    done = selfplay("curriculum", shop, "--out", out, "--bugs", 5, "--seed", 3, "--group", 2)
    assert done.code == 2 and f"selfplay: {out} was made with group = 1, not 2" in done.err


@pytest.mark.long
def test_a_curriculum_of_order_2_does_not_go_on_with_attempts_of_others(
    selfplay: Command, calibrated: Path, shop: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    copy_of(calibrated, out)
    one = ("--bug", summary(out)["bugs"][0]["id"])
    assert selfplay("solve", out, "--policy", "naive", "--name", "scripted", "--attempts", 1, *one).code == 0
    done = selfplay("curriculum", shop, "--out", out, "--bugs", 4, "--seed", 3, "--order", 2, "--attempts", 1)
    assert done.code == 2 and "was made with scripted: policy = 'naive', not 'scripted'" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("--strategy", "removal", "--min-files", 2), ("--strategy", "direct"), ("--strategy", "history")],
)
def test_each_strategy(selfplay: Command, shop: Path, tmp_path: Path, options: tuple[object, ...]) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path, "--bugs", 1, *options)
    assert done.code == 0, done.err
    (row,) = summary(tmp_path)["bugs"]
    assert row["strategy"] == options[1] and len(row["files"]) >= (2 if "--min-files" in options else 1)
    if "direct" in options:
        assert row["changed_lines"] == 2  # one line out, one in
    assert row["id"] in done.out


@pytest.mark.slow
def test_a_history_without_a_past_ends_and_says_why(selfplay: Command, source, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "out"
    done = selfplay("curriculum", source(tiny_repository.FILES), "--out", out, "--bugs", 2, "--strategy", "history")
    assert done.code == 1, done.err
    reason = "the history strategy finds no commit that changes code that tests reach"
    assert f"0 of 2 bugs ({reason})" in done.out
    assert summary(out)["stopped"] == reason and summary(out)["figures"]["episodes"] == 0  # told before one is played


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_stopped_resumes_to_the_same_bugs(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """It asks for more bugs than it can make before it is stopped, and does not go on while others look at it."""
    asked = ("curriculum", shop, "--out", tmp_path, "--seed", 3, "--workers", 2, "--bugs")
    with selfplay.running(*asked, 40) as first:
        first.until("episode 0 ")
        first.pause()
        second = selfplay(*asked, 40)
        assert second.code == 2 and f"another process works on {tmp_path}" in second.err
        code, said = first.ends_by(how)
    assert code == {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}[how]
    if how != signal.SIGKILL:
        assert said.endswith("selfplay: interrupted; the same command resumes\n")
    stored = sqlite3.connect(tmp_path / "curriculum.sqlite").execute("SELECT COUNT(*) FROM episodes").fetchone()[0]
    assert stored >= 1
    done = selfplay(*asked, 4)
    assert done.code == 0, done.err
    assert "episode 0 " not in done.err  # what was stored is not played again
    assert hashes(tmp_path)[:4] == hashes(finished[0])


@pytest.mark.slow
def test_a_run_that_goes_on_says_how_many_bugs_it_has(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(finished[0], tmp_path / "run")
    done = selfplay("curriculum", shop, "--out", run, "--seed", 3, "--workers", 2, "--bugs", 4)
    assert done.code == 0 and "making bugs: 4 of 4\n" in done.err


PHASES = ("building an environment", "collecting the tests", "running the tests again", "under coverage", "making bugs")


@pytest.mark.long
def test_an_interrupt_in_any_phase_ends_the_run_at_once_and_the_next_goes_on(shop: Path, tmp_path: Path) -> None:
    """One run, interrupted in each of its phases in turn, with nothing in its cache at first."""
    tmp_path.chmod(0o755)  # under root, sandboxes run as another user
    command, out = Command(tmp_path / "cache"), tmp_path / "out"
    for phase in PHASES:
        with command.running("curriculum", shop, "--out", out, "--bugs", 2, "--workers", 2) as going:
            going.until(phase)
            asked = time.monotonic()
            code, said = going.ends_by(signal.SIGINT)
            assert time.monotonic() - asked < 20, phase
            assert code == 130 and "Traceback" not in said, (phase, said)
            assert "interrupted; the same command resumes" in said
    done = command("curriculum", shop, "--out", out, "--bugs", 2, "--workers", 2)
    assert done.code == 0 and "collecting the tests" not in done.err and "under coverage" not in done.err
