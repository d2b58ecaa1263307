"""What a run leaves is read within one budget, and only under names that are computed here."""

from collections.abc import Callable
from typing import Any

import pytest

from selfplay.sandbox import Backend, Completed, Sandbox, World
from selfplay.workbench import reading
from selfplay.workbench.files import TestFile
from selfplay.workbench.reading import ReadBudget, ReadTooMuch, read_compiled
from selfplay.workbench.running import Run, RunRequest, run_tests

PARSER = "print('{}')\n"
FILES = {"a/one.py": TestFile(b"x = 1\n", mtime=86_400), "two.py": TestFile(b"y = 1\n", mtime=86_400)}
COMPILED = "PYTHONDONTWRITEBYTECODE= PYTHONPATH=a:. python3 -c 'import one, two'\n"
Ask = Callable[[str], Run]


@pytest.fixture
def ask(backend: Backend, worlds: dict[str, World]) -> Ask:
    """The run of a script whose compiled forms are kept."""

    def run(script: str) -> Run:
        return run_tests(backend, RunRequest(worlds["python"], script, PARSER, 20.0, files=FILES, keep_compiled=True))

    return run


def test_forms_of_other_names_are_not_even_asked_for(ask: Ask) -> None:
    run = ask(
        COMPILED + "for i in $(seq 300); do echo x > __pycache__/two.$i.pyc; done; echo x > __pycache__/three.pyc"
    )
    assert [form.rpartition(".cpython-")[0] for form in run.compiled] == ["a/__pycache__/one", "__pycache__/two"]


@pytest.mark.parametrize(("name", "most"), [("MOST_BYTES", 100), ("MOST_FILES", 1)])
def test_one_budget_for_all_that_is_read(name: str, most: int, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two forms of more than a hundred bytes each."""
    bounded = {"MOST_BYTES": ReadBudget(size=most), "MOST_FILES": ReadBudget(files=most)}[name]
    monkeypatch.setattr("selfplay.workbench.running.ReadBudget", lambda: bounded)
    run = ask(COMPILED)
    assert run.failed_at == "script" and "it left more than may be read out of a sandbox" in run.error


class Leaving:
    """A sandbox in which every file that is asked for exists and is as large as it may be."""

    def __init__(self, answer: bytes) -> None:
        self.asked: list[str] = []
        self.answer = answer

    def run(self, *_: Any, **__: Any) -> Any:
        return Completed(0, self.answer, b"", False, False, 0.1, 0.1)

    def read_file(self, path: str, most: int) -> bytes:
        self.asked.append(path)
        return bytes(most)


def leaving(answer: bytes) -> tuple[Leaving, Sandbox]:
    one: Any = Leaving(answer)
    return one, one


def test_the_names_are_those_of_the_interpreter_and_its_pytest() -> None:
    one, sandbox = leaving(b"a warning\ncompiled: cpython-312 8.4.1\n")
    read_compiled(sandbox, ["a/one.py", "note.txt"], ReadBudget())
    names = ["cpython-312", "cpython-312.opt-1", "cpython-312.opt-2", "cpython-312-pytest-8.4.1"]
    assert one.asked == [f"/testbed/a/__pycache__/one.{name}.pyc" for name in names]


@pytest.mark.parametrize(
    "said", [b"", b"compiled: ../../x -", b"compiled: cpython-312 ../8", b"compiled: cpython-312 8" + b"0" * 99]
)
def test_an_interpreter_that_says_anything_else_has_no_forms(said: bytes) -> None:
    one, sandbox = leaving(said)
    assert read_compiled(sandbox, ["one.py"], ReadBudget()) == {} and one.asked == []


def test_ten_test_files_with_the_largest_forms() -> None:
    """Four forms each of 8 MiB: 64 MiB are met at the ninth, and no more is asked for."""
    one, sandbox = leaving(b"a warning\ncompiled: cpython-312 8.4.1\n")
    with pytest.raises(ReadTooMuch):
        read_compiled(sandbox, [f"{number}.py" for number in range(10)], ReadBudget())
    assert len(one.asked) == reading.MOST_BYTES // reading.MOST_COMPILED + 1 == 9
