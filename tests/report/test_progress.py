"""What a pipe is told while a command works: real processes whose standard error is a pipe."""

import os
import subprocess
import sys
import time

import pytest

from selfplay.report.progress import episodes_came_to

WORK = """
import time
from selfplay.report import display
from selfplay.report.progress import LiveWatcher

display.FIRST_GAP, display.LONGEST_GAP = 0.2, 0.8
with LiveWatcher() as watcher:
    watcher.say("collecting the tests")
    watcher.expect(3, "checking 3 bugs")
    watcher.done("1 of 3: a valid")
    time.sleep(3)
    watcher.expect(None, "grading")
"""


def said(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.slow
def test_a_pipe_is_told_of_each_phase_and_at_growing_intervals() -> None:
    lines = said(WORK)
    assert lines[:3] == ["collecting the tests", "checking 3 bugs: 0 of 3", "1 of 3: a valid"]
    assert lines[-1] == "grading"
    between = lines[3:-1]
    assert all(line.startswith("checking 3 bugs: 1 of 3, ") and line.endswith(" s so far") for line in between)
    # after 0.2 s, 0.4 s more, then every 0.8 s: 0.2, 0.6, 1.4, 2.2 and perhaps 3.0 s; fewer on a machine that stalls
    assert 2 <= len(between) <= 5


def test_a_phase_that_goes_on_counts_what_an_earlier_run_did() -> None:
    program = "from selfplay.report.progress import LiveWatcher\nwith LiveWatcher() as w:\n"
    program += "    w.expect(30, 'making bugs', 17); w.done('18'); w.expect(None, 'grading')"
    assert said(program) == ["making bugs: 17 of 30", "18", "grading"]


def test_a_long_line_is_not_broken() -> None:
    line = "x" * 300
    assert said(f"from selfplay.report.progress import LiveWatcher\nwith LiveWatcher() as w: w.say({line!r})") == [line]


def test_a_silent_command_says_that_it_is_preparing_only_after_a_while() -> None:
    program = "from selfplay.report.progress import LiveWatcher\nwith LiveWatcher(): pass"
    assert said(program) == []


def test_nobody_reads_any_more() -> None:
    program = "from selfplay.report.progress import LiveWatcher\nimport time\nwith LiveWatcher() as w:\n"
    program += "    while True: w.say('a line'); time.sleep(0.01)"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.read(10)
        process.stderr.close()
        assert process.wait(30) == 141


@pytest.mark.slow
def test_a_terminal_has_a_bar_and_keeps_the_lines() -> None:
    ours, theirs = os.openpty()
    program = WORK.replace("sleep(3)", "sleep(0.3)")
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", program], stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        while process.poll() is None or time.sleep(0):
            try:
                shown += os.read(ours, 4096)
            except OSError:
                break
    assert process.returncode == 0
    text = shown.decode()
    assert "1/3" in text and "checking 3 bugs" in text and "1 of 3: a valid" in text and "so far" not in text


def test_what_came_of_episodes_is_said_in_words() -> None:
    assert episodes_came_to({"gave_up": 40}) == "of 40 episodes 40 gave up"
    assert episodes_came_to({"valid": 1, "invalid": 3}) == "of 4 episodes 3 failed a check, 1 gave a bug"
    assert episodes_came_to({"gave_up": 1}) == "of 1 episode 1 gave up"
    assert episodes_came_to({}) == "no episode was finished"


ESCAPES = "skipped \x1b]0;owned\x07\x1b[2Jx\nselfplay: all is well"


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "display.FIRST_GAP = 0.2\nwith LiveWatcher('reading') as w:\n    w.say({0!r})\n    time.sleep(1)",
        "logging.getLogger('x').error({0!r})",
        "try:\n    raise ValueError({0!r})\nexcept ValueError as e:\n    logging.getLogger('x').error('y', exc_info=e)",
    ],
)
def test_nothing_of_a_stranger_controls_the_terminal_or_looks_like_ours(program: str) -> None:
    setup = (
        "import logging, time\nfrom selfplay.report import display\nfrom selfplay.report.progress import LiveWatcher\n"
    )
    log = "from selfplay.cli.app import _options\n_options(verbose=True, version=False)\n"
    lines = said(setup + log + program.format(ESCAPES))
    assert lines and any("owned" in line for line in lines)
    assert all(line.isprintable() for line in lines) and not [line for line in lines if line.startswith("selfplay:")]
