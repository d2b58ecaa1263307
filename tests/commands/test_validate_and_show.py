"""`selfplay validate` and `selfplay show` on the bugs of a real run, whole and tampered with; an artifact by hand."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import hand_made
import naive_checks
import pytest
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay.artifact import load, load_bug
from selfplay.sandbox import Backend, World


@pytest.fixture
def run(finished: tuple[Path, Done], tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return copy_of(finished[0], tmp_path / "run")


def first_bug(run: Path) -> Path:
    return sorted((run / "bugs").iterdir())[0]


def rewrite(path: Path, edit: Callable[[str], str]) -> None:
    before = path.read_text()
    after = edit(before)
    assert after != before
    path.write_text(after)


@pytest.mark.slow
def test_all_bugs_of_a_run_are_valid_again(selfplay: Command, run: Path) -> None:
    done = selfplay("validate", run, "--json")
    assert done.code == 0, done.err
    assert sorted(one["id"] for one in done.json) == sorted(path.name for path in (run / "bugs").iterdir())
    for one in done.json:
        assert one["valid"] and [v["passed"] for v in one["verdicts"]] == [True] * 8


@pytest.mark.slow
def test_the_table_names_each_check_with_its_seconds(selfplay: Command, run: Path) -> None:
    done = selfplay("validate", first_bug(run))
    assert done.code == 0 and done.out.count("passed") == 8 and first_bug(run).name in done.out
    for name in ("test_files", "parser", "test_script", "scope", "bug", "weakening", "inverse_mutation", "determinism"):
        assert name in done.out


@pytest.mark.long
def test_a_tampered_diff_is_not_valid_and_the_others_are_still_checked(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    rewrite(bug / "bug_inject.diff", lambda text: text.replace("@@", "@@", 1) + "\n")
    done = selfplay("validate", run, "--json")
    assert done.code == 1, done.err
    by_id = {one["id"]: one for one in done.json}
    assert len(by_id) == 4
    assert not by_id[bug.name]["valid"]
    assert by_id[bug.name]["verdicts"][0]["reason"] == "the five files are not those bug.json was written for"
    assert sum(one["valid"] for one in done.json) == 3


@pytest.mark.slow
def test_a_bug_that_lost_a_file_is_not_valid(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    (bug / "test_parser.py").unlink()
    done = selfplay("validate", bug)
    assert done.code == 1 and "test_parser.py is missing" in done.out


@pytest.mark.slow
def test_a_bug_that_lost_its_record_is_not_skipped(selfplay: Command, run: Path) -> None:
    (first_bug(run) / "bug.json").unlink()
    done = selfplay("validate", run, "--json")
    assert done.code == 1 and len(done.json) == 4 and sum(one["valid"] for one in done.json) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("repeats", 1, "repeats is 1; between 2 and"),
        ("repeats", 0, "every threshold must be at least 1"),
        ("seconds", 1e9, "a test script has at most 90"),
    ],
)
def test_a_bug_cannot_soften_its_own_checks(selfplay: Command, run: Path, field: str, value: float, said: str) -> None:
    bug = first_bug(run)
    record = json.loads((bug / "bug.json").read_text())
    record["thresholds"][field] = value
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1 and "Traceback" not in done.err
    assert said in done.json[0]["verdicts"][0]["reason"]


@pytest.mark.slow
def test_a_record_that_keeps_tests_back_disagrees(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    record = json.loads((bug / "bug.json").read_text())
    record["pass_to_pass"] = []
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1 and done.json[0]["verdicts"][-1]["check"] == "record"


@pytest.mark.slow
def test_a_bug_that_breaks_nothing_is_not_valid(selfplay: Command, run: Path) -> None:
    """Its files agree with its record, and still the fifth check says no: the diff only adds a comment."""
    bug = first_bug(run)

    def edit(root: Path) -> None:
        path = root / "tinyshop" / "prices.py"
        path.write_text(path.read_text() + "UNUSED = 1\n")

    (bug / "bug_inject.diff").write_text(hand_made.diff(run / "original", edit))
    record = json.loads((bug / "bug.json").read_text())
    record["content_hash"] = load(bug).content_hash()
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1, done.err
    (found,) = done.json
    assert found["verdicts"][-1]["check"] == "bug" and not found["verdicts"][-1]["passed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("break_it", "begins", "said"),
    [
        (lambda run: shutil.rmtree(run / "bugs"), "selfplay: ", "has no bug"),
        (lambda run: rewrite(run / "original/tinyshop/prices.py", lambda text: text + "x = 1\n"),
         "", "is not the recorded tree"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_exits_2(
    selfplay: Command, run: Path, break_it: Callable[[Path], None], begins: str, said: str
) -> None:
    """What ends the command is an error of it; a bug of a run that cannot be checked is a result, among others."""
    break_it(run)
    done = selfplay("validate", run)
    assert done.code == 2 and "Traceback" not in done.err
    lines = done.err.splitlines() if begins else done.out.splitlines()
    assert any(line.startswith(begins) and said in line for line in lines), lines


@pytest.mark.slow
def test_a_run_folder_that_is_not_there(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay("validate", tmp_path / "nowhere")
    assert done.code == 2 and f"{tmp_path / 'nowhere'} has no bug" in done.err
    assert "Name a bug's folder (it holds bug.json) or a run's folder." in done.err


@pytest.mark.slow
def test_a_bug_alone_is_checked_against_its_source(selfplay: Command, run: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(first_bug(run), tmp_path / "alone"))
    done = selfplay("validate", alone)
    assert done.code == 0, done.err


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


def by_hand(backend: Backend, world: World, tree: Path, folder: Path) -> dict[str, str]:
    """`bash test_script.sh | python test_parser.py`, typed by a person in a copy of the original."""
    hand_made.give(tree, backend)
    with backend.open(World(tree=(tree,), mounts=world.mounts, env=world.env)) as sandbox:
        for name in ("test_script.sh", "test_parser.py"):
            sandbox.write_file(f"/tmp/{name}", (folder / name).read_bytes())
        done = sandbox.run("bash /tmp/test_script.sh 2>&1 | python /tmp/test_parser.py", timeout=100)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_an_artifact_runs_by_hand(
    backend: Backend, selfplay: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from selfplay.repository import rebuild

    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    for folder in sorted((run / "bugs").iterdir())[:2]:
        bug = load_bug(folder)
        world = rebuild(run / "original", bug.environment, backend=backend).world()
        fine, broken, hidden = (tmp_path / f"{folder.name}-{n}" for n in "abc")
        for tree, diffs in ((fine, ()), (broken, ("bug_inject",)), (hidden, ("bug_inject", "test_weaken"))):
            shutil.copytree(run / "original", tree)
            for name in diffs:
                subprocess.run(["git", "apply", folder / f"{name}.diff"], cwd=tree, check=True, timeout=30)
        ids = {*bug.fail_to_pass, *bug.pass_to_pass}
        assert by_hand(backend, world, fine, folder) == dict.fromkeys(ids, "passed")
        seen = by_hand(backend, world, broken, folder)
        assert {test for test in ids if seen.get(test) != "passed"} == set(bug.fail_to_pass)
        left = by_hand(backend, world, hidden, folder)
        assert set(left.values()) == {"passed"} and set(bug.pass_to_pass) <= set(left)


def opinions_agree(backend: Backend, run: Path, folders: list[Path]) -> None:
    """The naive checks, which share no code with the product's, find every bug valid, with the same tests."""
    from selfplay.repository import rebuild

    for folder in folders:
        bug = load_bug(folder)
        world = rebuild(run / "original", bug.environment, backend=backend).world()
        found = naive_checks.opinion(run / "original", folder, *naive_checks.sandboxed(backend, world))
        assert (found.failed, found.reason) == (None, ""), bug.id
        assert found.fail_to_pass == set(bug.fail_to_pass) and found.pass_to_pass == set(bug.pass_to_pass), bug.id


@pytest.mark.slow
def test_a_second_opinion_agrees(
    backend: Backend, selfplay: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    opinions_agree(backend, run, [first_bug(run)])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_bugs_of_a_real_project_pass_a_second_opinion(
    backend: Backend, selfplay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    done = selfplay("curriculum", "pypi:sqlparse==0.5.3", "--out", tmp_path, "--bugs", 4, "--releases", 4)
    assert done.code == 0, done.err
    folders = sorted((tmp_path / "bugs").iterdir())
    assert len(folders) == 4
    opinions_agree(backend, tmp_path, folders)


@pytest.mark.slow
def test_an_interrupt_says_what_was_checked(selfplay: Command, run: Path) -> None:
    """Of forty bugs, so that no machine has checked the last before the interrupt comes."""
    (run / "curriculum.sqlite").unlink()  # without a pool, every folder in bugs/ is a bug
    for folder in list((run / "bugs").iterdir()):
        for number in range(9):
            shutil.copytree(folder, folder.with_name(f"{folder.name}-{number}"))
    with selfplay.running("validate", run, "--workers", 1) as validating:
        validating.until("1 of 40")
        code, said = validating.ends_by(signal.SIGINT)
    assert code == 130 and "Traceback" not in said, said
    checked = re.search(r"interrupted: (\d+) of 40 .*checked", said)
    assert checked and 1 <= int(checked[1]) < 40
