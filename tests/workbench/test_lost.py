"""A sandbox that is lost once is not the script's doing; one that is lost whenever the script runs is."""

from collections.abc import Iterator
from contextlib import contextmanager

import hand_made
import pytest

from selfplay.sandbox import Backend, Completed, Sandbox, World
from selfplay.workbench import Workbench


class Losing:
    """A real backend whose sandboxes die when a test script is run in them, `times` times."""

    def __init__(self, backend: Backend, times: int) -> None:
        self.backend, self.times = backend, times
        self.name, self.image_id, self.owner, self.close = backend.name, backend.image_id, backend.owner, backend.close

    @contextmanager
    def open(self, *asked: object) -> Iterator[Sandbox]:
        with self.backend.open(*asked) as sandbox:  # type: ignore[arg-type]
            yield _Dying(sandbox, self)  # type: ignore[misc]


class _Dying:
    def __init__(self, sandbox: Sandbox, backend: Losing) -> None:
        self.sandbox, self.backend = sandbox, backend
        self.read_file, self.write_file, self.close = sandbox.read_file, sandbox.write_file, sandbox.close

    def run(self, command: object, **options: object) -> Completed:
        if "test_script.sh" in str(command) and self.backend.times > 0:
            self.backend.times -= 1
            self.sandbox.close()
        return self.sandbox.run(command, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("times", "stage", "runs"), [(0, None, 1), (1, None, 2), (2, "script", 2)])
def test_a_lost_sandbox_is_believed_when_it_is_lost_again(
    backend: Backend, worlds: dict[str, World], times: int, stage: str | None, runs: int
) -> None:
    bench = Workbench(Losing(backend, times), worlds["python"], hand_made.artifact("python"))  # type: ignore[arg-type]
    assert bench.run().stage == stage and bench.meter.runs == runs
