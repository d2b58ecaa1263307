"""`selfplay credit`: the table of a run."""

from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.curriculum import Attempt, AttemptFigures, open_curriculum


@pytest.mark.long
def test_the_credit_of_a_run_as_a_table_and_as_json(selfplay: Command, attempted: Path) -> None:
    page = selfplay("credit", attempted, "--policy", "searcher")
    assert page.code == 0, page.err
    assert "would be trained on" in page.out and "no tokens" in page.out and "never attempted" in page.out
    found = selfplay("credit", attempted, "--policy", "searcher", "--json").json
    (injection,) = [one for one in found if one["attempts"] and one["episode"]["role"] == "injector"]
    assert round(injection["reward"], 6) == 0.4  # 1 - 1.8 * 1/3
    assert [one["reward"] for one in found if one["episode"]["role"] == "solver"] == [1, -1, -1]


def test_a_policy_without_attempts_is_told_whose_there_are(selfplay: Command, attempted: Path) -> None:
    done = selfplay("credit", attempted)
    assert done.code == 2 and "no attempt of scripted" in done.err and "--policy: searcher." in done.err


@pytest.mark.slow
def test_a_control_is_not_offered_for_credit(selfplay: Command, run: Path) -> None:
    with open_curriculum(run) as pool:
        bug = pool.bugs()[0].id
        pool.attempts.add(Attempt(bug, "empty", 0, False, "empty", "", "", AttemptFigures(seconds=1.0)))
    done = selfplay.here("credit", run)
    assert done.code == 2 and "controls' attempts alone" in done.err and "with --policy: empty" not in done.err
