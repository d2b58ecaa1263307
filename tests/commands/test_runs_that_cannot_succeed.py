"""A run that cannot succeed ends after the first few episodes and says why, also where strategies alternate."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiny_repository
from curriculum.stored_results import result
from run_fixtures import Command
from scripted.injector.test_impossible import suite_of, survey

from selfplay.commands.chances import Chances, planned, player_for, scripted_chances
from selfplay.commands.make_bugs import SAME_END, BugsWanted, _Loop
from selfplay.commands.order import Order
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.repository import Suite
from selfplay.validators import Thresholds

SCRIPT = cast(Any, SimpleNamespace(repository="", player="scripted"))
MIX = ("removal", "history")
NO_PAST = "the history strategy finds no commit that changes code that tests reach"
ORDER = Order("shop", Path("run"))


def ended(pool: Curriculum, *reasons: str) -> str:
    """Why a loop stops in which the strategies of the mix end with these reasons in turns, each with its own next
    one."""
    loop = _Loop(SCRIPT, pool, BugsWanted(4, 40, MIX))
    while (number := loop.next_number(0)) is not None:
        reason = reasons[number % len(reasons)]
        record = replace(result(number, "gave_up"), strategy=MIX[number % 2], reason=reason)
        pool.episodes.store(record)
        loop.count(record, loop.take())
    return loop.reason()


def test_equal_ends_are_counted_for_each_strategy(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        why = ended(pool, "too few tests fail", NO_PAST)
        assert why == (
            f"the last {SAME_END} episodes of removal all ended with: too few tests fail; "
            f"the last {SAME_END} episodes of history all ended with: {NO_PAST}"
        )
        assert len(pool.episodes.finished()) == 2 * SAME_END


def test_a_strategy_that_ends_otherwise_each_time_keeps_the_run_going(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        why = ended(pool, "too few tests fail", NO_PAST, "too many tests fail", NO_PAST)
        assert why == f"the last 40 episodes gave no new bug; the commonest reason: {NO_PAST} (20 times)"


def test_episodes_that_run_out_of_changes_end_alike(tmp_path: Path) -> None:
    """Whatever became of the few changes that they tried."""
    out = [f"none of 8 tries made a bug: nothing is left to change {rest}" for rest in ("(8)", "(7), too few (1)")]
    with open_curriculum(tmp_path) as pool:
        assert ended(pool, out[0], NO_PAST, out[1], NO_PAST).startswith(f"the last {SAME_END} episodes of removal all")


def test_what_cannot_succeed_is_left_out_of_the_mix() -> None:
    found = scripted_chances(ORDER, suite_of(10), survey("shop.py"))
    assert found == Chances("removal", "", {"history": NO_PAST})
    both = scripted_chances(ORDER, suite_of(10), survey("shop.py", changed=frozenset({"shop.py"})))
    assert both == Chances("mix")
    none = scripted_chances(replace(ORDER, thresholds=Thresholds(1000)), suite_of(10), survey("shop.py"))
    assert none.why_not == "the suite has 10 usable tests, and a bug needs 1000 (min-passing)"


@pytest.mark.parametrize(
    ("suite", "why"),
    [
        (suite_of(10), "the suite has 10 usable tests, and a bug needs 1000 (min-passing)"),
        (Suite((), {}, runner="", why="no runner is known"), ""),
    ],
)
def test_a_model_is_not_asked_for_what_no_suite_holds(suite: Suite, why: str) -> None:
    """Where nobody measured the suite, a model has to find the tests itself, and may find more."""
    order, nothing = replace(ORDER, policy="openai:m", thresholds=Thresholds(1000)), cast(Any, None)
    assert player_for(order, nothing, nothing, suite, print, nothing) == (None, Chances("mix", why))


def test_a_resumed_run_plans_as_the_one_before(tmp_path: Path) -> None:
    lost, whole, said = Chances("removal", "", {"history": NO_PAST}), Chances("mix"), list[str]()
    with open_curriculum(tmp_path / "new") as pool:
        pool.settle({"source": "shop"})
        assert planned(ORDER, pool, lost, said.append).strategy == "removal"
        assert said == [f"the strategy history is left out of the mix: {NO_PAST}"]
        pool.episodes.store(replace(result(0, "gave_up"), repository="shop"))
        assert planned(ORDER, pool, whole, said.append).strategy == "removal" and len(said) == 1


def test_a_run_of_an_earlier_version_keeps_its_mix(tmp_path: Path) -> None:
    """It recorded nothing of the kind, and its episodes are numbered as the mix has them."""
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "shop", "strategy": "mix"})
        pool.episodes.store(replace(result(0, "gave_up"), repository="shop"))
        assert planned(ORDER, pool, Chances("removal", "", {"history": NO_PAST}), print).strategy == "mix"


@pytest.mark.slow
def test_a_mix_without_a_past_removes(selfplay: Command, source, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out, shop = tmp_path / "out", source(tiny_repository.FILES)
    done = selfplay("curriculum", shop, "--out", out, "--bugs", 1, "--workers", 1, "--json")
    assert done.code == 0, done.err
    assert done.err.count(f"the strategy history is left out of the mix: {NO_PAST}") == 1
    assert "(history)" not in done.err and done.json["bugs"][0]["strategy"] == "removal"
    again = selfplay("curriculum", shop, "--out", out, "--bugs", 2, "--workers", 1, "--json")
    assert again.code == 0 and "(history)" not in again.err, again.err
