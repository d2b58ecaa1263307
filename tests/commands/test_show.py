"""`selfplay show` on a bug of a real run, whole and tampered with."""

import json
import re
from pathlib import Path

import pytest
from commands.finished_runs import first_bug, rewrite, run
from run_fixtures import Command

from selfplay.artifact import load, load_bug

__all__ = ["run"]


@pytest.mark.slow
def test_show_has_all_the_pieces(selfplay: Command, run: Path) -> None:
    folder = first_bug(run)
    bug, artifact = load_bug(folder), load(folder)
    done = selfplay("show", folder)
    assert done.code == 0, done.err
    for piece in (
        bug.id,
        bug.source,
        bug.strategy,
        "what was broken",
        "what the weakening hid",
        *bug.fail_to_pass[:20],
    ):
        assert piece in done.out, piece
    for line in (artifact.bug_inject + artifact.test_weaken).splitlines():
        assert line.expandtabs(4)[:80].rstrip() in done.out


@pytest.mark.slow
def test_show_survives_hostile_content(selfplay: Command, run: Path) -> None:
    folder = first_bug(run)
    record = json.loads((folder / "bug.json").read_text())
    record["fail_to_pass"] = ["[/red][link=x]t\x1b[2J\x1b]0;owned\x07", "\u202etset"]
    record["source"] = "[bold]source\x1b[31m"
    record["verdicts"] = [{"check": "[/x]\x1b[1m", "passed": True, "reason": "[/green]\r\x1b[8m"}]
    (folder / "bug.json").write_text(json.dumps(record))
    evil = "\x1b[2J[/]"
    rewrite(
        folder / "bug_inject.diff",
        lambda text: re.sub(r"\n([+-])(?![+-])", lambda found: f"\n{found[1]}{evil}", text, count=1),
    )
    done = selfplay("show", folder)
    assert done.code == 0, done.err
    assert not any(c in done.out for c in ("\x1b", "\x07", "\r", "\u202e"))
    assert "[/red][link=x]t" in done.out and "[bold]source" in done.out and "[/x]" in done.out


@pytest.mark.slow
def test_show_of_a_record_that_is_no_bug(selfplay: Command, run: Path, tmp_path: Path) -> None:
    folder = first_bug(run)
    rewrite(folder / "bug.json", lambda text: text.replace('"order": 1', '"order": 7'))
    done = selfplay("show", folder)
    assert done.code == 2 and "bug.json: order: " in done.err
    assert selfplay("show", tmp_path).code == 2


def test_verdicts_of_another_shape_are_named(selfplay: Command, run: Path) -> None:
    folder = first_bug(run)
    record = json.loads((folder / "bug.json").read_text())
    (folder / "bug.json").write_text(json.dumps({**record, "verdicts": [{"surprise": 1}]}))
    done = selfplay("show", folder)
    assert done.code == 2 and "bug.json: verdicts" in done.err and "Traceback" not in done.err
