"""Both solvers through the real episode loop, in the solver's world of a real, prepared repository."""

import json

import hand_made
import pytest
import tiny_shop
from playing import played as play
from scripted.solver.conftest import Plant

from selfplay import patches
from selfplay.agent import Finish, Policy, Trajectory
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world, prediction_of
from selfplay.roles.solver.task import SolverTask
from selfplay.sandbox import Backend, World
from selfplay.scripted.solver.naive import naive_solver
from selfplay.scripted.solver.script import scripted_solver

PRICES, TESTS = "tinyshop/prices.py", "tests/test_prices.py"
DISCOUNT = "def test_discount():\n    assert total([(100, 1)], discount=10) == 90\n"
HIDDEN = {TESTS: (DISCOUNT, "")}
OPERATOR = {PRICES: ("result -= result * discount // 100", "result += result * discount // 100")}
BODY = {PRICES: (tiny_shop.PRICES.partition("    result = 0\n")[2].partition("\n\n\n")[0], "    return items")}


def played(backend: Backend, task: Task, policy: Policy) -> tuple[Trajectory, str, bool]:
    """The trajectory, the prediction, and whether the hidden test passes with it."""
    with open_world(backend, task) as world:
        trajectory = play(policy, world.sandbox, "solver")
        changes = world.changes()
        test = f"cat >> {TESTS} <<'E'\n\n\n{DISCOUNT}E\npython -m pytest -q {TESTS} tests/test_words.py"
        passes = world.sandbox.run(test, timeout=60).exit_code == 0
    return trajectory, prediction_of(backend, task, changes).diff, passes


def told(task: Task, number: int = 0, seed: int = 0) -> SolverTask:
    return SolverTask("shop.1", patches.reverse(task.artifact.test_weaken), seed, number)


@pytest.mark.slow
def test_the_search_repairs_an_operator_and_hands_in_code_alone(backend: Backend, plant: Plant) -> None:
    task = plant(OPERATOR, HIDDEN)
    trajectory, diff, passes = played(backend, task, scripted_solver(told(task)))
    assert trajectory.finish is Finish.SUBMITTED and trajectory.policy == "scripted-search"
    assert passes and patches.touched_paths(diff) == (PRICES,)


@pytest.mark.long
def test_the_same_attempt_proposes_the_same_repairs(backend: Backend, plant: Plant) -> None:
    """What it hands in hangs on how many of them a slow machine gets to."""
    task = plant(OPERATOR, HIDDEN)
    one, again, other = (tries(backend, task, number)[0] for number in (1, 1, 2))
    assert one == again != other


def tries(backend: Backend, task: Task, number: int) -> list[str]:
    """What an attempt tried, a text a job."""
    trajectory, _, _ = played(backend, task, scripted_solver(told(task, number=number)))
    jobs = [
        step.call.arguments["content"] for step in trajectory.steps if "job.json" in step.call.arguments.get("path", "")
    ]
    return [str(job["candidates"]) for job in map(json.loads, jobs) if job["do"] == "try"]


@pytest.mark.slow
def test_a_search_that_finds_nothing_hands_in_a_patch_of_code(backend: Backend, plant: Plant) -> None:
    task = plant(BODY, HIDDEN)
    _, diff, _ = played(backend, task, scripted_solver(told(task)))
    assert patches.touched_paths(diff) and all(not patches.is_test_file(path) for path in patches.touched_paths(diff))


@pytest.mark.slow
def test_naive_attempts_differ_and_rarely_solve(backend: Backend, plant: Plant) -> None:
    task = plant(
        {PRICES: ('            raise ValueError("negative count")\n', "            count = 0\n")},
        {TESTS: ("    with pytest.raises(ValueError):\n        total([(1, -1)])\n", "    pass\n")},
    )
    ended = [played(backend, task, naive_solver(told(task, number))) for number in range(4)]
    assert [trajectory.finish for trajectory, _, _ in ended] == [Finish.SUBMITTED] * 4
    diffs = {diff for _, diff, _ in ended}
    assert len(diffs) == 4 and "" not in diffs
    assert all(patches.touched_paths(diff) == (PRICES,) for diff in diffs)


def test_where_no_pytest_is_both_give_up_and_leave_nothing(backend: Backend, worlds: dict[str, World]) -> None:
    task = Task(worlds["javascript"], hand_made.artifact("javascript"))
    for policy in (scripted_solver(told(task)), naive_solver(told(task))):
        with open_world(backend, task) as world:
            trajectory = play(policy, world.sandbox, "solver")
            assert trajectory.finish is Finish.GAVE_UP and trajectory.error == ""
            assert trajectory.last_words == "there is no Python with pytest here"
            assert prediction_of(backend, task, world.changes()).diff == ""
