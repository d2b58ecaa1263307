"""A bug of whose repaired lines many small changes show in no call is judged by inputs of too few shapes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exploits.conftest import lab as lab
from exploits.projects import Lab
from oracle.behaviour.test_calls_recorded import recorded
from oracle.behaviour.test_line_reach import KNOWN

from selfplay.oracle.behaviour.compare import judge, unknown
from selfplay.oracle.behaviour.mutation_score import Mutants
from selfplay.oracle.rewriting.mutants import Placed

PROGRAM = """
import os, signal
from itertools import repeat
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def ok(number):
    if selfplay_mutant == 1:
        number += 1
    if selfplay_mutant == 2 and number > 5:
        raise TypeError
    if selfplay_mutant == 3:
        os._exit(3)
    if selfplay_mutant == 4:
        while True: pass
    if selfplay_mutant == 7:
        sum(repeat(0))
    if selfplay_mutant == 8 and not os.fork():
        raise SystemExit
    return [*selfplay_first(range(12)), number] if selfplay_mutant == 5 else [*range(12), number]
def counted(seen=[]):
    seen.append(1)
    return len(seen)
def loading():
    return 2 if selfplay_mutant == 9 else 1
def strict(number):
    if number > 5 and selfplay_mutant != 10:
        raise TypeError
    return number
LOADED = loading()
"""


@pytest.mark.slow
def test_each_mutant_is_told_with_the_calls_that_show_it(tmp_path: Path) -> None:
    """The second raises where nothing says what is right. The third ends its process, the fourth is stopped; the
    seventh cannot be stopped, and holds up none of the others. The sixth changes nothing. The eighth leaves a process.
    The ninth runs only while the program is loaded. What counts its own calls begins anew for each."""
    calls = [["a", "m.ok(1)"], ["b", "m.ok(9)"], ["c", "m.counted()"]]
    mutants = [1, 2, 3, 7, 4, 5, 6, 8, 9]
    found = recorded(tmp_path, calls, module=PROGRAM, mutants=mutants, unusual=["b"])["mutant"]
    assert found == {
        "mutant/1": '["a", "b"]', "mutant/2": "[]", "mutant/3": '["otherwise"]', "mutant/7": '["otherwise"]',
        "mutant/4": '["a", "b"]', "mutant/5": '["a", "b"]', "mutant/6": "[]", "mutant/8": "[]",
        "mutant/9": '["otherwise"]',
    }  # fmt: skip


def test_what_runs_while_the_program_is_loaded_shows_no_part_of_a_patch(tmp_path: Path) -> None:
    """Of the original it may: there no mutant is chosen then."""
    calls = [["a", "m.ok(1)"]]
    found = recorded(tmp_path, calls, module=PROGRAM, mutants=[1, 9], loading=False)["mutant"]
    assert found == {"mutant/1": '["a"]', "mutant/9": "[]"}


def test_an_unusual_input_that_a_patch_refuses_shows_none_of_its_parts(tmp_path: Path) -> None:
    """Of an original it shows a mutant that takes it, since a prediction that takes it would differ."""
    calls, order = [["a", "m.strict(1)"], ["b", "m.strict(9)"]], {"module": PROGRAM, "mutants": [10], "unusual": ["b"]}
    assert recorded(tmp_path, calls, **order)["mutant"] == {"mutant/10": '["b"]'}
    assert recorded(tmp_path, calls, **order, refusing=False)["mutant"] == {"mutant/10": "[]"}


def test_what_could_not_be_tried_counts_as_unseen() -> None:
    bench: Any = None
    places = tuple(Placed(words, at) for at, words in enumerate(("one", "two", "three")))
    mutants = Mutants(bench, {}, ("one", "two", "three"), places, {1: {"c1"}, 2: set()})
    assert mutants.unseen(["c1"]) == ("two", "three") and mutants.unseen([]) == ("one", "two", "three")
    assert [one.line for one in mutants.unseen_places(["c1"])] == [1, 2]


@pytest.mark.slow
def test_calls_show_the_mutants_of_a_small_bug(lab: Callable[[str], Lab]) -> None:
    """Of `share`, whose check and whose list the bug changes."""
    shown = lab("python")._grader.calibration.behaviour
    assert shown is not None and shown.mutants >= 8 and len(shown.unseen) <= 2, shown and shown.unseen


@pytest.mark.parametrize(("unseen", "of", "state"), [(3, 8, "unavailable"), (2, 8, "passed"), (1, 1, "passed")])
def test_more_than_a_quarter_unseen_assures_weakly(unseen: int, of: int, state: str) -> None:
    known = replace(KNOWN, mutants=of, unseen=("without `x = 1`",) * unseen)
    layer = unknown(known, (), judge(known, known.right))
    assert layer.state == state
    why = "3 of 8 small changes of the repaired lines show in no call; it behaves"
    assert state == "passed" or layer.reason.startswith(why)
