"""Calls of the program far from those of the tests: how they are made, and what their process records."""

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay.oracle import inside
from selfplay.oracle.behaviour.borrowed import helped, helper
from selfplay.oracle.behaviour.call_probes import by_novelty, shape_of, varied_calls
from selfplay.oracle.behaviour.call_runner import _SOURCES
from selfplay.oracle.behaviour.call_source import target_of
from selfplay.oracle.behaviour.signed import Signed, read_signed
from selfplay.oracle.behaviour.stored_behaviour import SLOW, UNMADE
from selfplay.oracle.behaviour.traced_calls import _WATCHING, ENTERED_FILE, Entered, _watched, read_entered
from selfplay.oracle.rewriting.mutant_schema import PLAIN

SEEN = ("m.split('a; b', strip=True)", "m.split('x y z')", "m.Parser(3).parse(['a', 2], None)")


def test_other_calls_are_many_and_none_of_those_that_were_seen() -> None:
    made = varied_calls(SEEN, (), 80, 1)
    assert len(set(made)) == 80 and not set(made) & set(SEEN)
    assert {target_of(one) for one in made} == {"m.split", "m.Parser.parse"}
    for one in made:
        ast.parse(one, mode="eval")
    assert varied_calls(SEEN, (), 80, 1) == made != varied_calls(SEEN, (), 80, 2)


def test_what_the_code_asks_for_is_put_into_inputs() -> None:
    """A text gets the word, a number comes next to the number, and a list has so many items."""
    made = varied_calls(["m.split('one two')", "m.first([7, 8])", "m.wait(50)"], (), 800, 1, ("halt", 20))
    assert any("'halt two'" in one for one in made) and "m.split('halt')" in made
    assert {"m.wait(19)", "m.wait(20)", "m.wait(21)"} <= {*made}
    assert any(one == f"m.first({[7, 8] * 10})" for one in made)
    assert not any("halt" in one for one in varied_calls(SEEN, (), 400, 1))


def test_a_call_without_inputs_has_no_others() -> None:
    assert varied_calls(["m.now()"], (), 10, 1) == []


def test_other_blanks_other_equals_and_what_lies_between() -> None:
    made = {*varied_calls(["m.split('one two')", "m.first([7, 8])", "m.wait(50)", "m.at(2.5)", "m.at(7)"], (), 1200, 1)}
    assert {
        r"m.split('one\ttwo')",
        r"m.split('one\r\ntwo')",
        "m.at(7.5)",
        "m.at(6.5)",
        "m.wait(50.0)",
    } <= made and "m.wait(50.5)" not in made
    assert {"m.first([7, 7.0, 8])", "m.first([7, 8.0, 8])"} <= made


ARGUMENTS = (
    "f'{n!r:>{w}} and {m.f(1)}'", "f'a' 'b'", "lambda x=1, *y: f'{x}'", "{**{'a': 1}, 'b': [2]}", "{1, 2, *[3]}",
    "[x for x in [1, 2] if x > 1]", "{x: 1 for x in (1, 2)}", "*[1, 2], k='v'", "(y := 4)", "1 if m.f('a') else 'b'",
    "'x'[1:2]", "b'b'", "...", "2j", "-1.5", "not 3", "0 < 1 < 2", "'a' or 'b' and 1", "m.C(1).D[2]('e')", "**{'a': 1}",
    f"{10**400}", f"-{10**4000}", "1e400", "-1e308",
)  # fmt: skip


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_of_any_form_are_varied(argument: str):
    """What a test gives may be any expression; every change of it is a call again."""
    for made in varied_calls([f"m.f({argument}, z=1)", "m.f('a', [1])"], (), 150, 1, ("halt", 20)):
        assert isinstance(ast.parse(made, mode="eval").body, ast.Call)


def test_calls_are_alike_by_target_kinds_and_length() -> None:
    assert shape_of("m.f('ab')") == shape_of("m.f('cd')") != shape_of("m.f(12)")
    assert shape_of("m.f('ab')") != shape_of(f"m.f({'ab' * 40!r})")


def test_what_is_newest_comes_first() -> None:
    sources = {"same": "f('abcdef')", "new": "f('uvwxyz')", "half": "f('abcxyz')"}
    assert by_novelty(sources, ["f('abcdef')"]) == ["new", "half", "same"]


def test_what_tests_are_seen_to_do_is_read_strictly() -> None:
    assert read_entered(b'{"calls": 3}') == read_entered(b"") == Entered()
    found = read_entered(
        b'{"python": "p", "paths": [], "modules": {}, "calls": [["m.f(1)", "t"]], "reached": {"t": ["d"]}}'
    )
    assert found.calls == (("m.f(1)", "t"),) and found.digests == {"d"}


def test_calls_of_the_tests_of_the_bug_come_first() -> None:
    found = Entered(calls=(("m.a()", "test_a"), ("m.b()", "test_b"), ("m.c()", "test_c")))
    assert found.ordered(1, ["t.py::test_b[x]"], 5) == ("m.b()",)
    assert set(found.ordered(9, [], 5)) == {"m.a()", "m.b()", "m.c()"}


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
CALLS = [
    ["a", "m.ok('\\u2603')"], ["b", "m.bad(1)"], ["c", "m.missing(1)"], ["d", "m.inner(1)"], ["e", "m.endless()"],
    ["f", "m.leaves()"],
]  # fmt: skip


def recorded(folder: Path, calls: list[list[str]], module: str = MODULE, **order: object) -> Signed:
    """What the caller records of these calls of `shop`."""
    (folder / "shop.py").write_text(module)
    key, record = "k" * 64, folder / f"record-{len(list(folder.iterdir()))}"
    told = {
        "record": str(record), "paths": [str(folder)], "modules": {"shop": "m"}, "seconds": 0.7, "calls": calls,
        "marked": False, "helpers": {}, "given": {}, "argv": [""], "terminal": False, "recursion": 0, "script": "",
        "again": 0, "slow": 9, "enough": 60.0, "root": str(folder), "tests": [], "own": [], "ends": [],
        "mutants": [], "schema": PLAIN, "loading": True, "refusing": True, "unusual": [], **order,
    }  # fmt: skip
    text = "".join(f"{inside.text(name)}\n" for name in _SOURCES) + "\nselfplay_caller()\n"
    program = inside.apart(text, "__main__", file=str(order.get("argv", [""])[0]) or "<string>")
    subprocess.run([sys.executable, "-c", program], input=f"{key}{json.dumps(told)}".encode(), check=True, timeout=100)
    found, ended = read_signed(record.read_bytes(), key)
    assert ended
    return found


def test_a_decorator_that_cannot_be_written_hides_no_test() -> None:
    """Before 3.12, Python cannot write the f-string of this tree."""
    tree = ast.parse("@mark(f\"{x.replace('\xa0', ' ')}\")\ndef helper(): pass\n\ndef test_one(): pass\n")
    assert [function.name for function in _watched(tree)] == ["test_one"]


LONG = """
import shop

def test_long():
    selfplay_enter("test_long")
    try:
        shop.first(1)
        for _ in range(200_000):
            abs(-1)
        shop.first(2)
    finally:
        selfplay_leave()

def test_short():
    selfplay_enter("test_short")
    try:
        shop.first(3)
    finally:
        selfplay_leave()
"""


def test_a_test_that_makes_many_calls_is_watched_up_to_a_point(tmp_path: Path) -> None:
    """Each call is two events. Without an end the suite of more-itertools took more than its time, and nothing was
    known of how any of its tests enter the program."""
    (tmp_path / "shop.py").write_text("def first(x):\n    return x\n")
    order = json.dumps({"root": str(tmp_path), "tests": ["test_shop.py"], "changed": {"shop.py": []}})
    record = tmp_path / "record"
    text = f"{LONG}\nSELFPLAY_ORDER = {order!r}\n{_WATCHING}\ntest_long()\ntest_short()\n"
    file = tmp_path / "test_shop.py"
    file.write_text(text.replace(ENTERED_FILE, str(record)))
    subprocess.run([sys.executable, file], check=True, cwd=tmp_path, timeout=60)
    calls = {call.rpartition(".")[2] for call, _ in read_entered(record.read_bytes()).calls}
    assert calls == {"first(1)", "first(3)"}


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


TESTS = """import pytest
SIZES = [1, 2]
def grown(n): return n + SIZES[0]
def other(n): return grown(n)
def checked(n): return pytest.approx(n)
def test_a(): assert other(1) == 2
"""


def test_a_helper_is_what_a_call_needs_and_no_test() -> None:
    assert helper(TESTS, ["other"]) == (
        "SIZES = [1, 2]\n\ndef grown(n):\n    return n + SIZES[0]\n\ndef other(n):\n    return grown(n)\n"
    )
    assert helper(TESTS, ["checked"]) == helper("def (", ["x"]) == helper(TESTS, ["missing"]) == ""


def test_calls_take_helpers_under_other_names() -> None:
    (calls, _), cut = helped((["m.f(h.other, 1)", "m.f(2)", "m.f(g.checked(1))"], []), {"h": TESTS, "g": TESTS})
    assert calls[1:] == ["m.f(2)"] and "other" not in calls[0] and "test" not in cut["h"] and list(cut) == ["h"]
    name = calls[0].removeprefix("m.f(h.").partition(",")[0]
    space: dict[str, Callable[[int], int]] = {}
    exec(cut["h"], space)
    assert space[name](4) == 5
