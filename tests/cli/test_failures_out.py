"""Folders of runs that cannot be written, are full, or are something else: one message that says what to do."""

import os
from pathlib import Path

import pytest
from cli.refusals import refused
from mounted_places import mounted
from run_fixtures import Command


@pytest.mark.slow
def test_a_read_only_out(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    done = mounted(selfplay, tmp_path / "ro", "ro")("curriculum", shop, "--out", tmp_path / "ro" / "run")
    refused(done, f"{tmp_path}/ro/run", "Read-only file system", "Give another --out")
    made = mounted(selfplay, tmp_path / "made", "size=1m", f"mkdir run && mount -o remount,ro {tmp_path}/made")
    refused(made("curriculum", shop, "--out", tmp_path / "made" / "run"), "Read-only file system", "Give another --out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_out_without_permission(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o555)
    refused(selfplay("curriculum", shop, "--out", tmp_path / "mine"), "Permission denied", "change its permissions")


@pytest.mark.parametrize("size", ["4k", "40k", "120k", "300k"])
@pytest.mark.long
def test_a_full_out(selfplay: Command, shop: Path, tmp_path: Path, size: str) -> None:
    """Full before the pool is there, while it is made, while the original is written, while episodes are stored."""
    full = mounted(selfplay, tmp_path / "full", f"size={size}")
    refused(full("curriculum", shop, "--out", tmp_path / "full" / "run", "--bugs", 2), "space", "same command resumes")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["solve", "curriculum"])
def test_a_run_that_is_resumed_on_a_full_disk(
    selfplay: Command, shop: Path, run: Path, tmp_path: Path, command: str
) -> None:
    fill = f"cp -r {run} run && (cat /dev/zero > filler 2> /dev/null || true)"
    full, place = mounted(selfplay, tmp_path / "full", "size=16m", fill), tmp_path / "full" / "run"
    done = full("solve", place, "--attempts", 1) if command == "solve" else full("curriculum", shop, "--out", place)
    refused(done, "same command resumes")
    assert "not a curriculum" not in done.err


def test_a_full_runs_folder_of_an_export(selfplay: Command, run: Path, tmp_path: Path) -> None:
    full = mounted(selfplay, tmp_path / "full", "size=4k")
    done = full("trajectories", "export", run, "--scripted", "--out", tmp_path / "full" / "lessons.jsonl")
    refused(done, "No space left on device", "Free some space")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["curriculum", "solve", "show", "validate", "grade", "audit", "export"])
def test_a_path_of_850_characters(selfplay: Command, shop: Path, run: Path, tmp_path: Path, command: str) -> None:
    long = tmp_path / ("x" * 850)
    arguments = {
        "curriculum": ("curriculum", shop, "--out", long),
        "grade": ("grade", long, "--patch", __file__),
        "export": ("trajectories", "export", run, "--out", long.with_suffix(".jsonl")),
    }.get(command, (command, long))
    done = selfplay(*arguments)
    refused(done, "characters long" if command == "curriculum" else "File name too long")
    assert "x" * 250 not in done.err


@pytest.mark.parametrize("command", ["curriculum", "import"])
def test_a_nested_path_that_sqlite_cannot_open(selfplay: Command, shop: Path, tmp_path: Path, command: str) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text("[{}]")
    out = tmp_path.joinpath(*["x" * 99] * 8)
    done = selfplay.here(command, shop if command == "curriculum" else rows, "--out", out)
    refused(done, f"its path is {len(str(out))} characters long", "Give a shorter --out.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.json"]


@pytest.mark.parametrize("command", ["curriculum", "import"])
def test_a_command_that_fails_at_once_leaves_no_pool(selfplay: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.json").write_text("[{}]")
    source = tmp_path / ("empty" if command == "curriculum" else "rows.json")
    refused(selfplay.here(command, source, "--out", tmp_path / "above" / "run"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "rows.json"]


def test_an_out_that_holds_something_else(selfplay: Command, shop: Path) -> None:
    """Even where it is a checkout, whose commits alone are read: its owner works in it."""
    before = sorted(path.name for path in shop.iterdir())
    refused(selfplay.here("curriculum", shop, "--out", shop), "it is not a run's folder", "Give another --out")
    assert sorted(path.name for path in shop.iterdir()) == before


@pytest.mark.slow
def test_an_out_that_is_a_file(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(selfplay("curriculum", shop, "--out", tmp_path / "file"), "file cannot be used", "Give another --out.")
    refused(selfplay("curriculum", shop, "--out", tmp_path / "file" / "run"), "Not a directory")
