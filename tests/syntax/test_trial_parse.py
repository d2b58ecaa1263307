"""Texts that would take gigabytes here are tried in a process of their own."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from selfplay import subprocesses
from selfplay.syntax import parse
from selfplay.syntax.bounded import TooCostly, Unreadable
from selfplay.syntax.trial_parse import _TRIAL, SHORT, _ParsingProcess

NUMBERS = count()
HOSTILE = ("f<a,", "f<a|", "a<b&", "f<a,b,", "a<b.c,", "f<(a),", "f<a,\n", " a < b , ")
"""Each took 405 to 1660 MB at 40 kB: TypeScript may read them as comparisons or as lists of types."""
PEAK = "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"


def honest() -> str:
    """A new text that is tried: a parsed one is remembered."""
    return f"const n{next(NUMBERS)} = 1;\n" + "function f(a) { return a; }\n" * (SHORT // 20)


def process() -> int:
    parse("typescript", honest())
    assert _TRIAL._process is not None
    return _TRIAL._process.pid


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_what_takes_gigabytes_takes_none_here(unit: str) -> None:
    """The peak of a process that parses 120 kB of it. An empty one that imports the same takes 25 MB."""
    program = (
        "from selfplay.syntax import parse\nfrom selfplay.syntax.bounded import Unreadable\n"
        f"try: parse('typescript', {unit!r} * {120_000 // len(unit)})\n"
        f"except Unreadable as error: print(type(error).__name__)\n{PEAK}"
    )
    done = subprocesses.run([*subprocesses.PYTHON, "-c", program], check=True)
    said, peak = done.stdout.decode().split()
    assert said in ("TooCostly", "Unreadable") and int(peak) < 80_000  # KiB


def test_both_kinds_of_refusal_are_told_apart() -> None:
    with pytest.raises(TooCostly, match=r"^too costly to parse as typescript$"):
        parse("typescript", "f<a," * 30_000)
    with pytest.raises(Unreadable, match=r"^a syntax error in javascript$") as told:
        parse("javascript", honest() + ")")
    assert not isinstance(told.value, TooCostly)
    deep = "(" * 2000 + "1" + ")" * 2000
    with pytest.raises(TooCostly):
        parse("javascript", honest() + deep)


def test_a_process_that_cannot_start_is_no_texts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grade would blame the prediction, or a believability check the bug."""
    trial = _ParsingProcess()
    monkeypatch.setattr(subprocesses, "PYTHON", ["false"])
    with pytest.raises(OSError, match="the process that parses long texts does not start"):
        trial.verdict("javascript", honest().encode())


def test_a_process_that_was_killed_is_replaced() -> None:
    first = process()
    os.kill(first, signal.SIGKILL)
    assert process() != first
    second = process()
    with pytest.raises(TooCostly):
        parse("typescript", "f<b," * 30_000)
    assert process() != second  # that text ended it


def test_a_text_that_was_given_up_answers_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt between question and answer left the answer to the next text."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    process()
    with monkeypatch.context() as patched:
        patched.setattr("selfplay.syntax.trial_parse.select.select", interrupted)
        with pytest.raises(KeyboardInterrupt):
            parse("typescript", honest() + ")")
    parse("typescript", honest())
    with pytest.raises(Unreadable):
        parse("typescript", honest() + ")")


def test_one_process_serves_all_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        sources = list(pool.map(lambda _: parse("typescript", honest()), range(40)))
        assert all(len(list(source.functions())) > 100 for source in sources)
        assert len(set(pool.map(lambda _: process(), range(8)))) == 1


def test_a_fork_has_a_process_of_its_own_and_none_outlives_its_owner() -> None:
    program = (
        "import os, sys\nfrom selfplay.syntax import parse\nfrom selfplay.syntax import trial_parse\n"
        f"text = {honest()!r}\n"
        "parse('javascript', text)\nmine = trial_parse._TRIAL._process.pid\n"
        "if os.fork() == 0:\n"
        "    parse('javascript', text + '//')\n    own = trial_parse._TRIAL._process.pid\n"
        "    trial_parse._TRIAL.close()\n    os._exit(own == mine)\n"
        "assert os.wait()[1] == 0\n"
        "parse('javascript', text + '///')\nassert trial_parse._TRIAL._process.pid == mine\nprint(mine)\n"
    )
    done = subprocesses.run([*subprocesses.PYTHON, "-c", program], timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert not Path("/proc", done.stdout.decode().strip()).exists()
