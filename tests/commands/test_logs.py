"""`selfplay logs`: what is killed from outside, or gets no core, is no log of a patch that fails."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_fixtures import Done

from selfplay.commands import logs
from selfplay.curriculum.stored_bugs import prepared_for, read_bug
from selfplay.export.bug_selection import BugSelection
from selfplay.export.evaluation import eval_script
from selfplay.export.pools import collect
from selfplay.sandbox import Backend, Completed

GOOD = Completed(0, b"PASSED a\n", b"", False, False, 1.0, 1.0)


@pytest.mark.parametrize(
    "first",
    [
        Completed(137, b"", b"", False, False, 1.0, 1.0),
        Completed(143, b"", b"", False, False, 1.0, 1.0),
        Completed(-1, b"", b"", True, False, 240.0, 2.0),
    ],
    ids=["killed", "ended by SIGTERM", "without a core"],
)
def test_what_is_killed_or_gets_no_core_is_run_again(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, first: Completed
) -> None:
    ends = [first, GOOD]
    monkeypatch.setattr(logs, "solver_world", lambda prepared: None)
    monkeypatch.setattr(logs, "seconds", lambda bug: 240.0)
    monkeypatch.setattr(logs, "_evaluated", lambda *given: ends.pop(0))
    job: Any = SimpleNamespace(prepared=None, bug=None)
    assert logs._logged(job, backend) == logs.Logged("PASSED a\n") and not ends


@pytest.mark.slow
def test_the_scripts_own_end_is_known(finished: tuple[Path, Done], backend: Backend) -> None:
    """The evaluation itself ends with 0, as graders expect."""
    run = finished[0]
    one = collect([run], BugSelection()).bugs[0]
    folder = run / "bugs" / one.bug.id
    bug, _, _ = read_bug(folder)
    started = '["bash", os.path.join(folder, "test_script.sh")]'
    script = eval_script(one).replace(started, '["bash", "-c", "kill -9 $$"]')
    job = logs._LogJob(one.bug.id, one, b"", script, prepared_for(folder, bug, backend))
    done = logs._evaluated(job, logs.solver_world(job.prepared), 60, backend)
    assert done.was_killed and b"the test script ended with -9" in done.stdout
