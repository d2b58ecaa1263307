"""What the process that makes calls far from those of the tests records of each, and what it shows of the judge."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_runner import _SOURCES
from selfplay.oracle.behaviour.signed import Signed, read_signed
from selfplay.oracle.behaviour.stored_behaviour import CHANCE, SLOW, UNMADE
from selfplay.oracle.rewriting.mutant_schema import PLAIN

MODULE = """
import sys
def ok(x): print("printed"); return [x, sys.argv, "pytest" in sys.modules]
def bad(x): raise KeyError(x)
def inner(x): return x.nothing
def endless():
    while True: pass
def leaves(): sys.exit(3)
def lazily():
    yield judged(3)[4]
def asks(): return sys.stdin.readline()
def place(): return sys.stdin.isatty(), sys.argv
async def later(x): return x
async def firsts(source, most):
    async for x in source:
        if x == most: return
        yield x
def judged(level=2):
    import __main__, signal, warnings
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("", stacklevel=level)
    names = [one for one in dir(__main__) if one[:1] != "_"]
    handled = signal.getsignal(signal.SIGALRM) != signal.SIG_DFL
    timed = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    print("said", end="")
    return type(sys.stdout).__name__, sys.stdout is sys.__stdout__, handled, timed, seen[0].filename, names
def works(core, seconds):
    import os, time
    os.sched_setaffinity(0, {core})
    while time.process_time() < seconds: pass
    return True
def sleeps(seconds):
    import time
    time.sleep(seconds)
COUNT = []
def tired():
    COUNT.append(1)
    return len(COUNT) < 100
def frames():
    import inspect
    return len(inspect.stack()) > 1
"""
CALLS = [["a", "m.ok('\\u2603')"], ["b", "m.bad(1)"], ["c", "m.missing(1)"], ["d", "m.inner(1)"]]
CALLS += [["e", "m.endless()"], ["f", "m.leaves()"]]


def recorded(folder: Path, calls: list[list[str]], module: str = MODULE, **order: object) -> Signed:
    """What the caller records of these calls of `shop`."""
    (folder / "shop.py").write_text(module)
    key, record = "k" * 64, folder / f"record-{len(list(folder.iterdir()))}"
    told = {
        "record": str(record), "paths": [str(folder)], "modules": {"shop": "m"}, "seconds": 0.7, "calls": calls,
        "marked": False, "helpers": {}, "given": {}, "argv": [""], "terminal": False, "recursion": 0, "script": "",
        "again": 0, "slow": 9, "enough": 60.0, "root": str(folder), "tests": [], "own": [], "ends": [], "mutants": [],
        "schema": PLAIN, "loading": True, "refusing": True, "clock": False, "unusual": [], "late": 0, **order,
    }  # fmt: skip
    text = "".join(f"{inside.text(name)}\n" for name in _SOURCES) + "\nselfplay_caller()\n"
    program = inside.apart(text, "__main__", file=str(order.get("argv", [""])[0]) or "<string>")
    subprocess.run([sys.executable, "-c", program], input=f"{key}{json.dumps(told)}".encode(), check=True, timeout=100)
    found, ended = read_signed(record.read_bytes(), key)
    assert ended
    return found


@pytest.mark.slow
def test_after_many_calls_that_were_stopped_no_more_are_made(tmp_path: Path) -> None:
    """A buggy program may hang in nearly all of hundreds of calls: two are stopped here, and the rest is not made."""
    calls = [["a", "m.endless()"], ["b", "m.ok('x')"], ["c", "m.endless()"], ["d", "m.ok('y')"], ["e", "m.endless()"]]
    found = recorded(tmp_path, calls, slow=2, seconds=0.1)
    first = {name: found[name][f"{name}/0"] for name in "abcde"}
    assert first["a"] == first["c"] == SLOW and first["d"] == first["e"] == UNMADE and first["b"] not in (SLOW, UNMADE)


@pytest.mark.slow
def test_after_seconds_of_waiting_no_more_are_made(tmp_path: Path) -> None:
    """Those that were stopped do not count there: 0.1 s and 0.1 s are enough, the endless one between them is not."""
    calls = [["a", "m.waits(0.1)"], ["b", "m.endless()"], ["c", "m.waits(0.1)"], ["d", "m.waits(0.1)"]]
    module = f"{MODULE}def waits(seconds):\n    import time\n    time.sleep(seconds)\n"
    found = recorded(tmp_path, calls, module, enough=0.15)
    assert [found[name][f"{name}/0"] for name in "abcd"] == ["null", SLOW, "null", UNMADE]


@pytest.mark.slow
def test_late_calls_come_after_those_that_are_repeated(tmp_path: Path) -> None:
    """The last call leaves a setting behind, which changes what the first answers when it is made again."""
    module, calls = "SET = []\ndef told(): return len(SET)\n", [["told", "m.told()"], ["set", "m.SET.append(1)"]]
    for late in (0, 1):
        assert ("told again" in recorded(tmp_path, calls, module, late=late, again=0.2)) is (late == 0)


@pytest.mark.slow
def test_each_call_is_recorded_by_itself(tmp_path: Path) -> None:
    """What is missing is told from what fails inside; an endless call is stopped, and one that exits is caught."""
    found = recorded(tmp_path, CALLS)
    found.pop("event", None)
    assert found == {
        "a": {"a/0": '["list", "\\u2603", ["list", "", "1"], false, "3"]', "a/1": '"printed\\n"'},
        "b": {"b/0": '["raised", "KeyError"]'}, "c": {"c/0": '"selfplay: gone"'},
        "d": {"d/0": '["raised", "AttributeError"]'}, "e": {"e/0": '"selfplay: slow"'},
        "f": {"f/0": '["raised", "SystemExit"]'},
    }  # fmt: skip


@pytest.mark.long
def test_a_call_that_waits_for_a_processor_is_not_slow(tmp_path: Path) -> None:
    """Beside twelve others on its core half a core second takes six by the clock: more than three times 0.7. One that
    sleeps is slow there as anywhere."""
    core = min(os.sched_getaffinity(0))
    busy = f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    others = [subprocess.Popen([sys.executable, "-c", busy], start_new_session=True) for _ in range(12)]
    try:
        found = recorded(tmp_path, [["a", f"m.works({core}, 0.6)"], ["b", "m.sleeps(9)"]])
    finally:
        for one in others:
            one.kill()
            one.wait()
    assert (found["a"], found["b"]) == ({"a/0": "true"}, {"b/0": '"selfplay: slow"'})


def test_what_a_call_answers_by_chance_is_no_outcome(tmp_path: Path) -> None:
    """A cache that leaves out a random item survived the calibration's looks, and differed in half of the gradings."""
    module = (
        "import random\ndef some(items): return random.choice(items)\ndef fails(): random.random(); return {}[1]\n"
        "def seeded(): return random.Random(3).random()\ndef same(): return 1\n"
    )
    calls = [["a", "m.some([1, 2])"], ["b", "m.same()"], ["c", "m.fails()"], ["d", "m.seeded()"]]
    found = recorded(tmp_path, calls, module)
    assert found["a"] == {"a/0": CHANCE} and found["c"] == {"c/0": CHANCE}
    assert found["b"]["b/0"].startswith('["int"') and found["d"]["d/0"].startswith('["float"')


def test_what_a_call_answers_on_one_day_is_no_outcome(tmp_path: Path) -> None:
    """`naturalday` of a library of dates answered "today" when a bug was calibrated, and no repair did a day later."""
    module = (
        "import datetime, logging, time as t\nfrom datetime import date\nfrom time import time\n"
        "def today(): return date.today()\ndef now(zone=None): return datetime.datetime.now(zone).year\n"
        "def seconds(): return time()\ndef nanos(): return t.time_ns()\ndef fails(): now(); return {}[1]\n"
        "def year(): return t.strftime('%Y')\ndef local(): return t.localtime().tm_year\n"
        "def other(): return [t.monotonic() * 0, date(2026, 1, 2).strftime('%Y')]\n"
        "def logs(): logging.getLogger('x').error('asks for the time'); return 1\n"
    )
    asked = ["today", "now", "seconds", "nanos", "fails", "year", "local"]
    calls = [[name, f"m.{name}()"] for name in (*asked, "other", "logs")]
    found = recorded(tmp_path, calls, module, clock=True)
    assert [name for name in found if found[name] == {f"{name}/0": CHANCE}] == asked
    unasked = recorded(tmp_path, calls, module)
    assert CHANCE not in str(unasked) and unasked["other"] == found["other"]


@pytest.mark.slow
def test_a_call_that_never_comes_back_ends_its_process(tmp_path: Path) -> None:
    """No signal interrupts what is done in C, here 10^12 comparisons; the limit is 6 s above that of a call."""
    began = time.monotonic()
    with pytest.raises(subprocess.CalledProcessError) as ended:
        recorded(tmp_path, [["a", "10 ** 12 in iter(range(10 ** 12))"]], seconds=0.1)
    assert ended.value.returncode == -signal.SIGXCPU and time.monotonic() - began < 60


def test_a_program_may_lower_its_own_limit(tmp_path: Path) -> None:
    """As what runs jobs does; all later calls of its process answered ValueError."""
    module = (
        "def lower():\n    import resource\n    resource.setrlimit(resource.RLIMIT_CPU, (100, 100))\n    return 1\n"
    )
    found = recorded(tmp_path, [["a", "m.lower()"], ["b", "1"]], module)
    assert found["a"]["a/0"] == found["b"]["b/0"] == '["int", "1"]'


def test_a_function_made_in_a_function_has_any_name(tmp_path: Path) -> None:
    """A repair may call its helper what it likes; what is defined for others keeps its name."""
    module = "def made():\n    def inner(): pass\n    return inner\ndef plain(): return plain\nclass A: pass\n"
    found = recorded(tmp_path, [["a", "m.made()"], ["b", "m.plain()"], ["c", "m.A"]], module)
    told = [found[name][f"{name}/0"] for name in "abc"]
    assert told == ['["function"]', '["function", "plain"]', '["type", "A"]']


def test_a_user_has_a_terminal_and_a_command_line(tmp_path: Path) -> None:
    calls = [["a", "m.place()"]]
    assert recorded(tmp_path, calls)["a"] == {"a/0": '["tuple", false, ["list", "", "1"], "2"]'}
    user = recorded(tmp_path, calls, argv=["report.py", "-q"], terminal=True)
    assert user["a"] == {"a/0": '["tuple", true, ["list", "report.py", "-q", "2"], "2"]'}
    reading = [["a", "m.asks()"], ["b", "m.asks()"]]
    assert recorded(tmp_path, reading, terminal=True)["b"] == {"b/0": '""'}


def test_a_users_process_shows_nothing_of_the_judge(tmp_path: Path) -> None:
    """The output is the language's own, no clock of ours runs, the caller's file and the main module are a script's;
    what is printed is recorded all the same."""
    script = tmp_path / "report.py"
    user = recorded(
        tmp_path,
        [["a", "m.judged()"], ["b", "m.lazily()"]],
        argv=[str(script)],
        terminal=True,
        script="import json\nKEPT = 3\n",
    )
    value = json.loads(user["a"]["a/0"])
    assert value[:5] == ["tuple", "TextIOWrapper", True, False, False]
    assert value[5] == str(script) and value[6] == ["list", "KEPT", "json", "2"]
    assert json.loads(user["b"]["b/0"]) == ["generator", str(script)]
    assert user["a"]["a/1"] == '"said"' and script.read_text() == "import json\nKEPT = 3\n"


def test_a_call_that_does_something_else_later_is_recorded_again(tmp_path: Path) -> None:
    calls = [["a", "m.tired()"], ["b", "m.ok(1)"]]
    found = recorded(tmp_path, calls, again=5.0)
    assert found["a"] == {"a/0": "true"} and found["a again"] == {"a again/0": "false"}
    assert "b again" not in found
    assert "a again" not in recorded(tmp_path, calls)


def test_repeating_ends_by_the_clock_when_calls_wait(tmp_path: Path) -> None:
    """Each waits for 10 ms and takes nothing of a core: by core seconds it would be repeated 2,000 times, for 20 s."""
    begun = time.monotonic()
    found = recorded(tmp_path, [["a", "m.sleeps(0.01)"]], again=0.2)
    assert found["a"] == {"a/0": "null"} and time.monotonic() - begun < 5


def test_what_is_asynchronous_is_brought_to_its_end(tmp_path: Path) -> None:
    """A generator of the tests is made of its source; the program takes three of its numbers, and gives two."""
    helper = "async def plenty(most):\n    for number in range(most):\n        yield number\n"
    calls = [["a", "m.later(3)"], ["b", "m.firsts(h.plenty(900), 2)"]]
    found = recorded(tmp_path, calls, helpers={"h": helper})
    assert found["a"] == {"a/0": '["int", "3"]'}
    assert found["b"] == {"b/0": '["list", ["int", "0"], ["int", "1"], "2"]'}


def test_the_caller_tells_of_frames_and_not_of_what_is_loaded(tmp_path: Path) -> None:
    found = recorded(tmp_path, [["a", "m.frames()"]])
    assert '["frames", "shop.py", "sys._getframe by inspect.py"]' in found["event"].values()
    assert not any(json.loads(text)[0] == "insides" for text in found["event"].values())
