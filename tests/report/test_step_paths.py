"""Every place in a step that monitors, pages and curves read is a key of the types that the loop writes.

They read by name, since a run's folder is untrusted, and what is missing is silence. Here a step is made of the types
alone: a reader that asks it for another key fails, and so does one that finds nothing.
"""

from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from rich.console import Console

from selfplay.loop.monitored import MONITORS
from selfplay.loop.monitors import Monitors
from selfplay.loop.step_record import StepOfSeveral, StepRecord
from selfplay.report.html.curves import LINES, training
from selfplay.report.scalars import flattened
from selfplay.report.training import _cells, last_step, training_page
from selfplay.rl.credit.rules import OUTCOMES, Reason
from selfplay.update.batch.examples import ROLES
from selfplay.update.batch.figures import RoleFigures
from selfplay.update.recipe import GIBBERISH

BY_NAME = {
    "rollouts": ROLES,
    "spent": ROLES,
    "steps": ROLES,
    "tokens": (*ROLES, "both"),
    "outcomes": sorted(set().union(*OUTCOMES.values())),
    "without_a_gradient": (GIBBERISH, *map(str, Reason)),
    "versions_behind": ("0", "1"),
    "checks": ("bug",),
    "groups": ("1/2",),
    "reasons": ("shop",),
}
"""The names in the tables whose keys are not fixed."""
VALUES: dict[Any, Any] = {int: 3, float: 0.5, str: "a reason"}


class Known(dict[str, Any]):
    """A table that refuses to be asked for a key that its type does not have."""

    def get(self, name: str, default: Any = None) -> Any:
        assert name in self, f"{name} is not written; there are {sorted(self)}"
        return self[name]


def made(kind: Any, name: str = "") -> Any:
    """A value of a type, with every key that it may have."""
    if is_typeddict(kind):
        return Known({key: made(hint, key) for key, hint in get_type_hints(kind).items()})
    if get_origin(kind) is dict:
        return Known({key: made(get_args(kind)[1]) for key in BY_NAME[name]})
    if type(None) in get_args(kind):
        return made(get_args(kind)[0], name)
    return VALUES[kind]


STEP = made(StepOfSeveral)
HISTORY = [made(StepRecord), STEP] * 5


@pytest.mark.parametrize("name", MONITORS)
def test_a_monitor_finds_its_figure(name: str) -> None:
    measure = MONITORS[name].measure
    step = STEP if name != "parity" else {**STEP, "rollouts": {"solver": {"versions_behind": {"0": 3}}}}
    assert (measure(step) or 0) > 0 or name == "uniform"
    assert measure(step) is not None


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_a_curve_finds_its_figure(line: tuple[str, str, str, dict[str, Callable[[Any], float | None]]]) -> None:
    assert all((measure(STEP) or 0) > 0 for measure in line[3].values())


def test_the_pages_find_their_figures() -> None:
    assert "-" not in list(_cells(STEP))
    with Console(width=160).capture():
        Console(width=160).print(training_page(HISTORY))
    said = "\n".join(last_step(HISTORY, Monitors()))
    for begun in ("groups by", "injections that failed", "bugs unlike", "seconds:", "sampled:", "trained:", "nothing"):
        assert f"\n{begun}" in f"\n{said}", begun
    for role in ROLES:
        for begun in ("versions behind", "without a gradient"):
            assert f"{role}, {begun}" in said
        assert f"{role}: ratio 0.5000" in said
    shown = training(HISTORY)
    assert shown and shown["nothing"] == ["a reason"] and shown["failed"] == {"bug": 3 * len(HISTORY)}
    assert all(any(map(sum, stack["columns"])) for stack in shown["stacks"])
    assert flattened(STEP)["rollouts/solver/reward/mean"] == 0.5


def test_a_renamed_key_is_noticed() -> None:
    renamed = {name: value for name, value in STEP["rollouts"]["solver"].items() if name != "tokens"}
    step = Known({**STEP, "rollouts": Known({"solver": Known({**renamed, "sampled": 3})})})
    assert get_type_hints(RoleFigures).keys() >= renamed.keys()
    with pytest.raises(AssertionError, match="tokens is not written"):
        MONITORS["length"].measure(step)
