"""The rules of credit, one test a rule of the table, by the rule's name; and what is no batch."""

import re
from dataclasses import replace
from functools import partial

import pytest
from rl.credit.credited import INJECTION, INVALID, LOST, attempts, of_injection

from selfplay.rl.credit import rewards
from selfplay.rl.credit.filters import FILTERS, Sampled, taken_by
from selfplay.rl.credit.rules import CreditedEpisode, CreditRules, Reason, credit, untrained
from selfplay.rl.credit.table import rules_of_credit

# -- injector ------------------------------------------------------------------------------------------------------


def test_invalid() -> None:
    """Baseline of [0.55, -1] at equal lengths: -0.225; -1 + 0.225 = -0.775."""
    found = credit([INJECTION, INVALID, *attempts(2, 6)])[1]
    assert (found.reward, found.reason) == (-1.0, None)
    assert found.advantage == pytest.approx(-0.775)
    assert credit([INVALID, INVALID], CreditRules(invalid=0.0))[0].reward == 0.0


def test_valid() -> None:
    """1 - 1.8 * 2/8 = 0.55; against an invalid one 0.55 - (0.55 - 1) / 2 = 0.775."""
    found = of_injection(attempts(2, 6))
    assert (found.reward, found.solved, found.attempts) == (pytest.approx(0.55), 2, 8)
    assert (found.advantage, found.reason) == (pytest.approx(0.775), None)


@pytest.mark.parametrize("outcomes", [(8, 0), (0, 8)])
def test_nobody_or_everybody(outcomes: tuple[int, int]) -> None:
    assert of_injection(attempts(*outcomes)).reward == -0.8
    assert of_injection(attempts(*outcomes), CreditRules(valid=partial(rewards.ssr, alpha=0.5))).reward == -0.5


def test_duplicate() -> None:
    """-0.8 unless a recipe says otherwise; nobody attempts it, and it stays in the baseline of the others."""
    duplicate = replace(INJECTION, outcome="duplicate")
    assert credit([duplicate, INVALID])[0].reward == -0.8
    found = credit([duplicate, INVALID], CreditRules(duplicate=-0.2))
    assert [earned.advantage for earned in found] == pytest.approx([0.4, -0.4])


def test_never_attempted() -> None:
    """It has no reward, is counted, and leaves the baseline of the two others alone: (0.55 - 1) / 2."""
    unseen = replace(INJECTION, bug="b2")
    found = credit([INJECTION, INVALID, unseen, *attempts(2, 6)], CreditRules(attempts=8))
    assert (found[2].reward, found[2].advantage, found[2].reason) == (None, 0.0, Reason.NEVER_ATTEMPTED)
    assert [earned.advantage for earned in found[:2]] == pytest.approx([0.775, -0.775])
    assert untrained(found) == {"never attempted": 1}


def test_one_prompt() -> None:
    seen = [replace(INVALID, prompt="seed location a"), replace(INVALID, prompt="seed location b")]
    with pytest.raises(ValueError, match="injector group shop/removal has two prompts"):
        credit(seen)
    assert credit([replace(episode, group=episode.prompt) for episode in seen])[0].reason == Reason.ALONE
    assert len(credit([seen[0], INVALID, LOST])) == 3  # the second one's prompt is not known, for want of a tape


# -- solver --------------------------------------------------------------------------------------------------------


def test_resolved() -> None:
    """Baseline (1 - 1 - 1 - 1) / 4 = -0.5."""
    found = credit(attempts(1, 3))[0]
    assert (found.reward, found.advantage, found.reason) == (1.0, 1.5, None)


def test_failed() -> None:
    found = credit(attempts(1, 3))[1]
    assert (found.reward, found.advantage, found.reason) == (-1.0, -0.5, None)


def test_cheated() -> None:
    """One of four resolved it, whatever the cheat's tests say: s = 1/4 and 1 - 1.8/4 = 0.55."""
    cheat = replace(attempts(0, 1)[0], outcome="cheated")
    found = credit([INJECTION, INVALID, *attempts(1, 2), cheat])
    assert found[-1].reward == -1.0
    assert (found[0].solved, found[0].attempts, found[0].reward) == (1, 4, pytest.approx(0.55))
    assert credit([cheat, *attempts(1, 2)], CreditRules(cheated=-2.0))[0].reward == -2.0


def test_second_order() -> None:
    """Two of eight attempts at the bug itself: 0.55. Four more at the tree that one of them left change nothing of it,
    not even when they name the same bug, and are compared with each other only: mean 0.5."""
    second = attempts(3, 1, order=2)
    found = credit([INJECTION, INVALID, *attempts(2, 6), *second])
    assert found[0].reward == pytest.approx(0.55)
    assert [earned.advantage for earned in found[-4:]] == [0.5, 0.5, 0.5, -1.5]


# -- either --------------------------------------------------------------------------------------------------------


def test_lost() -> None:
    """Lost attempts are not in s: 2 of 6, 1 - 1.8/3 = 0.4. A lost injection leaves the baseline of its group alone."""
    lost = replace(LOST, group="b1/1")
    found = credit([INJECTION, INVALID, replace(INVALID, lost=True), *attempts(2, 4), lost, lost])
    assert (found[0].reward, found[0].attempts) == (pytest.approx(0.4), 6)
    assert [earned.reason for earned in found] == [None, None, Reason.LOST, *[None] * 6, Reason.LOST, Reason.LOST]
    assert found[0].advantage == pytest.approx(0.7)  # 0.4 - (0.4 - 1) / 2
    assert found[3].advantage == pytest.approx(1 + 1 / 3)  # baseline (2 - 4) / 6


@pytest.mark.parametrize(("counted", "dropped"), [(3, True), (4, False)])
def test_too_few_attempts(counted: int, dropped: bool) -> None:
    """Of 8, half is 4. It does not matter whether the others were lost or never began."""
    lost = [replace(LOST, group="b1/1")] * (8 - counted)
    for episodes, rules in (
        ([*attempts(1, counted - 1), *lost], CreditRules()),
        (attempts(1, counted - 1), CreditRules(attempts=8)),
    ):
        found = credit([INJECTION, INVALID, *episodes], rules)
        reasons = [found[0].reason, *(earned.reason for earned in found[2 : 2 + counted])]
        assert reasons == [Reason.TOO_FEW_ATTEMPTS if dropped else None] * (1 + counted)
        assert found[1].reason == (Reason.ALONE if dropped else None)


def test_all_attempts_lost_are_too_few() -> None:
    assert of_injection([LOST]).reason == Reason.TOO_FEW_ATTEMPTS


def test_two_roles() -> None:
    """Groups that share a name are two all the same."""
    solvers = [replace(episode, group="shop/removal") for episode in attempts(1, 3)]
    found = credit([INJECTION, INVALID, *solvers])
    assert [earned.advantage for earned in found[2:]] == [1.5, -0.5, -0.5, -0.5]


def test_no_tokens() -> None:
    """It counts in s (1 of 4) and not in the baseline of the three others, (1 - 1 - 1) / 3."""
    silent = replace(attempts(0, 1)[0], tokens=0)
    found = credit([INJECTION, INVALID, *attempts(1, 2), silent])
    assert (found[-1].reward, found[-1].advantage, found[-1].reason) == (-1.0, 0.0, Reason.NO_TOKENS)
    assert (found[0].solved, found[0].attempts) == (1, 4)
    assert found[2].advantage == pytest.approx(1 + 1 / 3)


def test_damaged_tape() -> None:
    """As one without tokens, however many of them a damaged tape still shows."""
    damaged = replace(attempts(0, 1)[0], damaged=True)
    found = credit([INJECTION, INVALID, *attempts(1, 2), damaged])
    assert (found[-1].reward, found[-1].advantage, found[-1].reason) == (-1.0, 0.0, Reason.DAMAGED_TAPE)
    assert (found[0].solved, found[0].attempts) == (1, 4)
    assert found[2].advantage == pytest.approx(1 + 1 / 3)


def test_opponent() -> None:
    """A frozen policy's attempts count in s (2 of 4), its injection has a reward; neither is in a baseline: the two
    other injections differ by 0.1 + 1, the two other attempts both failed."""
    theirs = [replace(one, opponent=True) for one in attempts(2, 0)]
    planted = replace(INJECTION, bug="b2", opponent=True)
    others = [replace(one, bug="b2", group="b2") for one in attempts(1, 1)]
    found = credit([INJECTION, INVALID, planted, *theirs, *attempts(0, 2), *others])
    assert [(one.reward, one.reason) for one in found[2:5]] == [
        (pytest.approx(0.1), Reason.OPPONENT), (1.0, Reason.OPPONENT), (1.0, Reason.OPPONENT),
    ]  # fmt: skip
    assert (found[0].solved, found[0].attempts) == (2, 4)
    assert [one.advantage for one in found[:2]] == pytest.approx([0.55, -0.55])
    assert [one.reason for one in found[5:7]] == [Reason.ZERO_ADVANTAGE] * 2
    assert [one.advantage for one in found[7:]] == pytest.approx([1.0, -1.0])


def test_alone() -> None:
    found = credit(attempts(1, 0))[0]
    assert (found.reward, found.advantage, found.reason) == (1.0, 0.0, Reason.ALONE)


def test_zero_advantage() -> None:
    assert {earned.reason for earned in credit(attempts(0, 3))} == {Reason.ZERO_ADVANTAGE}


def test_filtered() -> None:
    """Filters are asked after credit: the attempt that is too old still made s = 1/4 and its group's baseline -0.5."""
    found = credit([INJECTION, INVALID, *attempts(1, 3)])
    ages = [0, 0, 9, 0, 0, 0]
    taken = [taken_by(Sampled(earned.advantage, age), FILTERS) for earned, age in zip(found, ages, strict=True)]
    assert taken == [None, None, "stale", None, None, None]
    assert (found[0].solved, found[0].attempts, found[3].advantage) == (1, 4, -0.5)
    left_out = replace(found[2], taken_by="stale")
    assert (left_out.no_gradient, found[2].no_gradient, left_out.advantage) == ("stale", "", 1.5)
    assert untrained([*found, left_out]) == {"stale": 1}


def test_every_rule_of_the_table_has_a_test_of_its_name() -> None:
    tests = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    assert [rule.name for rule in rules_of_credit() if rule.name not in tests] == []
    assert {str(reason) for reason in Reason} <= {rule.name for rule in rules_of_credit()}


@pytest.mark.parametrize(
    ("episode", "said"),
    [
        (replace(INJECTION, outcome="resolved"), "cannot be resolved"),
        (replace(attempts(1, 0)[0], outcome="valid"), "cannot be valid"),
        (replace(INJECTION, bug=""), "names no bug"),
        (CreditedEpisode("solver", "b1"), "names no bug"),
        (replace(INJECTION, tokens=-1), "-1 tokens"),
        (CreditedEpisode("solver", "b1", bug="b1", order=0), "order 0"),
        (replace(INJECTION, order=2), "order 2"),
    ],
)
def test_episodes_that_cannot_be(episode: CreditedEpisode, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        credit([episode])


def test_a_solver_group_is_about_one_bug() -> None:
    with pytest.raises(ValueError, match="solver group b has two bugs"):
        credit([CreditedEpisode("solver", "b", bug="b1"), CreditedEpisode("solver", "b", bug="b2")])


def test_nothing_gives_nothing() -> None:
    assert credit([]) == [] and untrained([]) == {}
