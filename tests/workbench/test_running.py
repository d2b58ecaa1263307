"""The engine that runs tests, on a real sandbox: each thing a request asks for, and in which order it is done."""

import pathlib
from collections.abc import Callable
from typing import Any

import hand_made
import pytest

from selfplay.sandbox import Backend, World
from selfplay.workbench.files import TestFile
from selfplay.workbench.running import Run, RunRequest, run_tests

PARSER = 'import json, sys\nprint(json.dumps(dict.fromkeys(filter(None, sys.stdin.read().split("\\n")), "passed")))\n'
ORIGINAL = hand_made.original("python")
PRICES = "store/prices.py"
Ask = Callable[..., Run]


@pytest.fixture
def ask(backend: Backend, worlds: dict[str, World]) -> Ask:
    """`ask(script, **what)`: the run of a script on the Python repository."""

    def run(script: str, **what: Any) -> Run:
        return run_tests(backend, RunRequest(worlds["python"], script, PARSER, what.pop("seconds", 20.0), **what))

    return run


def written(path: str, text: str) -> str:
    """A diff that gives a file of the original this text."""
    return hand_made.diff(ORIGINAL, lambda root: pathlib.Path(root, path).write_text(text) and None)


def test_diffs_then_what_is_optional_then_restored_then_written(ask: Ask) -> None:
    """Each later step sees what the ones before it made."""
    diff, other = written(PRICES, "x = 1\n"), written("store/labels.py", "y = 1\n")
    wanted = {"store/new.py": TestFile(b"z = 1\n", True, 86_400)}
    look = f"cat {PRICES} store/labels.py store/new.py; stat -c '%a %Y' store/new.py"
    run = ask(look, diffs=[diff], optional=other, files=wanted)
    assert run.planted and set(run.outcomes) == {"x = 1", "y = 1", "z = 1", "755 86400"}
    back = ask(f"grep -c 'x = 1' {PRICES}", diffs=[diff], restore=[PRICES])
    assert set(back.outcomes) == {"0"}
    over = ask(f"cat {PRICES}", restore=[PRICES], files={PRICES: TestFile(b"w = 1\n")})
    assert set(over.outcomes) == {"w = 1"}


def test_an_optional_diff_that_does_not_fit_changes_nothing(ask: Ask) -> None:
    diff = written(PRICES, "x = 1\n")
    run = ask(f"cat {PRICES}", diffs=[diff], optional=diff)
    assert run.failed_at is None and not run.planted and set(run.outcomes) == {"x = 1"}


def test_a_diff_that_does_not_apply_is_called_by_its_name(ask: Ask) -> None:
    diff = written(PRICES, "x = 1\n")
    run = ask("true", diffs=[diff, diff], names={diff: "the prediction"})
    assert run.failed_at == "apply" and run.error.startswith("the prediction does not apply: ")
    assert ask("true", diffs=[diff, diff]).error.startswith("the diff does not apply: ")


def test_the_script_has_its_environment_its_input_and_what_lies_beside_it(ask: Ask) -> None:
    script = 'echo "$WORD"; cat; cat /oracle/folder/note; echo >/oracle/folder/note || echo cannot write'
    run = ask(script, environment={"WORD": "one"}, stdin=b"two\n", beside={"folder/note": "three\n"})
    assert set(run.outcomes) == {"one", "two", "three", "cannot write"}


def test_watched_files_and_their_compiled_forms_are_compared(ask: Ask) -> None:
    watch = [PRICES, "store/labels.py", "store/shop.py"]
    assert ask("echo ran", watch=watch).rewritten == ()
    script = f"echo '#' >> {PRICES}; rm store/shop.py; echo ran"
    assert ask(script, watch=watch).rewritten == (PRICES, "store/shop.py")
    assert ask(script).rewritten == ()


def test_what_a_run_compiled_files_to_is_kept_and_put_back(ask: Ask) -> None:
    files = {"one.py": TestFile(b"x = 1\n", mtime=86_400)}
    script = "PYTHONDONTWRITEBYTECODE= python3 -c 'import one; print(one.__cached__)'"
    run = ask(script, files=files, watch=list(files), keep_compiled=True)
    (form,) = run.compiled
    assert form.startswith("__pycache__/one.") and run.rewritten == ()
    forged = f"echo x >> {form}; echo ran"
    again = ask(forged, files=files, compiled=run.compiled, watch=list(files))
    assert again.rewritten == (form,) and again.compiled == {}


def test_files_are_read_after_the_run_where_they_are_there(ask: Ask) -> None:
    run = ask("printf told > /tmp/said; mkfifo /tmp/pipe; echo ran", read=["/tmp/said", "/tmp/none", "/tmp/pipe"])
    assert run.found == {"/tmp/said": b"told"} and run.log == b"ran\n"


def test_a_summary_holds_no_log_and_no_files(ask: Ask) -> None:
    run = ask("echo ran; echo lost >&2")
    summary = run.summary()
    assert not isinstance(summary, Run) and summary.outcomes == {"ran": "passed"}
    assert summary.log_tail == "ran\nlost\n" and summary.seconds == run.seconds > 0


@pytest.mark.slow
def test_a_script_that_does_not_end_is_stopped_and_what_it_printed_is_parsed(ask: Ask) -> None:
    run = ask("echo ran; sleep 60", seconds=1.0)
    assert run.timed_out and set(run.outcomes) == {"ran"} and 1 <= run.seconds < 20
