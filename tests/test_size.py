"""The package and its benchmarks stay readable: no long file, no long function, no long list of parameters. Of the
tests the files alone are measured."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("selfplay/**/*.py"), *ROOT.glob("validators/*.py"), *ROOT.glob("benchmarks/**/*.py")])
TESTS = sorted(ROOT.glob("tests/**/*.py"))
MOST_FILE, MOST_FUNCTION, MOST_PARAMETERS = 250, 50, 7


def too_long(files: list[Path]) -> dict[str, int]:
    return {str(file.relative_to(ROOT)): lines for file in files if (lines := file.read_text().count("\n")) > MOST_FILE}


def test_no_file_is_too_long_to_read_at_once() -> None:
    assert FILES and too_long(FILES) == {}


def test_no_file_of_tests_is_too_long_to_read_at_once() -> None:
    assert TESTS and too_long(TESTS) == {}


def test_no_function_is_too_long_to_hold_in_mind() -> None:
    long = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > MOST_FUNCTION:
                    long[f"{file.relative_to(ROOT)}: {node.name}"] = lines
    assert long == {}


MORE = {
    "selfplay/repository/prepare.py: prepare": "public, each an option with a default",
    "selfplay/repository/fetching/gitdir.py: run": "options of one git command, with defaults",
    "selfplay/repository/suites/pytest_suite.py: render_script": "settings of one script, with defaults",
    "selfplay/subprocesses.py: start": "those of subprocess.Popen",
    "selfplay/train/attention.py: packed_attention": "transformers calls it",
}
"""Functions with more parameters, and why they have them. Those of `cli` are the options of commands."""


def test_no_function_takes_more_than_one_can_tell_apart() -> None:
    more = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "cli" not in file.parts:
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([one for one in given if one.arg not in ("self", "cls")]) > MOST_PARAMETERS:
                    more.add(f"{file.relative_to(ROOT)}: {node.name}")
    assert more == MORE.keys()


TWICE = {"SelfPlayEnv": "the name by which two trainers of others know it"}
"""Classes of one name, and why they are."""


def test_one_class_a_name() -> None:
    """A private class is told from a public one by more than an underscore. Programs that run inside a sandbox share no
    import with the package, so they are left out; benchmarks are read one at a time."""
    places: dict[str, list[str]] = {}
    for file in FILES:
        if not {"inside", "benchmarks"} & {*file.relative_to(ROOT).parts}:
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name.lstrip("_"), []).append(str(file.relative_to(ROOT)))
    assert {name for name, found in places.items() if len(found) > 1} == TWICE.keys()
