"""A part of a patch without which all hidden inputs are answered as before was judged by nobody: the grade says so."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab
from oracle.new_code.test_judge import graded, layer

from selfplay.oracle.behaviour.call_runner import Additions, Called
from selfplay.oracle.layers import Layer
from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.new_code.needed_parts import MOST_TRIED, needed_parts
from selfplay.oracle.rewriting.parts import MOST_PARTS
from selfplay.oracle.trial import Trial

FIRST = "    base, rest = divmod"
UNNEEDED = {
    "a limit": (MONEY.replace("in range(parts)]", "in range(min(parts, 10**12))]"),
                "`parts` for `min(parts, 10 ** 12)`"),
    "memory": (MONEY.replace(FIRST, f"    share.__dict__.setdefault('seen', []).append(amount)\n{FIRST}"),
               "without `share.__dict__.setdefault('seen', []).append(amount)`"),
    "a choice by index": (MONEY.replace(FIRST, f"    amount = [amount, 0][amount // 10**12 == 7]\n{FIRST}"),
                          "without `amount = [amount, 0][amount // 10 ** 12 == 7]`"),
    "a slice": (MONEY.replace("in range(parts)]", "in range(parts)][: 10**12]"), "`[base + (index < rest)"),
}  # fmt: skip


BEFORE = "def f(x):\n    return 0\n"


def files(after: str, repaired: str = "") -> ChangedFiles:
    return ChangedFiles({"a.py": BEFORE}, {"a.py": after}, {"a.py": repaired} if repaired else {})


WANTED = frozenset({"t"})
PASSES = Trial(outcomes={"t": "passed"}, seconds=2.0)


def never(*given: Any, **named: Any) -> Any:
    raise AssertionError("nothing is run")


def told(shown: dict[int, str]) -> Callable[..., Called]:
    """Calls whose mutants show so."""

    def make(made: dict[str, str], planted: Additions) -> Called:
        return Called({"mutant": {f"mutant/{number}": said for number, said in shown.items()}}, seconds=1.5)

    return make


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), UNNEEDED.values(), ids=UNNEEDED)
def test_a_part_that_changes_no_answer_is_weakly_assured(lab: Callable[[str], Lab], text: str, said: str) -> None:
    """Each of these is the whole repair and one thing more, which runs on every input."""
    grade = graded(lab("python"), {"ledger/money.py": text})
    assert text != MONEY and grade.resolved, grade
    assert layer(grade, "parts").reason.startswith(f"no hidden input and no test tells {said}")


WHOLE_AND_PARTS = MONEY.replace("parts < 1", "1 > parts").replace(
    "    base, rest = divmod(amount, parts)\n    return [base + (index < rest) for index in range(parts)]\n",
    "    base = amount // parts\n    rest, out = amount % parts, []\n    for index in range(parts):\n"
    "        out.append(base + (index < rest))\n    return out\n",
)


@pytest.mark.slow
def test_a_repair_of_another_form_needs_all_its_parts(lab: Callable[[str], Lab]) -> None:
    """It answers a fraction as the original does, too: one that does not is weak whenever a fraction is drawn."""
    grade = graded(lab("python"), {"ledger/money.py": WHOLE_AND_PARTS})
    assert grade.resolved and not grade.weaknesses, grade
    assert layer(grade, "parts").runs == 2  # its own parts, and those of the original that it lacks


@pytest.mark.parametrize(("shown", "reason"), [
    ({1: '["c"]', 2: '["otherwise"]', 3: '["c"]', 4: '["c"]'}, "each of its 4 parts is needed"),
    ({1: '["c"]', 2: "[]", 3: '["c"]', 4: '["c"]'}, "no hidden input and no test tells `x` for `x + 1`"),
    ({1: '["c"]'}, "no hidden input and no test tells `x` for `x + 1`, and 2 more parts"),  # the others were not tried
    ({1: '["c"]', 2: '["c"]', 3: '["c"]'},
     "no hidden input and no test tells the first value of `x + 1` in its place"),
    ({}, "no hidden input and no test tells without `return x + 1`, and 3 more parts"),
])  # fmt: skip
def test_what_is_not_known_to_show_counts_as_unneeded(shown: dict[int, str], reason: str) -> None:
    found, seconds = needed_parts(files("def f(x):\n    return x + 1\n"), told(shown), lambda made: PASSES, WANTED)
    good = reason.startswith("each")
    assert found.reason == reason and found.state == ("passed" if good else "unavailable")
    assert (found.runs, seconds) == ((1, 1.5) if good else (2, 3.5))


def test_what_only_tests_need_is_needed() -> None:
    """Each unseen part is tried until one is not needed; what ends the run before a test ends says nothing."""
    tried = list[dict[str, str]]()

    def tests(result: Trial) -> Callable[[Mapping[str, str]], Trial]:
        return lambda made: tried.append(dict(made)) or result  # type: ignore[func-returns-value]

    code, shown = files("def f(x):\n    return x + 1\n"), told({1: '["c"]'})
    fails = replace(PASSES, outcomes={"t": "failed"})
    found, seconds = needed_parts(code, shown, tests(fails), WANTED)
    assert found.reason == "each of its 4 parts is needed" and found.runs == 4 and seconds == 1.5 + 3 * 2.0
    space: list[Any] = [{}, {}, {}]
    for made, there in zip(tried, space, strict=True):
        exec(made["a.py"], there)
    assert [there["f"](5) for there in space] == [5, 1, 6] and space[2]["f"](7) == 6
    found, _ = needed_parts(code, shown, tests(replace(fails, failed_at="parser")), WANTED)
    assert found.state == "unavailable" and found.runs == 2


def test_a_part_of_the_original_that_it_lacks_and_nothing_tells_is_weakly_assured() -> None:
    """The repair returns right away what the original returns where `x` is small."""
    given = list[Mapping[str, str]]()
    original = "def f(x):\n    if x > 10**9:\n        return 0\n    return x + 1\n"

    def make(made: Mapping[str, str], planted: Additions) -> Called:
        given.append(made)
        return Called({"mutant": {f"mutant/{number}": '["c"]' for number in planted.mutants if number != 1}})

    found, _ = needed_parts(files("def f(x):\n    return x + 1\n", original), make, lambda made: PASSES, WANTED)
    why = "it lacks a part of the original, which no hidden input and no test tells from it "
    assert found.state == "unavailable" and found.reason == f"{why}without `if x > 10 ** 9:`"
    assert [*given[0]] == ["a.py"] and "return 0" in given[0]["a.py"]
    whole, _ = needed_parts(files("def f(x):\n    return x + 1\n", original), told(dict.fromkeys(range(20), '["c"]')),
                            never, WANTED)  # fmt: skip
    assert whole.state == "passed" and whole.reason == "it adds nothing that could be taken away"


def test_the_tests_are_run_for_few_parts() -> None:
    many = files("def f(x):\n" + "    x += 1\n" * (MOST_TRIED + 1) + "    return x\n")
    found, _ = needed_parts(many, told({}), never, WANTED)
    assert found.state == "unavailable" and found.runs == 1


def test_code_that_has_no_parts_or_too_many_is_not_run() -> None:
    def needed(after: str) -> Layer:
        return needed_parts(files(after), never, never, WANTED)[0]

    none = needed("def f(x):\n    return 0\n\n\nX = 1\n")
    assert none.state == "passed" and none.reason == "it adds nothing that could be taken away"
    many = needed("def f(x):\n" + "    x += 1\n" * (MOST_PARTS + 1))
    assert many.state == "unavailable" and many.reason.endswith(f"or has more than {MOST_PARTS} parts")
    deep = needed("def f(x):\n    return " + "-" * 900 + "1\n")
    assert deep.state == "unavailable" and deep.reason.startswith("its new code cannot be taken apart")
