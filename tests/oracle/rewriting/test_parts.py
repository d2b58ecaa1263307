"""Every part of new code can be taken away by itself, and nothing that the original or the buggy program has."""

import ast
import builtins
import contextlib
import time
from typing import Any

import pytest

from selfplay.oracle.rewriting.mutant_schema import SchemaNames
from selfplay.oracle.rewriting.new_lines import KnownLines, lines_of, ordered_lines
from selfplay.oracle.rewriting.parts import Sources, expressions_of, with_parts, without_part

NAMES = SchemaNames("_odd_name", "_other_name")
NOTHING: Sources = frozenset()


def parts(body: str, known: str = "") -> tuple[str, tuple[str, ...]]:
    """(the text with its parts, what they are without each) of a function with this body; `known`: another one with
    the body of the original."""
    text, original = (f"def f(x, seen=None):\n    {one}\n" if one else "" for one in (body, known))
    found = with_parts(
        text, KnownLines(lines_of(original), (ordered_lines(original),)), expressions_of(original), NAMES, 1
    )
    assert found is not None
    return found.text, found.words


def value(text: str, number: int, *given: Any) -> Any:
    """What the function returns without this part."""
    space: dict[str, Any] = {"__builtins__": {**vars(builtins), NAMES.chosen: number}}
    exec(compile(text, "parts", "exec"), space)
    return space["f"](*given)


@pytest.mark.parametrize(("expression", "without"), [
    ("x and x > 3", ["x > 3", "x"]), ("x + 1", ["x", "1"]), ("-x", ["x"]), ("1 if x else 2", ["1", "2"]),
    ("min(x, 40)", ["None", "x(40)", "min(x)", "x", "40"]), ("x.strip()", ["None", "x"]),
    ("sorted(x, reverse=True)", ["None", "sorted(x)", "x"]),
    ("x[1:40]", ["x[:40]", "x[1:]"]), ("x[:]", []), ("x[0:]", []), ("(1, 2)[x > 3]", ["1", "2"]),
    ("{1: 2, 3: 4}[x]", ["2", "4"]), ("[x, 1]", ["[1]", "[x]", "[x, x]", "[1, 1]"]), ("[x]", ["[]"]), ("{x}", []),
    ("1 < x < 9", ["1 < x", "x < 9", "True", "False"]), ("x == 1", ["True", "False"]),
    ("not x", ["x", "True", "False"]),
    ("a == b in c != d", ["a == b in c", "b in c != d", "True", "False"]), ("f(*x)", ["None"]),
    ("max(*[x, 9])", ["None", "x", "9"]), ("any(x)", ["None", "x", "True", "False"]), ("x.y", ["x"]), ("self.y", []),
    ("8", ["80"]), ("2", []), ("11", []), ("'ab'", []),
    ("zip('ab', x)", ["None", f"zip('{'ab' * 10}', x)", "zip('ab')", "'ab'", "x"]),
    ("{x: 1 for x in y}", ["[x for x in y]"]),
    ("{x: z for x in y}.values()", ["None", "[z for x in y]", "{x: z for x in y}"]),
    ("Context().run(f, x)", ["None", "f(x)", "Context().run(f)", "f", "x", "Context()"]),
    ("x.encode().decode()", ["None", "x.encode()", "x"]), ("x + 7 - 7", ["x + 7", "7", "x", "7"]),
    ("pool.submit(f, x).result()", ["None", "pool.submit(f, x)", "pool", "f", "x", "f(x)"]),
    ("{0: f, 1: x}", ["{1: x}", "{0: f}", "{0: f, 1: f}", "{0: x, 1: x}"]),
    ("getitem([f, g], x)", ["None", "getitem([f, g])", "[f, g]", "x"]), ("[*x, f]", ["[f]", "[*x]"]),
], ids=lambda one: one if isinstance(one, str) else "")  # fmt: skip
def test_an_expression_without_each_part(expression: str, without: list[str]) -> None:
    """The statement as a whole is a part, too; what its parts are made of are further ones."""
    _, words = parts(f"return {expression}")
    assert words[0] == f"without `return {expression}`"
    assert [word for word in words[1:] if word.endswith(f" for `{expression}`")] == [
        f"`{by}` for `{expression}`" for by in without
    ]


def test_a_body_without_what_it_stands_in() -> None:
    """`redirect_stdout(None)` around a call hides what is printed by whatever it calls."""
    text, words = parts("with swallowing():\n        return x")
    number = words.index("`if True:` for `with swallowing():`") + 1
    assert value(text, number, 5) == 5


def test_a_choice_of_what_is_written_in_place_is_told_however_it_is_made() -> None:
    """All entries are the same, each in turn: by a call, and in a later line."""
    text, words = parts("both = [str, len]\n    return both.pop(len([x]) - 1)(x)")
    number = words.index("`[len, len]` for `[str, len]`") + 1
    assert value(text, 0, "abc") == "abc" and value(text, number, "abc") == 3


def test_a_condition_is_true_or_false_without_it() -> None:
    text, words = parts("if x > 3:\n        return 1\n    return 2")
    assert words[:3] == ("without `if x > 3:`", "`True` for `x > 3`", "`False` for `x > 3`")
    assert [value(text, number, 9) for number in range(len(words) + 1)] == [1, 2, 1, 2, 2, 1, 2]
    assert [value(text, number, 0) for number in (0, 1, 2, 3)] == [2, 2, 1, 2]


def test_a_part_that_keeps_something_can_be_taken_away() -> None:
    text, words = parts("seen.append(x)\n    return x")
    kept = list[int]()
    assert words[0] == "without `seen.append(x)`" and value(text, 1, 5, kept) == 5 and not kept
    assert value(text, 0, 5, kept) == 5 and kept == [5]


def test_what_the_original_has_is_no_new_part() -> None:
    """A line, also with other numbers, and an expression in the function of this name."""
    original = "total = len(x) + 1\n    return max(total, 4)"
    assert parts(original, known=original)[1] == ()
    assert parts("return max(len(x) + 1, 4)", known=original)[1] == ("without `return max(len(x) + 1, 4)`", *(
        f"`{by}` for `max(len(x) + 1, 4)`" for by in ("None", "max(len(x) + 1)", "len(x) + 1", "4")
    ), "the first value of `max(len(x) + 1, 4)` in its place")  # fmt: skip
    elsewhere = expressions_of("def g(x):\n    return max(x, 4)\n")
    again = with_parts("def f(x):\n    return max(x, 4)\n", KnownLines(), elsewhere, NAMES, 1)
    assert again is not None and len(again.words) == 8


@pytest.mark.parametrize("body", [
    "pass", '"""It does nothing."""', "global y", "x: int", "return None", "return",
    "def g():\n        pass",
])  # fmt: skip
def test_what_cannot_be_taken_away(body: str) -> None:
    """Nothing changes without it."""
    assert parts(body)[1] == ()


def test_parts_of_what_an_f_string_shows() -> None:
    text, words = parts("return f'<{x + 1}>'")
    assert words[1:4] == (
        "`f'<>'` for `f'<{x + 1}>'`",
        "`f'<{x}>'` for `f'<{x + 1}>'`",
        "`f'<{1}>'` for `f'<{x + 1}>'`",
    )
    assert words[4:] == ("the first value of `f'<{x + 1}>'` in its place",)
    assert [value(text, number, 5) for number in range(5)] == ["<6>", None, "<>", "<5>", "<1>"]


def test_each_of_several_targets_is_a_part() -> None:
    text, words = parts("y = seen[0] = x + 1\n    return y")
    kept = [0]
    assert words[1:3] == ("`seen[0] = x + 1` for `y = seen[0] = x + 1`", "`y = x + 1` for `y = seen[0] = x + 1`")
    assert value(text, 3, 5, kept) == 6 and kept == [0]
    assert value(text, 0, 5, kept) == 6 and kept == [6]


def test_an_error_that_is_raised_is_no_part() -> None:
    """Its condition is."""
    _, words = parts("if x:\n        raise ValueError('no ' + x)")
    assert words == ("without `if x:`", "`True` for `x`", "`False` for `x`")


def test_a_file_without_one_part_is_a_program_of_its_own() -> None:
    text, words = parts("return x + 1")
    space: dict[str, Any] = {}
    exec(without_part(text, NAMES.chosen, words.index("`x` for `x + 1`") + 1), space)
    assert space["f"](5) == 5


def test_parts_are_numbered_over_all_files_and_asked_for_by_the_drawn_name() -> None:
    made = with_parts("def f(x):\n    return x + 1\n", KnownLines(), NOTHING, NAMES, 7)
    assert made is not None
    numbers = {node.comparators[0].value for node in ast.walk(ast.parse(made.text))  # type: ignore[attr-defined]
               if isinstance(node, ast.Compare) and ast.unparse(node.left) == NAMES.chosen}  # fmt: skip
    assert numbers == {7, 8, 9, 10} and len(made.words) == 4


@pytest.mark.parametrize(("expression", "computed"), [
    ("len(x)", ["len(x)"]), ("x.size", ["x.size"]), ("x[0]", ["x[0]"]), ("x + 1", ["x + 1"]), ("x", []),
    ("x.strip()", ["x.strip()"]), ("g(x.size)", ["g(x.size)", "x.size"]),
    ("x[active_count() - 1]", ["x[active_count() - 1]", "active_count() - 1", "active_count()"]),
    ("1 << 4", []), ("'-' * 3", []),
    ("float('inf')", []), ("errno.ENOENT", []), ("string.digits", []),
    ("[x, 1]", []), ("x < 3", []),
])  # fmt: skip
def test_what_is_computed_may_keep_its_first_value(expression: str, computed: list[str]) -> None:
    """`len(self.items)` is 0, and right, wherever nothing is in it. What is called is no value, and no constant is."""
    words = parts(f"return {expression}")[1]
    assert sorted(word for word in words if word.startswith("the first")) == sorted(
        f"the first value of `{one}` in its place" for one in computed
    )


def test_a_value_is_kept_over_calls_and_what_is_no_plain_value_is_none() -> None:
    text, words = parts("return len(x)")
    number = words.index("the first value of `len(x)` in its place") + 1
    space: dict[str, Any] = {"__builtins__": {**vars(builtins), NAMES.chosen: number}}
    exec(compile(text, "parts", "exec"), space)
    assert [space["f"](x) for x in ("ab", "", "abc")] == [2, 2, 2]
    text, words = parts("return iter(x)")
    number = words.index("the first value of `iter(x)` in its place") + 1
    assert type(value(text, number, "ab")) is object


def test_what_is_no_python_has_no_parts() -> None:
    assert with_parts("def f(:\n", KnownLines(), NOTHING, NAMES, 1) is None and expressions_of("def f(:\n") == NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("expression", [
    "f'" + "{x}" * 3000 + "'", " + ".join("x" * 4000), "[" + ", ".join("x" * 20_000) + "]", " and ".join("x" * 5000),
    "x" + ".a(1)" * 200, "x" + "".join(f".a({'y' * 5000})" for _ in range(200)),
    "[" + ", ".join(f"[{', '.join('x' * 2000)}]" for _ in range(50)) + "]",
    "[" + ",\n".join(["+".join(["1000"] * 30)] * 300) + "]",
], ids=["f-string", "sum", "list", "and", "chain", "long chain", "lists", "sums"])  # fmt: skip
def test_what_anybody_wrote_costs_seconds_at_most(expression: str) -> None:
    text, began = f"def f(x):\n    return {expression}\n", time.process_time()
    with contextlib.suppress(RecursionError):
        with_parts(text, KnownLines(), expressions_of(text.replace("def f", "def g")), NAMES, 1)
    assert time.process_time() - began < 5


def test_parts_of_what_is_assigned_to() -> None:
    """A bound of a slice, and what its place is computed from."""
    text, words = parts("seen[1:len(x)] = x\n    return seen")
    assert {"`None` for `1`", "`None` for `len(x)`", "`x` for `len(x)`"} <= {*words}
    kept = [0, 1, 2, 3]
    assert value(text, words.index("`None` for `1`") + 1, "ab", kept) == ["a", "b", 2, 3]
    assert value(text, 0, "ab", [0, 1, 2, 3]) == [0, "a", "b", 2, 3]
    assert "`x` for `x + 1`" in parts("del seen[x + 1]")[1]


def test_a_number_of_the_program_is_no_new_one() -> None:
    known = expressions_of("def f(x):\n    return x[:255]\n")
    for number, said in ((255, 0), (256, 1)):
        made = with_parts(f"def f(x):\n    return x[-{number}:]\n", KnownLines(), known, NAMES, 1)
        assert made is not None and bool(made.fixed) == bool(said)


@pytest.mark.parametrize(("program", "number"), [
    ("LIMIT = 4096\n", "4096"), ("def g():\n    return '12.50'\n", "12"), 
    ("BIG = 0xFFFFFFFFFFFFFFFF\n", "18446744073709551615"), ("X = 1e16\n", "1e16"), ("Y = -40\n", "x[-40:]"),
])  # fmt: skip
def test_numbers_of_the_whole_file_are_the_program_s(program: str, number: str) -> None:
    made = with_parts(f"def f(x):\n    return x % {number}\n", KnownLines(), expressions_of(program), NAMES, 1)
    assert made is not None and made.fixed == ()


def test_names_and_what_explains_give_no_numbers() -> None:
    known = expressions_of(
        "def f(x4096):\n    warn('4096 is what this long text speaks of, and nothing that is used in it')\n"
    )
    made = with_parts("def f(x):\n    return x % 4096\n", KnownLines(), known, NAMES, 1)
    assert made is not None and made.fixed


@pytest.mark.parametrize(
    "line", ["return max(*[*x])", "return x[:, 0]", "x[:, 0] = 1", "x[1:2, 0] = x", "del x[:, 1:2]"]
)
def test_what_can_be_written_in_one_form_only_is_kept_in_it(line: str) -> None:
    made = with_parts(f"def f(x):\n    {line}\n", KnownLines(), NOTHING, NAMES, 1)
    assert made is not None and made.words
    ast.parse(made.text)
