"""The removal strategy: derived outcomes on small functions, then every cut of real modules."""

import ast
import random
from textwrap import dedent

import pytest

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import Cut, apply_cuts
from selfplay.scripted.edits.names import CodeNames, Function, outermost_functions
from selfplay.scripted.injector.removal import compose, removal_cuts


def text_of(source: str) -> str:
    return dedent(source).lstrip("\n")


def functions(text: str) -> list[Function]:
    return outermost_functions(ast.parse(text))


def outcomes(source: str, what: str = "") -> list[str]:
    """What the file becomes, per cut of its first function whose description starts with `what`."""
    text = text_of(source)
    cuts = removal_cuts(functions(text)[0], split_lines(text))
    return [apply_cuts(text, [cut]) for cut in cuts if cut.what.startswith(what)]


CHAIN = """
def f(a):
    if a == 1:
        b = "one"
    elif a == 2:
        b = "two"
    else:
        b = "many"
    return a
"""


def test_arms_of_a_condition_go_one_at_a_time() -> None:
    without_first = CHAIN.replace('    if a == 1:\n        b = "one"\n    elif', "    if").lstrip("\n")
    assert outcomes(CHAIN, "removed a branch") == [without_first]
    without_else = CHAIN.replace('    else:\n        b = "many"\n', "").lstrip("\n")
    assert outcomes(CHAIN, "removed an else branch") == [without_else]


def test_an_elif_that_goes_leaves_nothing_behind() -> None:
    gone = CHAIN[: CHAIN.index("    elif")] + "    return a\n"
    assert gone.lstrip("\n") in outcomes(CHAIN, "removed a condition")
    assert not any("\n    pass\n    return" in after for after in outcomes(CHAIN))


def test_a_condition_goes_and_its_else_takes_over_dedented() -> None:
    source = (
        "def f(a):\n    if a:\n        a = 1\n    else:\n\n        # why\n        a = 2\n        g(a)\n    return a\n"
    )
    assert outcomes(source, "removed a condition and") == ["def f(a):\n    a = 2\n    g(a)\n    return a\n"]


def test_a_branch_stays_when_its_condition_binds_a_name_that_is_read_later() -> None:
    source = "def f(a):\n    if (m := a):\n        a = 1\n    elif b:\n        a = 2\n    return m\n"
    assert outcomes(source, "removed a branch") == []


def test_error_handling_goes_and_its_body_stays() -> None:
    source = "def f(a):\n    try:\n        a = g(a)\n    except E as e:\n        a = e\n    finally:\n        h()\n"
    source += "    return a\n"
    assert outcomes(source, "removed error handling")[0] == "def f(a):\n    a = g(a)\n    return a\n"


def test_one_of_several_handlers_goes() -> None:
    source = "def f():\n    try:\n        g()\n    except A:\n        h()\n    except B:\n        i()\n"
    start = "def f():\n    try:\n        g()\n"
    assert outcomes(source, "removed an exception handler") == [
        f"{start}    except B:\n        i()\n",
        f"{start}    except A:\n        h()\n",
    ]


def test_a_handler_that_binds_what_is_read_later_stays() -> None:
    source = (
        "def f():\n    try:\n        g()\n    except A:\n        x = 1\n    except B:\n        x = 2\n    return x\n"
    )
    assert outcomes(source, "removed an exception handler") == [source.replace("    except B:\n        x = 2\n", "")]
    assert not any("try" not in after and "return x" in after for after in outcomes(source))


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    try: a = g()\n    except E: pass\n    return 1\n",
        'def f():\n    try:\n        a = """x\n        y"""\n    except E:\n        pass\n    return 1\n',
    ],
)
def test_a_body_that_cannot_move_left_keeps_its_try(source: str) -> None:
    assert all("try" in after for after in outcomes(source) if "return 1" in after and "g()" in after)
    for after in outcomes(source):
        ast.parse(after)


def test_a_block_is_not_emptied_but_goes_with_its_head() -> None:
    source = "def f(a):\n    for b in a:\n        # count\n        c(b)\n    return a\n"
    assert "def f(a):\n    return a\n" in outcomes(source)
    assert not any("pass" in after for after in outcomes(source))


def test_match_cases_with_blocks_and_nested_functions_are_blocks_too() -> None:
    source = """
    def f(a):
        match a:
            case 1:
                x = 2
                g(x)
            case _:
                g(a)
        def h(b):
            g(b)
            return b
        with k() as l:
            g(l)
        return h(a)
    """
    found = outcomes(source, "removed a statement")
    assert any("case 1:\n            x = 2\n        case _" in after for after in found)
    assert any("def h(b):\n        return b\n" in after for after in found)
    assert not any("pass" in after for after in found)


def test_statements_that_share_a_line_stay() -> None:
    assert outcomes("def f(a):\n    b(); c()\n    if a: b()\n    return a\n", "removed a statement") == [
        "def f(a):\n    b(); c()\n    if a: b()\n"
    ]


def test_compose_adds_up_cuts_that_lie_apart() -> None:
    cuts = [Cut(1, 2), Cut(2, 3), Cut(5, 6), Cut(8, 30)]
    for seed in range(50):
        chosen = compose(cuts, 4, random.Random(seed))
        assert chosen and not any(a.overlaps(b) for a in chosen for b in chosen if a is not b)
        assert list(chosen) == sorted(chosen, key=lambda cut: cut.start)
    assert compose([], 4, random.Random(0)) == ()
    assert compose(cuts, 4, random.Random(7)) == compose(cuts, 4, random.Random(7))


SWEPT = ("bisect", "textwrap", "contextlib", "shlex", "json.decoder", "dataclasses", "asyncio.queues", "copy")


@pytest.mark.parametrize("module", SWEPT)
@pytest.mark.parametrize("form", ["plain", "crlf", "tabs"])
def test_every_cut_of_real_modules_leaves_a_program(module: str, form: str) -> None:
    """Each function alone, so that parsing its every cut is quick; the wrapping class gives it an indent."""
    checked = 0
    for source in _sources(module):
        text = {"plain": source, "crlf": source.replace("\n", "\r\n"), "tabs": source.replace("    ", "\t")}[form]
        lines = split_lines(text)
        function = functions(text)[0]
        names = CodeNames(function)
        for cut in removal_cuts(function, lines)[:: 1 if form == "plain" else 5]:
            after = apply_cuts(text, [cut])
            ast.parse(after)  # no empty block, no `elif` or `except` without its head
            assert after.startswith("".join(lines[: cut.start - 1]))
            assert after.endswith("".join(lines[cut.end :]))
            assert ("\n" in after.replace("\r\n", "")) == (form != "crlf")
            assert cut.lines or not names.miss(cut.start, cut.end), cut
            checked += 1
    assert checked >= 12


def _sources(module: str) -> list[str]:
    """The source of each function of a module of at most 60 lines, methods inside `class A:`."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    lines = split_lines(Path(spec.origin).read_text())
    found = []
    for function in functions("".join(lines)):
        start = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        source = "".join(lines[start - 1 : function.end_lineno])
        if source.count("\n") <= 60:
            found.append("class A:\n" + source if source.startswith("    ") else source)
    return found
