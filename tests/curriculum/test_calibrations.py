"""A calibration is made once and kept beside its bug, for every process; that a bug cannot be graded is kept, too."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from curriculum.test_calibrations_kept import KNOWN
from exploits.projects import Lab

from selfplay.curriculum import calibrations
from selfplay.curriculum.calibrations import CALIBRATION_FILE, calibration_of
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.errors import OracleError
from selfplay.oracle.task import Oracle
from selfplay.rollout.calibrations import Calibrations
from selfplay.sandbox import Backend, Completed, Sandbox, SandboxError, SandboxLost, errors
from selfplay.sandbox.workers import Workers


@pytest.fixture(scope="module")
def lab(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab("python", backend, tmp_path_factory.mktemp("python"))


class Counting:
    """A real backend that counts the sandboxes it opens."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.opened = backend, 0
        self.name, self.image_id, self.owner, self.close = backend.name, backend.image_id, backend.owner, backend.close
        self.python = backend.python

    def open(self, *asked: object) -> Sandbox:
        self.opened += 1
        return self.backend.open(*asked)  # type: ignore[arg-type, return-value]


def opened(lab: Lab, folder: Path, backend: Backend, oracle: Oracle | None = None) -> int:
    """How many sandboxes getting the calibration takes."""
    counting = Counting(backend)
    calibration_of(folder, counting, lab.task, oracle or lab.oracle)  # type: ignore[arg-type]
    return counting.opened


@pytest.mark.long
def test_the_second_who_asks_runs_nothing(lab: Lab, backend: Backend, tmp_path: Path) -> None:
    assert opened(lab, tmp_path, backend) > 0
    assert opened(lab, tmp_path, backend) == 0


@pytest.mark.long
def test_what_is_damaged_or_of_another_oracle_is_made_anew(lab: Lab, backend: Backend, tmp_path: Path) -> None:
    opened(lab, tmp_path, backend)
    file = tmp_path / CALIBRATION_FILE
    whole = file.read_bytes()
    for damage in (b"", b"{}", b"[" * 100_000, whole[:-20]):
        file.write_bytes(damage)
        assert opened(lab, tmp_path, backend) > 0
    fewer = replace(lab.oracle, pass_to_pass=frozenset(sorted(lab.oracle.pass_to_pass)[1:]))
    assert opened(lab, tmp_path, backend, fewer) > 0


@pytest.mark.long
def test_a_bug_that_cannot_be_graded_says_so_in_the_end_without_a_run(
    lab: Lab, backend: Backend, tmp_path: Path
) -> None:
    """Three calls try twice each, the fourth believes them."""
    never = replace(lab.oracle, pass_to_pass=lab.oracle.pass_to_pass | {"tests/test_nothing.py::test_nowhere"})
    opened, told = list[int](), set[str]()
    for _ in range(4):
        counting = Counting(backend)
        with pytest.raises(OracleError, match="cannot be graded against") as caught:
            calibration_of(tmp_path, counting, lab.task, never)  # type: ignore[arg-type]
        opened.append(counting.opened)
        told.add(caught.value.message)
    assert all(opened[:3]) and not opened[3] and len(told) == 1


def test_a_machine_that_was_too_slow_does_not_spoil_a_bug(
    lab: Lab, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original's tests fail in two calls of two tries each; then the machine is quiet."""
    tries = iter([OracleError("too slow")] * 4)

    def calibrated(*_: object, **__: object) -> Calibration:
        if (error := next(tries, None)) is not None:
            raise error
        return KNOWN

    monkeypatch.setattr(calibrations, "calibrate", calibrated)
    for _ in range(2):
        with pytest.raises(OracleError, match="too slow"):
            calibration_of(tmp_path, backend, lab.task, lab.oracle)
    assert [calibration_of(tmp_path, backend, lab.task, lab.oracle) for _ in range(2)] == [KNOWN, KNOWN]


@pytest.mark.long
def test_a_fault_of_ours_is_the_bug_s_and_a_want_of_memory_is_not(
    lab: Lab, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that Python parses and cannot write ended attempts as if the machine had; eight such bugs ended runs."""
    raised: list[Exception] = [RecursionError("too deep")] * 2 * 3 + [MemoryError()]

    def calibrated(*_: object, **__: object) -> Calibration:
        raise raised.pop(0)

    monkeypatch.setattr(calibrations, "calibrate", calibrated)
    for _ in range(4):  # the fourth is told without a try
        with pytest.raises(OracleError, match="it cannot be calibrated: RecursionError: too deep"):
            calibration_of(tmp_path, backend, lab.task, lab.oracle)
    monkeypatch.setattr(errors, "_is_short_of_memory", lambda: True)
    with pytest.raises(SandboxLost, match="a bug could not be calibrated"):
        calibration_of(tmp_path / "other", backend, lab.task, lab.oracle)
    assert not raised and not (tmp_path / "other").exists()


def test_a_folder_that_cannot_be_written_to_costs_only_the_sharing(lab: Lab, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / CALIBRATION_FILE).mkdir()  # nothing can take its place
    assert opened(lab, tmp_path, backend) > 0
    assert opened(lab, tmp_path, backend) > 0


def test_those_who_ask_at_once_share_one(lab: Lab) -> None:
    """The first is cancelled in the middle: the next makes it, the others await that one."""
    made: list[int] = []
    known: Calibration = object()  # type: ignore[assignment]  # any value will do: it is handed on

    async def main() -> None:
        calibrations, begun, go = Calibrations(), asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def make() -> Calibration:
            made.append(len(made))
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go.wait(), loop).result(20)
            return known

        with Workers(4) as workers:
            first = asyncio.create_task(calibrations.get("bug", workers, make))
            await begun.wait()
            others = [asyncio.create_task(calibrations.get("bug", workers, make)) for _ in range(3)]
            await asyncio.sleep(0)
            first.cancel()
            go.set()
            assert await asyncio.gather(*others) == [known] * 3

    asyncio.run(main())
    assert made == [0, 1]


def test_when_all_who_ask_are_cancelled_nobody_takes_over() -> None:
    """As by Ctrl-C: who is cancelled itself does not take the maker's cancellation for a reason to go on."""
    made: list[int] = []

    async def main() -> None:
        calibrations, begun, go = Calibrations(), asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def make() -> Calibration:
            made.append(len(made))
            loop.call_soon_threadsafe(begun.set)
            assert go.wait(20)
            raise AssertionError("nobody waits for this")

        with Workers(4) as workers:
            asking = [asyncio.create_task(calibrations.get("bug", workers, make)) for _ in range(4)]
            await begun.wait()
            for task in asking:
                task.cancel()
            found = await asyncio.gather(*asking, return_exceptions=True)
            go.set()
        assert all(isinstance(one, asyncio.CancelledError) for one in found)

    asyncio.run(main())
    assert made == [0]


class Losing(Counting):
    """A real backend whose sandboxes are lost from the `last`th on, as when a lease ends."""

    def __init__(self, backend: Backend, last: int) -> None:
        super().__init__(backend)
        self.last = last

    @contextmanager
    def open(self, *asked: object) -> Iterator[Sandbox]:  # type: ignore[override]
        self.opened += 1
        with self.backend.open(*asked) as sandbox:  # type: ignore[arg-type]
            yield _Lost(sandbox) if self.opened >= self.last else sandbox  # type: ignore[misc]


class _Lost:
    """A sandbox that dies when the test script is run in it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.read_file, self.write_file, self.close = sandbox.read_file, sandbox.write_file, sandbox.close
        self.own_env = sandbox.own_env

    def run(self, command: object, **options: object) -> Completed:
        if "test_script.sh" in str(command):
            self.sandbox.close()
        return self.sandbox.run(command, **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("last", [1, 3], ids=["in the first run", "in the run of the impossible tests"])
def test_a_lost_sandbox_is_neither_believed_nor_stored(lab: Lab, backend: Backend, tmp_path: Path, last: int) -> None:
    """Each run opens two sandboxes, for the script and for the parser: the third is that of the second run."""
    with pytest.raises(SandboxError):
        calibration_of(tmp_path, Losing(backend, last), lab.task, lab.oracle)  # type: ignore[arg-type]
    assert not (tmp_path / CALIBRATION_FILE).exists()
