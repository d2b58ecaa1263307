"""`selfplay show`: what it says of a run, a bug and a trajectory, and that it changes nothing and waits for nobody."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.artifact import load, load_bug
from selfplay.curriculum import CurriculumError, open_curriculum, read_pool


def contents(folder: Path) -> dict[str, str]:
    """Every path below a folder and a hash of what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.slow
def test_each_bug_has_its_solve_rate(selfplay: Command, attempted: Path) -> None:
    found = selfplay("show", attempted, "--json").json
    first, *others = found["bugs"]
    assert first["solved"] == {"gold": {"resolved": 1, "attempts": 1}, "searcher": {"resolved": 1, "attempts": 3}}
    assert all(row["solved"] == {} for row in others) and found["second_order_bugs"] == []
    page = selfplay("show", attempted).out
    (line,) = (line for line in page.splitlines() if first["id"] in line)
    assert "searcher 1 of 3" in line and "gold" not in line  # the controls have lines of their own
    bug = selfplay("show", attempted / "bugs" / first["id"])
    assert "solved: gold 1 of 1, searcher 1 of 3 (injector's reward +0.40)" in bug.out  # 1 - 1.8 * 1/3
    assert "solved: no attempts yet" in selfplay("show", attempted / "bugs" / others[0]["id"]).out


@pytest.mark.slow
def test_a_bug_as_json(selfplay: Command, attempted: Path, tmp_path: Path) -> None:
    folder = sorted((attempted / "bugs").iterdir())[0]
    found = selfplay("show", folder, "--json").json
    bug = load_bug(folder)
    assert (found["id"], found["fail_to_pass"], found["attempt_diff"]) == (bug.id, list(bug.fail_to_pass), "")
    assert found["files"]["bug_inject.diff"] == load(folder).bug_inject and len(found["files"]) == 5
    alone = Path(shutil.copytree(folder, tmp_path / "alone" / "bug"))
    assert selfplay("show", alone, "--json").json["solved"] is None
    assert "solved:" not in selfplay("show", alone).out


def test_a_trajectory_as_json(selfplay: Command, run: Path) -> None:
    file = run / "trajectories" / "000000-injector.jsonl.zst"
    found = selfplay("show", file, "--json").json
    assert found["role"] == "injector" and found["steps"][-1]["call"]["tool"] == "submit"


def test_a_run_that_goes_on_is_shown_and_left_as_it_is(selfplay: Command, attempted: Path) -> None:
    (attempted / "bugs" / "mine").mkdir()
    (attempted / "bugs" / "mine" / "notes").write_text("put here by a user")
    with open_curriculum(attempted) as pool:  # clears what belongs to no row, and holds the run
        (attempted / "staging" / "000099").mkdir(parents=True)
        pool.settle({"not merged": "yet"})  # lies in the write-ahead log
        first = pool.bugs()[0].id
        before = contents(attempted)
        done = selfplay("show", attempted)
        assert done.code == 0 and first in done.out, done.err
        with read_pool(attempted) as seen:
            assert seen.settings()["not merged"] == "yet" and seen.episodes.count() == 4
        assert contents(attempted) == before


def test_a_run_on_a_folder_of_others_is_shown_and_nothing_is_cleared_away(selfplay: Command, run: Path) -> None:
    (run / "bugs" / "mine").mkdir()
    before = contents(run)
    assert selfplay("show", run).code == 0
    assert contents(run) == before


@pytest.mark.slow
def test_no_run_and_a_damaged_one(selfplay: Command, run: Path, tmp_path: Path) -> None:
    done = selfplay("show", tmp_path / "nowhere")
    assert done.code == 2 and "is neither a run, nor a bug, nor a trajectory" in done.err
    with pytest.raises(CurriculumError, match="has no curriculum"), read_pool(tmp_path):
        pass
    (run / "curriculum.sqlite").write_text("no database")
    done = selfplay("show", run)
    assert done.code == 2 and "is not a curriculum" in done.err and "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_goes_away_ends_it_in_silence(selfplay: Command, run: Path, options: tuple[str, ...]) -> None:
    bug = sorted((run / "bugs").iterdir())[0]
    with (bug / "bug.json").open("a") as stream:
        stream.write(" " * 100)
    process = selfplay.start("show", bug, *options)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # as `head` does once it has its lines
    said = process.stderr.read().splitlines()
    assert process.wait(60) == 141 and all(line.endswith("so far") for line in said), said


def test_a_pipe_into_head(selfplay: Command, run: Path) -> None:
    with selfplay.start("show", run) as process:
        done = subprocess.run(["head", "-n", "1"], stdin=process.stdout, capture_output=True, text=True, timeout=60)
        assert process.stderr is not None
        assert done.stdout.startswith("Bugs")
        assert all(line.endswith("so far") for line in process.stderr.read().splitlines())
