"""`selfplay eval`: its table, its JSON, and what it refuses."""

import shutil
from pathlib import Path

import pytest
from run_fixtures import Command


@pytest.mark.slow
def test_stored_attempts_as_a_table_and_as_json(selfplay: Command, attempted: Path) -> None:
    asked = ("eval", attempted, "--policy", "searcher", "--stored", "--attempts", 3)
    page = selfplay(*asked, "--against", "gold")
    assert page.code == 0, page.err
    assert "1 of 3" in page.out and "pass@1" in page.out and "33.3%" in page.out
    assert "why attempts ended: reason 3" in page.out
    assert "in brackets" not in page.out  # of one bug there is no interval
    assert "against gold, the same 1 bug: 33.3% and 100.0%, difference -66.7%" in page.out
    found = selfplay(*asked, "--json").json
    assert found["rows"][0]["resolved"] == 1 and found["rows"][0]["pass_at"]["1"]["mean"] == pytest.approx(1 / 3)
    assert found == selfplay(*asked, "--json").json


@pytest.mark.slow
def test_the_injector_of_a_run_as_a_table_and_as_json(selfplay: Command, attempted: Path) -> None:
    """Of its five episodes one gave a bug again, which counts as invalid: -0.8. Of its four bugs one was attempted, and
    solved by 1 of 3 attempts: 1 - 1.8/3 = 0.4."""
    asked = ("eval", attempted, "--role", "injector", "--policy", "searcher", "--stored", "--attempts", 3)
    page = selfplay(*asked, "--against", attempted)
    assert page.code == 0, page.err
    assert "in brackets: 95% intervals, from 5 prompts resampled" in page.out
    assert "solver: searcher, 3 attempts at each bug" in page.out
    assert "mean reward -0.200 (-0.800 to +0.400) of 2 of 5 episodes; without one: 3 never attempted" in page.out
    assert "the same 5 prompts: difference of the valid share +0.0% (+0.0% to +0.0%), of the reward +0.000" in page.out
    found = selfplay(*asked, "--json").json
    assert found["reward"]["mean"] == pytest.approx((0.4 - 0.8) / 2) and found["ends"]["valid"]["episodes"] == 4
    assert found["unrewarded"] == {"never attempted": 3}
    assert found == selfplay(*asked, "--json").json
    strange = selfplay(*asked[:3], "reviewer")
    assert strange.code == 2 and "--role" in strange.err and "is injector or solver" in strange.err


def test_a_name_without_attempts_exits_2_and_says_whose_there_are(selfplay: Command, attempted: Path) -> None:
    done = selfplay("eval", attempted, "--policy", "nobody", "--stored")
    assert done.code == 2 and "no attempt of nobody" in done.err and "attempts of gold, searcher" in done.err


@pytest.mark.long
def test_missing_attempts_are_made(selfplay: Command, calibrated: Path, tmp_path: Path) -> None:
    run = shutil.copytree(calibrated, tmp_path / "run")
    done = selfplay("eval", run, "--policy", "gold", "--attempts", 1, "--json")
    assert done.code == 0, done.err
    assert done.json["rows"][0]["pass_at"]["1"]["mean"] == 1.0 and done.json["incomplete"] == []
