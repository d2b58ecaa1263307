"""A bug of whose repaired lines many small changes show in no call is judged by inputs of too few shapes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from exploits.conftest import lab as lab
from exploits.projects import Lab
from oracle.behaviour.test_calls import recorded
from oracle.behaviour.test_line_reach import KNOWN

from selfplay.oracle.behaviour.compare import judge, unknown

PROGRAM = """
def ok(number, more=0):
    if selfplay_mutant == 1:
        number += 1
    if selfplay_mutant == 2 and number > 5:
        raise TypeError
    if selfplay_mutant == 3:
        import os
        os._exit(3)
    if selfplay_mutant == 4:
        while True:
            pass
    return [*selfplay_first(range(12)), number] if selfplay_mutant == 5 else [*range(12), number]


def counted(seen=[]):
    seen.append(1)
    return len(seen)
"""


def test_each_mutant_is_told_with_the_calls_that_show_it(tmp_path: Path) -> None:
    """The second raises where nothing says what is right. The third ends its process, the fourth is stopped. A sixth
    changes nothing. What counts its own calls begins anew for each."""
    calls = [["a", "m.ok(1)"], ["b", "m.ok(9)"], ["c", "m.counted()"]]
    found = recorded(tmp_path, calls, module=PROGRAM, mutants=[1, 2, 3, 4, 5, 6], unusual=["b"])["mutant"]
    assert found == {
        "mutant/1": '["a", "b"]', "mutant/2": "[]", "mutant/3": '["the end of the process"]',
        "mutant/4": '["a", "b"]', "mutant/5": '["a", "b"]', "mutant/6": "[]",
    }  # fmt: skip


@pytest.mark.slow
def test_calls_show_the_mutants_of_a_small_bug(lab: Callable[[str], Lab]) -> None:
    """Of `share`, whose check and whose list the bug changes."""
    shown = lab("python")._grader.calibration.behaviour
    assert shown is not None and shown.mutants >= 8 and len(shown.unseen) <= 2, shown and shown.unseen


@pytest.mark.parametrize(("unseen", "state"), [(3, "unavailable"), (2, "passed")])
def test_more_than_a_quarter_unseen_assures_weakly(unseen: int, state: str) -> None:
    known = replace(KNOWN, mutants=8, unseen=("without `x = 1`",) * unseen)
    layer = unknown(known, judge(known, known.right))
    assert layer.state == state
    why = "3 of 8 small changes of the repaired lines show in no call, without `x = 1` for one; it behaves"
    assert state == "passed" or layer.reason.startswith(why)
