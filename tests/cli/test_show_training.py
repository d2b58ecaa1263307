"""`selfplay show` of a training run: the page of its steps beside its bugs, and hostile figures."""

import json
from pathlib import Path

import pytest
from report.test_training import STEP
from run_fixtures import Command


@pytest.mark.slow
def test_the_steps_are_shown_and_are_in_the_json(selfplay: Command, run: Path) -> None:
    assert "steps" not in selfplay("show", run, "--json").json
    (run / "metrics.jsonl").write_text(f"{json.dumps(STEP)}\n" * 2)
    page = selfplay("show", run).out
    assert page.startswith("Bugs") and "Training: 2 steps" in page and "versions behind: 0: 6, 1: 2" in page
    assert selfplay("show", run, "--json").json["steps"] == [STEP, STEP]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}\n{", "metrics.jsonl, line 2: it is not JSON"),
        ("[]\n", "line 1: it does not hold a step's figures"),
        ('{"number": NaN}\n', "line 1: it is not JSON as we write it: NaN is not a number"),
        ("[" * 10_000, "line 1: it is nested"),
        (None, "is not a regular file"),
    ],
)
def test_hostile_figures_are_refused_by_line(selfplay: Command, run: Path, content: str | None, said: str) -> None:
    path = run / "metrics.jsonl"
    if content is None:
        path.symlink_to("/etc/passwd")
    else:
        path.write_text(content)
    done = selfplay("show", run)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err
