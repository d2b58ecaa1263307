"""A sandbox that is lost says nothing of what ran in it, is kept nowhere, and is not the script's doing. Only a limit
met inside is, or a kill of the script, and only when it happens again in a fresh sandbox."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hand_made
import pytest
from killing import Killing, kill_agent, kill_inside, meet_limit, running, stand_still, terminate_inside

from selfplay.artifact import Artifact
from selfplay.sandbox import MIB, Backend, Cause, Limits, SandboxLost, World
from selfplay.sandbox.kill_detection import PAUSES
from selfplay.workbench import RunCache, Workbench, applying, parsing
from selfplay.workbench.running import LIMITS, Run, RunRequest, _Doubtful, run_tests

PLACES = ["git', 'apply", "test_script.sh", "test_parser.py", "restore"]
"""Where a run can be struck: at a diff, in the script, in the parser, while files are put back."""


def run_of(backend: object, world: World, artifact: Artifact, cache: RunCache | None = None) -> Workbench:
    return Workbench(backend, world, artifact, shared=cache)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_lost_sandbox_is_raised_and_kept_nowhere(backend: Backend, worlds: dict[str, World], place: str) -> None:
    """On the code before, the loss at a diff was that diff's refusal, and the cache kept it."""
    artifact = hand_made.artifact("python")
    killing = Killing(backend, running(place))
    bench, cause = run_of(killing, worlds["python"], artifact), (artifact.bug_inject,)
    with pytest.raises(SandboxLost, match="died"):
        bench.run(cause, restore=artifact.test_files)
    again = bench.run(cause, restore=artifact.test_files)
    assert killing.struck == 1 and again.failed_at is None and again.failed


@pytest.mark.parametrize("place", ["test_script.sh", "test_parser.py"])
def test_the_runs_that_artifacts_share_keep_no_loss(backend: Backend, worlds: dict[str, World], place: str) -> None:
    cache, artifact = RunCache(), hand_made.artifact("python")
    killing = Killing(backend, running(place))
    with pytest.raises(SandboxLost):
        run_of(killing, worlds["python"], artifact, cache).run()
    assert run_of(killing, worlds["python"], artifact, cache).run().failed_at is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "step"), [("git', 'apply", "apply"), ("test_script.sh", "script"), ("test_parser.py", "parser")]
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_limit_is_believed_when_it_is_met_again(
    backend: Backend, worlds: dict[str, World], place: str, step: str, times: int
) -> None:
    artifact = hand_made.artifact("python")
    bench = run_of(Killing(backend, running(place, times), meet_limit), worlds["python"], artifact)
    run = bench.run((artifact.bug_inject,))
    assert run.failed_at == (step if times == 2 else None)
    assert "more than its memory" in run.error if times == 2 else not run.error
    assert bench.meter.runs == (0 if run.failed_at == "apply" else 2)  # both tries are paid for


@pytest.mark.slow
@pytest.mark.parametrize("place", ["git', 'apply", "test_parser.py"])
def test_a_program_that_stood_still_is_run_again(
    backend: Backend, worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Its limit is by the clock: a machine that stood still for that long made a genuine bug invalid."""
    monkeypatch.setattr(parsing, "PARSER_SECONDS", 1.0)
    monkeypatch.setattr(applying, "APPLY_SECONDS", 1.0)
    artifact = hand_made.artifact("python")
    run = run_of(Killing(backend, running(place), stand_still), worlds["python"], artifact).run((artifact.bug_inject,))
    assert run.failed_at is None and run.failed


@pytest.mark.slow
@pytest.mark.parametrize(("script", "runs"), [("sleep 60", 2), ("while :; do :; done", 1)])
def test_a_script_that_only_waited_is_run_once_more(
    backend: Backend, worlds: dict[str, World], script: str, runs: int
) -> None:
    bench = Workbench(
        backend, worlds["python"], replace(hand_made.artifact("python"), test_script=script), time_limit=2
    )
    assert bench.run().timed_out and bench.meter.runs == runs


def test_a_limit_and_then_a_kill_is_no_verdict(backend: Backend, worlds: dict[str, World]) -> None:
    strikes = [meet_limit, kill_agent]
    killing = Killing(backend, running("test_script.sh", 2), lambda sandbox: strikes.pop(0)(sandbox))
    with pytest.raises(SandboxLost, match="died"):
        run_of(killing, worlds["python"], hand_made.artifact("python")).run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "code"), [("kill -9 $$", -9), ("sh -c 'kill -9 $$'; exit 137", 137), ("kill $$", -15)]
)
def test_a_script_that_is_killed_every_time_is_believed(
    backend: Backend, worlds: dict[str, World], script: str, code: int
) -> None:
    artifact = replace(hand_made.artifact("python"), test_script=f"echo one\n{script}\n")
    bench = run_of(backend, worlds["python"], artifact)
    assert bench.run().exit_code == code and bench.meter.runs == len(PAUSES)


@pytest.mark.slow
def test_a_script_that_the_kernel_kills_for_memory_is_run_once_more(backend: Backend, worlds: dict[str, World]) -> None:
    """It had four tries, and idle programs beside it after them, as if something else might have killed it."""
    hungry = "exec python3 -c 'x = bytearray(1 << 30); x[::4096] = x[::4096]'\n"
    artifact = replace(hand_made.artifact("python"), test_script=hungry)
    bench = Workbench(backend, worlds["python"], artifact, limits=Limits(memory_bytes=256 * MIB))
    assert bench.run().exit_code == -9 and bench.meter.runs == LIMITS


@pytest.mark.slow
@pytest.mark.parametrize("place", ["test_script.sh", "test_parser.py"])
@pytest.mark.parametrize("strike", [kill_inside, terminate_inside])
def test_what_is_killed_twice_and_then_left_alone_is_not_believed(
    backend: Backend, worlds: dict[str, World], place: str, strike: Callable[[Any], None]
) -> None:
    """On the code before, the second kill was a verdict, which the cache kept: every later episode was invalid."""
    bench = run_of(Killing(backend, running(place, 2), strike), worlds["python"], hand_made.artifact("python"))
    run = bench.run()
    assert run.failed_at is None and not run.failed and bench.meter.runs == 3


@pytest.mark.long
@pytest.mark.parametrize("place", ["test_script.sh", "test_parser.py"])
def test_where_everything_is_killed_nothing_is_believed(backend: Backend, worlds: dict[str, World], place: str) -> None:
    """A program that does nothing is killed there, too: whose doing it was cannot be told, and nothing is kept."""
    cache = RunCache()

    def everywhere(number: int, command: str) -> bool:
        return place in command or "sleep" in command

    killing = Killing(backend, everywhere, kill_inside)
    with pytest.raises(SandboxLost, match="an idle program was killed too"):
        run_of(killing, worlds["python"], hand_made.artifact("python"), cache).run()
    assert run_of(backend, worlds["python"], hand_made.artifact("python"), cache).run().failed_at is None


@pytest.mark.slow
def test_a_process_inside_that_is_killed_once_is_not(backend: Backend, worlds: dict[str, World]) -> None:
    """On the code before, the run had no results: the tests were taken to have failed."""
    bench = run_of(
        Killing(backend, running("test_script.sh"), kill_inside), worlds["python"], hand_made.artifact("python")
    )
    run = bench.run()
    assert run.failed_at is None and not run.failed and bench.meter.runs == 2


@pytest.mark.parametrize("over", [False, True])
def test_a_kill_for_the_memory_of_the_machine_is_no_verdict(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    """A container of 400 MB around a sandbox of 2 GiB: the test "failed", since idle programs beside it lived."""

    def killed(*_: object) -> Run:
        raise _Doubtful(Run(killed_for_memory=True, over_memory=over, error="killed"), killed=not over)

    monkeypatch.setattr("selfplay.workbench.running._tried", killed)
    monkeypatch.setattr("selfplay.workbench.running.PAUSES", (0.0, 0.0, 0.0))
    request = RunRequest(World(), "true", "", 9.0)
    if over:
        assert run_tests(backend, request).error == "killed"
        return
    with pytest.raises(SandboxLost, match="this machine ran out of memory") as lost:
        run_tests(backend, request)
    assert lost.value.cause is Cause.OUTSIDE
