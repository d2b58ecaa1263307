"""One episode in a real sandbox: how it ends, what it costs, and that it raises for a lost sandbox alone."""

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from killing import kill_agent
from playing import played

from selfplay.agent import Call, EpisodeLimits, Finish, Observation, Trajectory
from selfplay.agent.episode import EpisodeLost
from selfplay.agent.trajectory import Record
from selfplay.agent.trajectory_file import load, save
from selfplay.formatting import cap
from selfplay.sandbox import Sandbox
from selfplay.scripted.policy import ScriptedPolicy


def bash(command: str, **arguments: Any) -> Call:
    return Call("bash", {"command": command, **arguments})


@dataclass
class Plays:
    """A policy that plays the calls it was given, and keeps what it saw."""

    calls: list[Any]
    name: str = "plays"
    seen: list[Observation | None] = field(default_factory=list)

    async def act(self, observation: Observation | None) -> Any:
        self.seen.append(observation)
        return self.calls.pop(0) if self.calls else None

    def record(self) -> Record:
        return Record()


def play(sandbox: Sandbox, turns: Iterable[Any], **limits: Any) -> tuple[Trajectory, list[Observation]]:
    policy = Plays(list(turns))
    trajectory = played(policy, sandbox, limits=EpisodeLimits(**limits))
    return trajectory, [observation for observation in policy.seen if observation is not None]


def test_an_episode_ends_with_a_turn_without_a_call(sandbox: Sandbox) -> None:
    trajectory, seen = play(sandbox, [bash("echo one; echo two >&2"), bash("exit 3")])
    assert trajectory.finish == Finish.GAVE_UP and trajectory.submission is None and trajectory.policy == "plays"
    assert [(step.output, step.exit_code) for step in trajectory.steps] == [("one\ntwo\n", 0), ("", 3)]
    assert seen[0].ok and not seen[1].ok
    assert seen[1].text.startswith("\n[exit code 3]\n[126 calls and ")


def test_the_last_submission_counts_and_does_not_end_the_episode(sandbox: Sandbox) -> None:
    calls = [Call("submit", {"folder": "/tmp/a"}), bash("true"), Call("submit", {"folder": "b"}), bash("false")]
    trajectory, _ = play(sandbox, calls)
    assert (trajectory.finish, trajectory.submission) == (Finish.SUBMITTED, "/testbed/b")
    assert len(trajectory.steps) == 4


def test_calls_run_out(sandbox: Sandbox) -> None:
    trajectory, seen = play(sandbox, [bash("true")] * 9, calls=3)
    assert trajectory.finish == Finish.OUT_OF_CALLS and len(trajectory.steps) == 3
    assert [observation.budget.calls for observation in seen] == [2, 1, 0]


def test_a_policy_may_stop_when_its_calls_are_spent(sandbox: Sandbox) -> None:
    assert play(sandbox, [Call("submit", {"folder": "a"})], calls=1)[0].finish == Finish.SUBMITTED


@pytest.mark.slow
def test_seconds_run_out_and_cut_the_last_command_short(sandbox: Sandbox) -> None:
    started = time.monotonic()
    trajectory, seen = play(sandbox, [bash("sleep 60"), bash("true")], seconds=1.2)
    assert trajectory.finish == Finish.OUT_OF_TIME and time.monotonic() - started < 10
    assert len(trajectory.steps) == 1 and seen == []
    assert trajectory.steps[0].exit_code == 124 and "[killed after 1 s]" in trajectory.steps[0].output


def test_a_command_may_ask_for_less_time(sandbox: Sandbox) -> None:
    trajectory, _ = play(sandbox, [bash("echo started; sleep 60", timeout=0.5)])
    assert trajectory.steps[0].output.startswith("started\n") and trajectory.steps[0].seconds < 10


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("python", {}), "There is no tool 'python'. The tools are: bash, edit, create, submit."),
        (Call(["bash"], {}), "There is no tool '(not a call)'"),  # type: ignore[arg-type]
        (Call("bash", {}), "bash: needs 'command', a text"),
        (Call("bash", {"command": ["ls"]}), "bash: needs 'command', a text"),
        (bash("true", timeout="soon"), "bash: 'timeout' is a number of seconds above 0"),
        (bash("true", timeout=None), "bash: 'timeout' is a number of seconds above 0"),
        (bash("true", timeout=-1), "bash: 'timeout' is a number of seconds above 0"),
        (bash("true", timeout=float("nan")), "bash: 'timeout' is a number of seconds above 0"),
        (bash("echo \0"), "bash: 'command' holds a NUL character"),
        (Call("bash", ["ls"]), "There is no tool '(not a call)'"),  # type: ignore[arg-type]
        (Call("edit", {"path": "a", "old": "x"}), "edit: needs 'new', a text"),
        (Call("edit", {"path": "nowhere", "old": "x", "new": "y"}), "edit: /testbed/nowhere does not exist"),
        (Call("edit", {"path": "/tmp", "old": "x", "new": "y"}), "edit: "),
        (Call("edit", {"path": "a\0b", "old": "x", "new": "y"}), "edit: 'path' holds a NUL character"),
        (Call("create", {"path": "/usr/x", "content": ""}), "create: /usr/x cannot be written: "),
        (Call("create", {"path": "/tmp", "content": ""}), "create: /tmp cannot be written: "),
        (Call("create", {"content": ""}), "create: needs 'path', a text"),
        (Call("submit", {"folder": 3}), "submit: needs 'folder', a text"),
        (bash("echo \ud800"), "bash: 'command' cannot be encoded: surrogates not allowed"),
        ("ls", "There is no tool '(not a call)'. The tools are: bash, edit, create, submit."),
    ],
)  # fmt: skip
def test_a_bad_call_is_an_observation(sandbox: Sandbox, call: Any, said: str) -> None:
    trajectory, seen = play(sandbox, [call, bash("echo still here")])
    assert trajectory.finish == Finish.GAVE_UP, trajectory.error
    assert seen[0].output.startswith(said) and seen[0].exit_code == 1
    assert seen[1].output == "still here\n"


def test_a_policy_that_fails_ends_its_episode_only(sandbox: Sandbox) -> None:
    def script() -> Generator[Call, Observation, None]:
        yield Call("submit", {"folder": "/tmp/a"})
        raise LookupError("nothing here")

    trajectory = played(ScriptedPolicy("broken", script()), sandbox)
    assert (trajectory.finish, trajectory.error) == (Finish.POLICY_ERROR, "LookupError: nothing here")
    assert trajectory.submission == "/tmp/a" and len(trajectory.steps) == 1


def test_an_episode_that_lost_its_sandbox_has_no_end_of_its_own(sandbox: Sandbox) -> None:
    """On the code before it ended as `sandbox_lost`, and that was stored as what came of it."""

    def script() -> Generator[Call, Observation, None]:
        yield bash("true")
        kill_agent(sandbox)
        yield bash("true")

    with pytest.raises(EpisodeLost, match="died") as lost:
        played(ScriptedPolicy("p", script()), sandbox)
    trajectory = lost.value.trajectory
    assert trajectory.finish == Finish.SANDBOX_LOST and trajectory.error and len(trajectory.steps) == 1


def test_a_sandbox_lost_while_a_file_is_edited_is_not_an_observation(sandbox: Sandbox) -> None:
    def script() -> Generator[Call, Observation, None]:
        kill_agent(sandbox)
        yield Call("edit", {"path": "/tmp/a", "old": "a", "new": "b"})

    with pytest.raises(EpisodeLost):
        played(ScriptedPolicy("p", script()), sandbox)


@pytest.mark.parametrize(("length", "cut"), [(10, 0), (11, 1), (1000, 990)])
def test_cap_says_how_much_is_gone(length: int, cut: int) -> None:
    text = "a" * 5 + "x" * (length - 10) + "b" * 5
    capped = cap(text, 10)
    assert capped == (f"aaaaa\n[... {cut} characters cut ...]\nbbbbb" if cut else text)


def test_a_trajectory_comes_back_as_it_was(sandbox: Sandbox, tmp_path: Path) -> None:
    calls = [bash("printf '\\377 \\342\\200\\250 ü\\r\\n'; exit 5"), Call("edit", {"path": "a"}), Call("nothing", {})]
    trajectory, _ = play(sandbox, [*calls, Call("submit", {"folder": "/tmp/a\u2028b"})])
    path = tmp_path / "deep" / "t.jsonl"
    save(trajectory, path)
    assert load(path) == trajectory
    assert len(path.read_bytes().splitlines()) == 1 + len(trajectory.steps)
    assert [p.name for p in path.parent.iterdir()] == ["t.jsonl"]


@pytest.mark.parametrize("make", [lambda: object(), lambda: b"bytes", lambda: {1, 2}])
def test_arguments_that_are_no_json_are_still_kept(sandbox: Sandbox, tmp_path: Path, make: Callable[[], Any]) -> None:
    trajectory, _ = play(sandbox, [Call("bash", {"command": "true", "why": make()})])
    save(trajectory, tmp_path / "t.jsonl")
    assert load(tmp_path / "t.jsonl").steps[0].call.arguments["command"] == "true"
