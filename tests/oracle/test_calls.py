"""Calls of the program far from those of the tests: how they are made, and what their process records."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from selfplay.oracle import inside
from selfplay.oracle.call_probes import by_novelty, shape_of, target_of, varied_calls
from selfplay.oracle.entered import Entered, read_entered
from selfplay.oracle.signed import read_signed

SEEN = ("m.split('a; b', strip=True)", "m.split('x y z')", "m.Parser(3).parse(['a', 2], None)")


def test_other_calls_are_many_and_none_of_those_that_were_seen() -> None:
    made = varied_calls(SEEN, (), 80, 1)
    assert len(set(made)) == 80 and not set(made) & set(SEEN)
    assert {target_of(one) for one in made} == {"m.split", "m.Parser.parse"}
    for one in made:
        ast.parse(one, mode="eval")
    assert varied_calls(SEEN, (), 80, 1) == made != varied_calls(SEEN, (), 80, 2)


def test_a_call_without_inputs_has_no_others() -> None:
    assert varied_calls(["m.now()"], (), 10, 1) == []


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
"""
CALLS = [
    ["a", "m.ok('\\u2603')"], ["b", "m.bad(1)"], ["c", "m.missing(1)"], ["d", "m.inner(1)"], ["e", "m.endless()"],
    ["f", "m.leaves()"],
]  # fmt: skip


def test_each_call_is_recorded_by_itself(tmp_path: Path) -> None:
    """What is missing is told from what fails inside; an endless call is stopped, and one that exits is caught."""
    (tmp_path / "shop.py").write_text(MODULE)
    key, record = "k" * 64, tmp_path / "record"
    order = {
        "record": str(record), "paths": [str(tmp_path)], "modules": {"shop": "m"}, "seconds": 0.2, "calls": CALLS,
        "traced": {},
    }  # fmt: skip
    text = "".join(inside.text(name) for name in ("selfplay_plain.py", "selfplay_caller.py"))
    program = inside.apart(f"{text}\nselfplay_caller()\n", "caller")
    stdin = f"{key}{json.dumps(order)}".encode()
    subprocess.run([sys.executable, "-c", program], input=stdin, check=True, timeout=20)
    found, ended = read_signed(record.read_bytes(), key)
    assert ended and found == {
        "a": {"a/0": '["list", "\\u2603", ["list", "", "1"], false, "3"]', "a/1": '"printed\\n"'},
        "b": {"b/0": '["raised", "KeyError"]'}, "c": {"c/0": '"selfplay: gone"'},
        "d": {"d/0": '["raised", "AttributeError"]'}, "e": {"e/0": '"selfplay: slow"'},
        "f": {"f/0": '["raised", "SystemExit"]'},
    }  # fmt: skip
