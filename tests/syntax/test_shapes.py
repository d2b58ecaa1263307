"""Functions that lost what they did, by tree."""

import pytest

from selfplay.syntax.shapes import stubs

BODY = "const a = x + 1;\nif (a > 2) {\n  log(a);\n}\nsave(a);\nreturn a;"
WHOLE = f"function f(x) {{\n{BODY}\n}}\n"
GO = "package p\n\nfunc f(x int) (int, error) {\n\tif x > 2 {\n\t\tlog(x)\n\t}\n\treturn g(x), nil\n}\n"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (WHOLE, []),
        ("function f(x) {\n}\n", ["f() does nothing", "f() may end without its return"]),
        ("function f(x) {\nreturn x;\n}\n", ["f() does nothing"]),
        ("function f(x) {\nreturn {};\n}\n", ["f() does nothing"]),
        (WHOLE.replace("  log(a);\n", ""), ["f() has an empty block"]),
        (WHOLE.replace("return a;", ""), ["f() may end without its return"]),
        ("function f(x) {\nreturn x + 1;\n}\n", ["f() is gutted"]),
        (WHOLE.replace("return a;", "throw new Error(a);"), []),
        (WHOLE.replace("return a;", "if (a) { return a; } else { return x + 2; }"), []),
    ],
)
def test_javascript(after: str, said: list[str]) -> None:
    assert stubs("javascript", WHOLE, after) == said


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (
            GO.replace("return g(x), nil", "return x, nil").replace("\tif x > 2 {\n\t\tlog(x)\n\t}\n", ""),
            ["f() does nothing"],
        ),
        (GO.replace("\t\tlog(x)\n", ""), ["f() has an empty block"]),
        (GO.replace("return g(x), nil", 'panic("no")'), []),
    ],
)
def test_go(after: str, said: list[str]) -> None:
    assert stubs("go", GO, after) == said
