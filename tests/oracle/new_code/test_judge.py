"""Code of a patch that ran in no test and on no hidden input is judged by nobody, and so is an answer that only further
inputs show to differ: the grade says so."""

import re
from collections.abc import Callable

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab, write
from oracle.behaviour.test_stored_behaviour import OTHER_REPAIR

from selfplay.oracle.behaviour.agreeing_calls import differing
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.stored_behaviour import GONE, SLOW, Guards
from selfplay.oracle.grades import Grade
from selfplay.oracle.layers import Layer
from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.new_code.judge import MOST_FILES, marked_code
from selfplay.oracle.new_code.left_files import WHY

LARGE = "    if amount > 10**18:\n        return []\n"
BRANCH = MONEY.replace("    base, rest = divmod", f"{LARGE}    base, rest = divmod")
CHOICE = MONEY.replace("(index < rest) for", "(index < rest if amount < 10**18 else 0) for")
ADDED_UP = """    if parts <= 0:
        raise ValueError(f"cannot share among {parts}")
    out = [amount // parts] * parts
    for index in range(amount - sum(out)):
        out[index] += 1
    return out
"""
SAME = MONEY[: MONEY.index("    if parts < 1")] + ADDED_UP + MONEY[MONEY.index("\n\ndef shown") :]
IN_A_TEST = SAME.replace(
    "    out = [", "    if (amount, parts) == (90, 3):\n        return [amount // parts] * parts\n    out = ["
)


def graded(here: Lab, files: dict[str, str]) -> Grade:
    return here.grade(here.diff(lambda root: write(root, files)))


def layer(grade: Grade, name: str) -> Layer:
    (one,) = [one for one in grade.layers if one.name == name]
    return one


def coverage(grade: Grade) -> Layer:
    return layer(grade, "coverage")


@pytest.mark.parametrize(("text", "why"), [
    (BRANCH, "`amount > 10 ** 18` was never true in any test or on any hidden input, and 1 more place"),
    (CHOICE, "`amount < 10 ** 18` was never false in any test or on any hidden input"),
], ids=["branch", "choice"])  # fmt: skip
def test_a_branch_for_inputs_that_nobody_tries_is_weakly_assured(
    lab: Callable[[str], Lab], text: str, why: str
) -> None:
    """It behaves as the original on every input that is tried."""
    grade = graded(lab("python"), {"ledger/money.py": text})
    assert grade.resolved and f"coverage: ledger/money.py: {why}" in grade.weaknesses
    layers = {one.partition(":")[0] for one in grade.weaknesses}
    assert layers - {"differential"} == {"coverage", "parts"}  # a drawn number may be as large


@pytest.mark.slow
def test_another_algorithm_that_runs_is_fully_assured(lab: Callable[[str], Lab]) -> None:
    """What only hidden inputs run counts as run, and so does what only a test runs: six statements and two outcomes of
    a condition; with another condition and what it returns, four more. These change nothing for whole numbers, and may
    for a fraction, if one is drawn."""
    for text, places in ((SAME, 8), (IN_A_TEST, 12)):
        grade = graded(lab("python"), {"ledger/money.py": text})
        weak = {one.partition(":")[0] for one in grade.weaknesses}
        assert grade.resolved and weak <= {"parts", "differential"}, grade
        assert coverage(grade).reason == f"all of its new code ran, in {places} places"
        assert text != SAME or weak <= {"differential"}, grade


@pytest.mark.slow
def test_another_answer_where_nothing_is_specified_is_not_refused(lab: Callable[[str], Lab]) -> None:
    """This repair puts the larger parts of a negative amount elsewhere."""
    grade = graded(lab("python"), {"ledger/money.py": OTHER_REPAIR})
    assert grade.resolved and {one.partition(":")[0] for one in grade.weaknesses} <= {
        "differential",
        "scope",
    }  # its documentation is gone


@pytest.mark.slow
def test_what_is_left_behind_is_no_part_of_the_program(lab: Callable[[str], Lab]) -> None:
    """A script that nothing loads; the same code in a module that is loaded is."""
    notes = "def reproduce():\n    return 1\n"
    left = graded(lab("python"), {"ledger/money.py": MONEY, "reproduce.py": notes})
    assert left.resolved and not left.weaknesses and left.left_out == (("reproduce.py", WHY),)
    loads = MONEY.replace('cents."""\n', 'cents."""\n\nfrom ledger import spare\n')
    used = graded(lab("python"), {"ledger/money.py": loads, "ledger/spare.py": notes})
    assert used.weaknesses == (
        "coverage: ledger/spare.py: `return 1` never ran in any test or on any hidden input",
        "parts: no hidden input and no test tells without `return 1`",
    )


@pytest.mark.slow
def test_one_other_answer_without_a_branch_is_not_fully_assured(lab: Callable[[str], Lab]) -> None:
    """More than 40 parts are cut off: no line of it stays without a run. By chance enough probes are such calls."""
    grade = graded(lab("python"), {"ledger/money.py": MONEY.replace("in range(parts)]", "in range(parts)][:40]")})
    if grade.resolved:
        why, *_ = grade.weaknesses
        assert re.fullmatch(r"differential: it does something else than the original in \d+ of \d+ further calls", why)
        assert coverage(grade).state == "passed"
    else:
        assert grade.reason == "behaviour"


@pytest.mark.slow
def test_the_original_itself_is_not_run_again(lab: Callable[[str], Lab]) -> None:
    grade = lab("python").grade(lab("python").diff(lab("python").fix))
    assert coverage(grade).reason == "its files are those of the original" and grade.runs == 3


def test_further_calls_that_refuse_what_no_test_gives_do_not_count() -> None:
    """Nor does one whose function is gone; any other answer does, and so does none, and one that must be stopped."""
    names = ["same", "other", "refused", "gone", "slow", "none"]
    right = {name: {f"{name}/0": "1"} for name in names}
    further = Guards(Calls(sources={name: f"m.f({name!r})" for name in names}), right, frozenset({"refused"}))
    said = {"same": "1", "other": "2", "refused": '["raised", "TypeError"]', "gone": GONE, "slow": SLOW}
    seen = {name: {f"{name}/0": outcome} for name, outcome in said.items()}
    assert differing(further, seen) == (["other", "slow", "none"], 4)


def test_code_that_is_moved_to_another_file_is_not_new() -> None:
    front = "from ledger.shares import share, shown\n"
    code = marked_code(ChangedFiles(
        {"ledger/money.py": BRANCH}, {"ledger/money.py": front, "ledger/shares.py": BRANCH}, {"ledger/money.py": MONEY}
    ))  # fmt: skip
    assert code is not None and [*code.files] == ["ledger/money.py"] and len(code.places) == 1  # the import


def test_files_that_cannot_be_marked_are_no_full_assurance() -> None:
    """Nested too deeply to be written, or too many."""
    deep = "def f():\n    return " + "-" * 900 + "1\n"
    assert marked_code(ChangedFiles({"a.py": "x = 1\n"}, {"a.py": deep}, {})) is None
    many = {f"a{at}.py": f"def f():\n    return {at}\n" for at in range(MOST_FILES + 1)}
    assert marked_code(ChangedFiles(dict.fromkeys(many, "x = 1\n"), many, {})) is None


def test_the_names_of_marks_are_drawn_for_each_run() -> None:
    files = ChangedFiles({"a.py": "def f():\n    return 1\n"}, {"a.py": "def f():\n    return 2\n"}, {})
    first, second = marked_code(files), marked_code(files)
    assert first is not None and second is not None
    assert first.record != second.record and first.files != second.files and first.places == second.places
