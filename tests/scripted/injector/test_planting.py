"""What is planted is what tests see by itself; the failures of the rest are not asked for twice."""

from collections.abc import Generator, Sequence
from types import SimpleNamespace

import pytest

from selfplay.agent.actions import Budget, Call, Observation
from selfplay.scripted.edits.cuts import Cut, PlantedChange
from selfplay.scripted.injector.attempt_loop import NOT_ALONE
from selfplay.scripted.injector.script import _Planted, _ScriptedInjection
from selfplay.scripted.injector.steps import ScriptedRun
from selfplay.scripted.injector.weaken import Failure

SEES = {"a.py": ["t::a", "t::both"], "b.py": ["t::b", "t::both"]}


class Injection(_ScriptedInjection):
    """Two files whose tests are known: of those that a look runs, `failing` fail while a file of theirs is changed."""

    def __init__(self, failing: Sequence[str], least: int = 1) -> None:
        self.task = SimpleNamespace(min_failing_tests=1, min_changed_files=least)  # type: ignore[assignment]
        self.usable, self.most = frozenset(["t::a", "t::b", "t::both", "t::other"]), 40
        self.failing, self.looks, self.texts = failing, 0, dict.fromkeys(SEES, "1\n")

    def _ids(self, changes: Sequence[PlantedChange]) -> list[str]:
        return list(dict.fromkeys(test for change in changes for test in SEES[change.path]))

    def _unrelated(self, ids: Sequence[str]) -> list[str]:
        return []

    def _run_tests(self, ids: Sequence[str]) -> Generator[Call, Observation, ScriptedRun]:
        yield Call("bash", {"command": "look"})
        self.looks += 1
        changed = {test for path, tests in SEES.items() if self.texts[path] == "2\n" for test in tests}
        return ScriptedRun(tuple(Failure(one, "t", 1, one) for one in ids if one in self.failing and one in changed))


def planted(injection: Injection) -> _Planted | str:
    """What comes of planting a change in each file."""
    script = injection._plant(tuple(PlantedChange(path, "1\n", "2\n", (Cut(1, 1, ("2",)),), "") for path in SEES))
    done = None
    while True:
        try:
            call = script.send(done)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if "path" in call.arguments:
            text = call.arguments.get("content", call.arguments.get("new"))
            injection.texts[str(call.arguments["path"])] = f"{text}".rstrip("\n") + "\n"
        done = Observation("", 0, Budget(9, 99))


@pytest.mark.parametrize(
    ("failing", "kept", "looks"),
    [
        (["t::a", "t::b"], ["a.py", "b.py"], 1),
        (["t::a"], ["a.py"], 1),  # nothing that runs b.py fails
        (["t::b"], ["b.py"], 1),
        (["t::a", "t::both"], ["a.py"], 2),  # b.py may be why the second fails
        (["t::both"], ["a.py"], 2),
    ],
)
def test_what_no_test_sees_alone_goes_again(failing: list[str], kept: list[str], looks: int) -> None:
    injection = Injection(failing)
    made = planted(injection)
    assert isinstance(made, _Planted) and [change.path for change in made.changes] == kept
    assert {failure.id for failure in made.failures} == set(failing)
    assert injection.looks == looks
    assert injection.texts == {path: "2\n" if path in kept else "1\n" for path in SEES}


def test_where_two_files_are_asked_for_one_is_not_enough() -> None:
    injection = Injection(["t::a"], least=2)
    assert planted(injection) == NOT_ALONE and set(injection.texts.values()) == {"1\n"}
