"""A rollout that is stored comes back as it was, whatever later versions add."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from selfplay.agent import Step, Trajectory
from selfplay.agent.actions import Call, Finish
from selfplay.agent.trajectory_file import TrajectoryError, load, save
from selfplay.commands.storing import store_attempt, store_episode
from selfplay.curriculum import open_curriculum
from selfplay.rollout.rollout import (
    FORMAT,
    InjectorKey,
    InjectorOutcome,
    InjectorRollout,
    Rollout,
    SolverKey,
    SolverOutcome,
    SolverRollout,
)
from selfplay.rollout.stored import LEFT_TO_THE_POOL, header, load_rollout

STEPS = (Step(Call("bash", {"command": "ls"}), "a.py\n", 0, 0.25),)
PLANTED: InjectorRollout = Rollout(
    Trajectory("injector", "p", Finish.SUBMITTED, STEPS, "out", 1.0),
    InjectorKey("shop", "removal", 3, 7, "src/a.py"),
    InjectorOutcome("invalid", "bug: it hangs", 2.5, "bug", "a key", suite_runs=2, validation_seconds=1.5),
)
SOLVED: SolverRollout = Rollout(
    Trajectory("solver", "p", Finish.SUBMITTED, STEPS, "out", 1.0),
    SolverKey("shop-1", "search", 3, 0),
    SolverOutcome(True, "resolved", "all pass", "a diff", 2.0, ("a.lock",), 3, 1.0, 4, "full"),
)


@pytest.mark.parametrize("rollout", [PLANTED, SOLVED], ids=["injector", "solver"])
def test_what_is_stored_comes_back(tmp_path: Path, rollout: InjectorRollout | SolverRollout) -> None:
    with open_curriculum(tmp_path) as pool:
        if isinstance(rollout.task, InjectorKey):
            store_episode(pool, PLANTED)
        else:
            store_attempt(pool, SOLVED)
    (file,) = (tmp_path / "trajectories").iterdir()
    found = load_rollout(file)
    assert found.trajectory == rollout.trajectory == load(file)
    assert found.header.format == FORMAT and found.header.group == rollout.group
    assert found.header.task.model_dump() == vars(rollout.task)
    kept = {name: value for name, value in vars(rollout.outcome).items() if name not in LEFT_TO_THE_POOL}
    assert found.header.outcome.model_dump() == kept


def test_the_architecture_tells_of_what_a_rollout_is_made() -> None:
    """What the constructor asks for, and where the group and the format's version are."""
    asked = [one.name for one in fields(Rollout) if one.init and one.default is one.default_factory]  # both are MISSING
    text = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    assert f"`Rollout({', '.join(asked)})`" in text
    assert "group" not in asked and header(PLANTED).keys() == {"format", "task", "group", "outcome"}


def test_a_field_of_a_later_version_is_kept(tmp_path: Path) -> None:
    told = header(PLANTED)
    save(PLANTED.trajectory, tmp_path / "a.jsonl", {**told, "more": 1, "outcome": {**told["outcome"], "weight": 0.5}})
    found = load_rollout(tmp_path / "a.jsonl").header.model_dump()
    assert found["more"] == 1 and found["outcome"]["weight"] == 0.5


def test_a_later_format_and_a_bare_trajectory_are_refused(tmp_path: Path) -> None:
    save(PLANTED.trajectory, tmp_path / "later.jsonl", {**header(PLANTED), "format": FORMAT + 1})
    with pytest.raises(TrajectoryError, match="written by a later version") as later:
        load_rollout(tmp_path / "later.jsonl")
    assert later.value.hint == "Update selfplay."
    save(PLANTED.trajectory, tmp_path / "bare.jsonl")
    with pytest.raises(TrajectoryError, match="a trajectory without its rollout"):
        load_rollout(tmp_path / "bare.jsonl")


@pytest.mark.parametrize("damage", [[], {"task": 1}, {"outcome": {"status": "great"}}, {"group": None}])
def test_a_damaged_header_is_named(tmp_path: Path, damage: object) -> None:
    file = tmp_path / "a.jsonl"
    save(PLANTED.trajectory, file, header(PLANTED))
    head, *rest = file.read_text().splitlines()
    line = json.loads(head)
    line["rollout"] = {**line["rollout"], **damage} if isinstance(damage, dict) else damage
    file.write_text("\n".join([json.dumps(line), *rest]) + "\n")
    with pytest.raises(TrajectoryError, match=r"a\.jsonl"):
        load_rollout(file)
