import ast
import shlex
from pathlib import Path

import pytest

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import apply_cuts
from selfplay.scripted.edits.names import outermost_functions
from selfplay.scripted.injector.direct import direct_cuts


def outcomes(body: str) -> list[str]:
    text = f"def f(a, b):\n    {body}\n"
    (function,) = outermost_functions(ast.parse(text))
    cuts = direct_cuts(function, split_lines(text))
    found = [apply_cuts(text, [cut]) for cut in cuts]
    for after in found:
        ast.parse(after)
    return [after.split("\n", 1)[1].strip() for after in found]


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("return a < b", "return a <= b"),
        ("return (a) >= (b)", "return (a) > (b)"),
        ("return a == b", "return a != b"),
        ("return a in b", "return a not in b"),
        ("return a is b", "return a is not b"),
        ("return a + b", "return a - b"),
        ("return 'größe' + a", "return 'größe' - a"),
        ("return a // b", "return a * b"),
        ("return a and b", "return a or b"),
        ("return not a", "return a"),
        ("return not(a)", "return (a)"),
        ("return not (a)", "return (a)"),
        ("return True", "return False"),
        ("return 41", "return 42"),
        ("return 0x10", "return 17"),
    ],
)
def test_one_small_change(body: str, after: str) -> None:
    assert outcomes(body) == [after]


@pytest.mark.parametrize("body", ["return a", "return a < b < a", "return a @ b", "return 'text'", "return a is not b",
                                  "return a and b and a"])  # fmt: skip
def test_what_has_no_plain_opposite_is_left_alone(body: str) -> None:
    assert outcomes(body) == []


def test_operators_spread_over_lines_are_left_alone() -> None:
    assert outcomes("return (a +\n        b)") == []


def test_f_strings_are_never_torn() -> None:
    for after in outcomes("return f'{a + 1:>10} 1 {b!r} {2}' + str(7)"):
        assert after.startswith("return f'{a ") and "str(" in after


def test_crlf_stays() -> None:
    text = "def f(a):\r\n    return a < 1\r\n"
    (function,) = outermost_functions(ast.parse(text))
    for cut in direct_cuts(function, split_lines(text)):
        assert apply_cuts(text, [cut]).count("\r\n") == 2


def test_every_change_of_a_real_module_parses_and_is_one_line() -> None:
    text = Path(shlex.__file__).read_text()
    lines = split_lines(text)
    cuts = [cut for function in outermost_functions(ast.parse(text)) for cut in direct_cuts(function, lines)]
    assert len(cuts) > 50
    for cut in cuts:
        assert cut.start == cut.end and len(cut.lines) == 1
        ast.parse(apply_cuts(text, [cut]))
