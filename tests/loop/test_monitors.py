"""Monitors of collapse: what each compares, when it warns, when it stops, and that a healthy run hears nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from selfplay.loop.monitored import MONITORS
from selfplay.loop.monitors import Collapsed, Monitors, alarms, refuse_collapse


def step(
    entropy: float = 1.0,
    diversity: float | None = 1.0,
    invalid: int = 1,
    groups: dict[str, int] | None = None,
    gibberish: int = 0,
    tokens: int = 8000,
) -> dict[str, Any]:
    """A step of four injections and eight attempts. By default nothing is wrong with it."""
    injector = {
        "episodes": 4, "outcomes": {"valid": 4 - invalid, "invalid": invalid}, "diversity": diversity,
        "without_a_gradient": {"gibberish": gibberish} if gibberish else {}, "tokens": tokens,
    }  # fmt: skip
    solver = {"episodes": 8, "tokens": 16_000, "without_a_gradient": {}, "groups": groups or {"1/4": 1, "0/4": 1}}
    return {"tokens": {"both": {"entropy": entropy}}, "rollouts": {"injector": injector, "solver": solver}}


def names(history: list[dict[str, Any]], **settings: Any) -> list[str]:
    return [one.monitor for one in alarms(history, Monitors(**settings))]


@given(
    st.integers(0, 30), st.floats(1e-3, 10), st.floats(0.3, 1), st.integers(0, 3), st.integers(1, 100_000),
    st.integers(1, 12),
)  # fmt: skip
def test_a_flat_healthy_history_warns_of_nothing(
    steps: int, entropy: float, diversity: float, invalid: int, tokens: int, window: int
) -> None:
    history = [step(entropy, diversity, invalid, tokens=tokens)] * steps
    assert names(history, window=window) == []
    with_all = {name: {"stop": True} for name in MONITORS}
    assert refuse_collapse(history, Monitors(window=window, **with_all)) == []


@pytest.mark.parametrize(
    ("monitor", "sick", "value"),
    [
        ("entropy", step(entropy=0.15), 0.15),  # of 1.0 in the first five steps
        ("diversity", step(diversity=0.25), 0.25),
        ("invalid", step(invalid=4), 1.0),  # 4 of 4
        ("uniform", step(groups={"0/4": 3, "4/4": 1}), 1.0),
        ("gibberish", step(gibberish=1), 1 / 12),
        ("length", step(tokens=80_000), 4.0),  # 96,000 over 24,000
        ("length", step(tokens=-10_000), 0.25),  # 6,000 over 24,000
    ],
)
def test_each_collapse_is_named_with_its_value(monitor: str, sick: dict[str, Any], value: float) -> None:
    history = [step()] * 5 + [sick] * 5
    (found,) = alarms(history, Monitors())
    assert found.monitor == monitor and found.value == pytest.approx(value) and not found.stop
    assert names(history, **{monitor: {"limit": None}}) == []
    with pytest.raises(Collapsed, match=f"a monitor stopped the run: {monitor}: ") as stopped:
        refuse_collapse(history, Monitors.model_validate({monitor: {"stop": True}}))
    assert f"monitors.{monitor}.stop=false" in stopped.value.hint


def apart(difference: float, *behind: str) -> dict[str, Any]:
    """A step in which engine and trainer differ so much, on tokens of these ages."""
    made = step()
    made["tokens"]["both"]["absolute_difference"] = difference
    made["rollouts"]["solver"]["versions_behind"] = dict.fromkeys(behind, 4)
    return made


def test_an_engine_with_other_weights_stops_the_run_at_its_first_step() -> None:
    """Nothing is stale, so the same weights must say the same; the distance of bf16 is 0.04."""
    assert refuse_collapse([apart(0.04, "0")], Monitors()) == []
    with pytest.raises(Collapsed, match=r"parity: engine and trainer do not have the same policy: .* are 0\.9 apart"):
        refuse_collapse([apart(0.9, "0")], Monitors())
    assert refuse_collapse([apart(0.9, "0", "1")], Monitors()) == [], "older weights sample otherwise"
    assert names([apart(0.9, "0")], parity={"limit": 0.95}) == []
    (warned,) = refuse_collapse([apart(0.9, "0")], Monitors.model_validate({"parity": {"stop": False}}))
    assert not warned.stop
    assert names([apart(0.9, "0"), apart(0.01, "0")]) == [], "a step that is right again"


def test_the_words_have_value_limit_and_advice() -> None:
    (found,) = alarms([step(invalid=4)] * 5, Monitors())
    assert found.words().startswith(
        "invalid: 100% of the injections are not valid (limit 98%). Begin with a cold start"
    )


def test_the_mean_of_the_window_counts() -> None:
    """Entropies 1, 1, then 0.5, 0.1: the last two are 0.3 of the first two, the last one 0.1 of the first."""
    history = [step(entropy=value) for value in (1.0, 1.0, 0.5, 0.1)]
    assert names(history, window=2) == [] and names(history, window=1) == ["entropy"]
    assert names(history[2:], window=2) == [], "the first steps are not compared with themselves"


def test_what_was_not_measured_is_not_judged() -> None:
    """Steps without an update have no entropy; without a bug no diversity; a role may not play."""
    assert names([{"step": None, "tokens": None, "rollouts": {}}] * 20) == []
    assert names([{}] * 20) == []
    assert names([step(diversity=None)] * 20) == []
    sparse = [step(), {}, step(entropy=0.01), {}]
    assert names(sparse, window=1) == ["entropy"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"entropy": {"limit": 2}}, "entropy.limit is a share of at most 1"),
        ({"length": {"limit": 0.5}}, "length.limit is a factor above 1"),
        ({"invalid": {"limit": 0}}, "greater than 0"),
        ({"invalid": {"limit": float("nan")}}, "finite|greater than 0"),
        ({"window": 0}, "greater than or equal to 1"),
        ({"speed": {"stop": True}}, "Extra inputs"),
        ({"entropy": {"halt": True}}, "Extra inputs"),
        ({"entropy": 0.5}, "Watch"),
    ],
)
def test_impossible_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Monitors.model_validate(settings)


def test_a_monitor_told_only_to_stop_keeps_its_limit() -> None:
    found = Monitors.model_validate({"entropy": {"stop": True}}).entropy
    assert (found.limit, found.stop) == (MONITORS["entropy"].limit, True)
