"""Every template, rendered: what it must say is in it, and a variable too few is an error."""

from pathlib import Path

import jinja2
import pytest

from selfplay import prompts
from selfplay.agent.call_format import parse
from selfplay.agent.tools import SSR_TOOLS
from selfplay.repository import Suite
from selfplay.roles.injector.prompt import HANDED_IN, injector_prompt
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.prompt import opening
from selfplay.roles.solver.prompt import solver_prompt
from selfplay.roles.solver.task import SolverTask

FOLDER = Path(prompts.__file__).parent
TASK = {
    "root": "/testbed", "submission": "/tmp/artifact", "strategy": "removal", "seed_location": "src/core.py",
    "seconds": 77, "min_passing_tests": 11, "min_changed_files": 3, "min_failing_tests": 2,
}  # fmt: skip
TOOL = {"name": "bash", "description": "Run a command.", "note": "", "example": "<tool: bash>\nls\n</tool>"}
VARIABLES = {
    "system": {"root": "/testbed", "native": False, "command_seconds": 120, "tools": [TOOL]},
    "tools": {"tools": [TOOL]},
    "observation": {"output": "out", "exit_code": 1, "budget": "[3 calls and 5 s left]"},
    "malformed": {"why": "Wrong.", "native": False, "example": "<tool: bash>\nls\n</tool>"},
    "injector": {**TASK, "names": HANDED_IN},
    "solver": {"root": "/testbed", "specification": "diff --git a/t b/t"},
    "solver_imported": {"root": "/testbed", "statement": "total() is wrong."},
    "statement_diff": {"specification": "diff --git a/t b/t"},
    "statement_plain": {"tests": [("t::a", "assert 1 == 2"), ("t::b", "")], "count": "3 tests", "more": 1},
    "staged/discover": {**TASK, "names": HANDED_IN[:3]},
    "staged/plant": TASK,
    "staged/weaken": {**TASK, "failing": ["t::a", "t::b"], "bug": "diff --git a/x b/x"},
    **{f"strategy/{name}": {} for name in ("removal", "history", "direct", "feature")},
}
NAMES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.j2"))


def test_every_template_is_tested() -> None:
    assert sorted(VARIABLES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_renders_and_leaves_nothing_open(name: str) -> None:
    text = prompts.render(name, **VARIABLES[name])
    assert text and "{{" not in text and "{%" not in text and "None" not in text
    assert all(len(line) <= 132 for line in text.splitlines())


@pytest.mark.parametrize(("name", "variable"), [(n, v) for n in NAMES for v in VARIABLES[n] if n != "staged/weaken"])
def test_a_variable_too_few_is_an_error(name: str, variable: str) -> None:
    values = {key: value for key, value in VARIABLES[name].items() if key != variable}
    text = (FOLDER / f"{name}.j2").read_text()
    if variable not in text:
        pytest.fail(f"{name} is tested with {variable}, which it does not use") if "staged" not in name else None
        return
    with pytest.raises(jinja2.UndefinedError, match=variable):
        prompts.render(name, **values)


@pytest.mark.parametrize("strategy", ["removal", "history", "direct", "feature"])
def test_the_injector_is_told_its_numbers_and_five_files(strategy: str) -> None:
    task = InjectorTask(
        strategy, 0, 0, Suite((), {}), min_passing_tests=11, min_changed_files=3, min_failing_tests=2,  # type: ignore[arg-type]
        seconds=77, seed_location="src/core.py",
    )  # fmt: skip
    text = injector_prompt(task)
    for said in ("At least 11 tests must pass", "at least 3 files of code", "at least 2 of them\n  fail", "77 seconds",
                 "`src/core.py`", *(f"/tmp/artifact/{name}" for name in HANDED_IN)):  # fmt: skip
        assert said in text, said
    assert prompts.render(f"strategy/{strategy}") in text


def test_one_is_said_as_one_and_no_location_is_not_mentioned() -> None:
    text = injector_prompt(InjectorTask("direct", 0, 0, Suite((), {})))
    assert "at least 1 file of code" in text and "at least 1 of them\n  fails" in text
    assert "begin your search" not in text and "begin its search" not in text


def test_the_solver_sees_the_specification_as_it_is() -> None:
    diff = "diff --git a/t b/t\n-    assert {{ x }} < 3\n+    assert x & 1\n"
    assert diff.rstrip() in solver_prompt(SolverTask("bug", diff))


def test_the_solver_of_an_imported_task_sees_its_statement() -> None:
    text = solver_prompt(SolverTask("bug", "diff --git a/t b/t", statement="total() is wrong.\n"))
    assert "total() is wrong." in text and "diff --git" not in text


@pytest.mark.parametrize("native", [True, False])
def test_the_system_message_explains_the_tools_that_there_are(native: bool) -> None:
    system, user = opening("the task", native, SSR_TOOLS)
    assert (system.role, user.role, user.content) == ("system", "user", "the task")
    assert ("<tool: bash" in system.content) != native
    assert "at most\n120 seconds" in system.content and "/testbed" in system.content


def test_every_example_of_the_tools_text_is_a_call() -> None:
    examples = opening("", False, SSR_TOOLS)[0].content.split("</tool>")[:-1]
    found = [parse(f"<tool:{example.split('<tool:')[1]}</tool>", SSR_TOOLS) for example in examples]
    assert [call.tool for call in found] == ["bash", "edit", "create", "submit"]  # type: ignore[union-attr]
