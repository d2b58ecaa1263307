"""Second-order bugs, which `selfplay solve` and `curriculum` make of failed attempts."""

import json
from pathlib import Path

import pytest
from commands.solved_runs import attempts, pair, solved
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay.artifact import load, load_bug
from selfplay.curriculum import open_curriculum
from selfplay.roles.solver import SOLVER
from selfplay.sft.lessons import lessons
from selfplay.sft.successes import Success

__all__ = ["pair", "solved"]

pytestmark = pytest.mark.slow  # a whole run to attempt, and many attempts


@pytest.mark.slow
def test_second_order_bugs_have_lineage_and_are_valid_bugs(selfplay: Command, solved: tuple[Path, Done]) -> None:
    run, done = solved
    second = done.json["quality"]["second_order"]
    assert second["bugs"] >= 1  # of four failed attempts at two bugs, one a bug asked for
    with open_curriculum(run) as pool:
        children, parents = pool.attempts.bugs(), {bug.id: bug for bug in pool.bugs()}
    assert len(children) == second["bugs"] and len({child.parent for child in children}) == len(children)
    for child in children:
        parent = parents[child.parent or ""]
        assert child.order == 2 and child.root == parent.id and child.attempt and child.attempt.policy == "naive"
        assert load_bug(run / "bugs" / child.id) == child and load(run / "bugs" / child.id) == load(
            run / "bugs" / parent.id
        )
        wanted = {*parent.fail_to_pass, *parent.pass_to_pass}
        assert {*child.fail_to_pass, *child.pass_to_pass} <= wanted and child.fail_to_pass
        (own,) = [a for a in attempts(run) if (a.bug, a.number) == (parent.id, child.attempt.number)]
        assert (run / "bugs" / child.id / "attempt.diff").read_text() == own.diff and not own.resolved
    validated = selfplay("validate", run / "bugs" / children[0].id, "--json")
    assert validated.code == 0, validated.out
    assert [v["check"] for v in validated.json[0]["verdicts"]][-1] == "second order"
    shown = selfplay("show", run / "bugs" / children[0].id)
    assert shown.code == 0 and f"order 2: {children[0].parent} and attempt" in shown.out and "attempt.diff" in shown.out


@pytest.mark.slow
def test_a_second_order_bug_with_another_attempt_is_refused(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    child = next(path for path in sorted((run / "bugs").iterdir()) if (path / "attempt.diff").exists())
    (child / "attempt.diff").write_text((child / "attempt.diff").read_text() + "\n")
    done = selfplay("validate", child, "--json")
    assert done.code == 1
    assert "attempt.diff is not the attempt bug.json was written for" in done.json[0]["verdicts"][-1]["reason"]
    (child / "attempt.diff").unlink()
    graded = selfplay("audit", child)
    assert graded.code == 2 and "attempt.diff is missing" in graded.err


@pytest.mark.slow
def test_which_tests_count_is_not_for_the_record_to_say(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    """A test that no run knows counted as failing: such a bug was valid, and nobody could repair it."""
    run = copy_of(solved[0], tmp_path / "run")
    child = next(path for path in sorted((run / "bugs").iterdir()) if (path / "attempt.diff").exists())
    record = json.loads((child / "bug.json").read_text())
    record |= {"fail_to_pass": ["tests/test_none.py::test_none"], "pass_to_pass": record["pass_to_pass"][:1]}
    (child / "bug.json").write_text(json.dumps({**record, "hidden": [], "flaky": []}))
    done = selfplay("validate", child, "--json")
    assert (done.code, done.json[0]["verdicts"][-1]["check"]) == (1, "record")


@pytest.mark.long
def test_order_two_in_one_command_and_again(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    command = ["curriculum", shop, "--out", tmp_path, "--bugs", 1, "--order", 2, "--public-share", 0.5, "--json"]
    done = selfplay(*command, "--attempts", 2)
    assert done.code == 0, done.err
    assert done.json["figures"]["bugs"] == 1 and done.json["solving"]["scripted"]["order_1"]["attempts"] == 2
    assert "second_order" in done.json["cost"]
    bugs = [load_bug(path) for path in sorted((tmp_path / "bugs").iterdir())]
    assert {bug.public_share for bug in bugs} == {0.5}
    assert len({bug.hidden for bug in bugs}) == 1  # a second-order bug is told what its parent is
    assert 2 * len(bugs[0].hidden) <= len(bugs[0].fail_to_pass)
    promoted = done.json["quality"]["second_order"]
    assert len(bugs) == 1 + promoted["bugs"]
    failed = 2 - done.json["solving"]["scripted"]["order_1"]["resolved"]
    assert sum(promoted["statuses"].values()) == failed  # each failed attempt was looked at

    episodes = sorted((tmp_path / "trajectories").glob("*-solver.jsonl.zst"))
    assert len(episodes) == 2  # a search and a naive one: both can be said to a model, call by call
    assert all(len(lessons(Success(path, SOLVER, "the task"), 4000)) == 1 for path in episodes)

    again = selfplay(*command, "--attempts", 2)
    assert again.code == 0, again.err
    assert again.json["solving"] == done.json["solving"] and again.json["quality"] == done.json["quality"]
    fewer = selfplay(*command, "--attempts", 1)  # what was played is not forgotten
    assert fewer.code == 0 and fewer.json["solving"] == done.json["solving"], fewer.err
