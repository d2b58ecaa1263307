"""Figures of a batch: solve rates by group, checks that artifacts failed, diversity of bugs."""

from dataclasses import replace

from played_episodes import attempt, injector, taped

from selfplay.rl.credit.rules import CreditedEpisode
from selfplay.update.batch.crediting import credited
from selfplay.update.batch.played import Played
from selfplay.update.batch.summary import diversity, failed_checks, rollout_figures, solve_rates
from selfplay.update.recipe import Recipe


def one(episode: CreditedEpisode, **more: str) -> Played:
    return replace(taped(episode, range(12), (4,)), **more)


def attempts(bug: str, solved: int, of: int) -> list[Played]:
    outcomes = ["resolved"] * solved + ["failed"] * (of - solved)
    return [one(attempt(f"{bug} {number}", outcome, bug)) for number, outcome in enumerate(outcomes)]


def test_groups_by_solve_rate() -> None:
    """Three bugs: 1 of 4, 0 of 4 twice; a fourth, of two attempts, always. A lost attempt is not counted."""
    played = [*attempts("a", 1, 4), *attempts("b", 0, 4), *attempts("c", 0, 4), *attempts("d", 2, 2)]
    lost = replace(played[4], episode=replace(played[4].episode, lost=True))
    assert solve_rates(credited(played, Recipe())) == {"2/2": 1, "0/4": 2, "1/4": 1}
    found = solve_rates(credited([*played[:4], lost, *played[5:]], Recipe()))
    assert found == {"2/2": 1, "0/3": 1, "0/4": 1, "1/4": 1}


def test_injections_by_failed_check_and_diversity() -> None:
    """Bugs: two alike, one unlike them, one duplicate: two kinds of four. One artifact failed the check `bug`, one
    episode handed nothing in, one was lost."""
    played = [
        one(injector("1", "valid", "x"), alike="3 1 a.py"),
        one(injector("2", "valid", "y"), alike="3 1 a.py"),
        one(injector("3", "valid", "z"), alike="3 2 a.py"),
        one(injector("4", "duplicate")),
        one(injector("5"), check="bug"),
        one(injector("6")),
        one(replace(injector("7"), lost=True), check="bug"),
    ]
    found = credited(played, Recipe())
    assert diversity(found) == 0.5
    assert failed_checks(found) == {"bug": 1, "nothing handed in": 1}
    assert diversity(found[4:]) is None
    figures = rollout_figures(found)["injector"]
    assert (figures["diversity"], figures["checks"]) == (0.5, {"bug": 1, "nothing handed in": 1})


def test_a_role_that_did_not_play_has_no_figures() -> None:
    found = rollout_figures(credited(attempts("a", 1, 2), Recipe()))
    assert set(found) == {"solver"} and found["solver"]["groups"] == {"1/2": 1}
    assert "checks" not in found["solver"]
