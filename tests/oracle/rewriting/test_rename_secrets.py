"""Every grading draws the secret names anew, and what was known of the tests under the old names still holds."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from exploits.conftest import lab as lab
from exploits.projects import Lab

from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.recording import Recording
from selfplay.oracle.behaviour.stored_behaviour import Behaviour
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.rewriting.rename_secrets import renewed
from selfplay.oracle.rewriting.secret_names import is_odd
from selfplay.plain_text import decode
from selfplay.workbench.files import TestFile


def content(known: Calibration) -> str:
    """Everything that a run is given."""
    assert known.impossible is not None and known.behaviour is not None
    probes = Recording.of(known.behaviour.files).under_name(known.behaviour.files, "w0")
    given = [known.made.files, known.impossible.files, probes]
    texts = [f"{path}\n{decode(file.content)}" for files in given for path, file in files.items()]
    blobs = {**known.compiled, **known.impossible.compiled}
    return "\n".join([*texts, *(f"{path}\n{data.decode('latin-1')}" for path, data in blobs.items())])


@pytest.fixture
def ledger(lab: Callable[[str], Lab]) -> Lab:
    return lab("python")


def test_nothing_is_called_as_in_another_grading(ledger: Lab) -> None:
    known = ledger._grader.calibration
    first, second = renewed(known), renewed(known)
    names = {*known.made.names, *known.impossible.names} if known.impossible else set()
    assert len(names) > 15 and not [name for name in names if name in content(first)]
    assert not {*first.made.names} & {*second.made.names}
    assert not re.search("[sS]elfplay_?[a-zA-Z]|RECORD_MOST|test_p0", content(first))


def test_compiled_forms_fit_their_sources(ledger: Lab) -> None:
    known = ledger._grader.calibration
    fresh = renewed(known)
    assert [len(data) for data in fresh.compiled.values()] == [len(data) for data in known.compiled.values()]
    sizes = [[len(file.content) for file in one.made.files.values()] for one in (known, fresh)]
    assert sizes[0] == sizes[1] and len(fresh.compiled) > 1


def test_the_parity_of_a_canary_still_decides(ledger: Lab) -> None:
    known = ledger._grader.calibration
    fresh = [renewed(known).made for _ in range(20)]
    assert all(is_odd(word) for one in fresh for word in one.must_pass)
    assert not any(is_odd(word) for one in fresh for word in one.must_fail)
    first = [decode(one.files["tests/test_money.py"].content) for one in fresh]
    order = {
        text.index(one.must_pass[0]) < text.index(one.must_fail[0]) for text, one in zip(first, fresh, strict=True)
    }
    assert order == {True, False}  # by chance all 20 alike once in half a million


def test_probes_keep_what_is_known_of_them(ledger: Lab) -> None:
    file = TestFile(b"def test_p0_1():\n    pass\n", False, 0)
    right = {"test_p0_1": {"test_p0_1/1/0": "1"}, "c0": {"c0/0": "2"}}
    made = Behaviour(
        {"tests/test_money.py": file}, Calls(sources={"c0": "m.f(1)"}), frozenset({"c0"}), right=right, wrong=right
    )
    known, fresh = made, renewed(replace(ledger._grader.calibration, behaviour=made)).behaviour
    assert fresh is not None and fresh.novel == known.novel
    assert [*fresh.right.values()] != [*known.right.values()] and len(fresh.right) == len(known.right)
    assert fresh.calls == known.calls  # no program sees what these are called
    said = [sorted(places.values()) for places in fresh.right.values()]
    assert said == [sorted(places.values()) for places in known.right.values()]
    assert all(place.startswith(f"{probe}/") for probe, places in fresh.right.items() for place in places)
    text = "".join(decode(file.content) for file in fresh.files.values())
    assert all(f"def {probe}" in text for probe in fresh.tests)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["python", "javascript", "shell"])
def test_a_repair_passes_whatever_the_names_are(lab: Callable[[str], Lab], kind: str) -> None:
    here = lab(kind)
    assert all(here.grade(here.diff(here.fix)).resolved for _ in range(3))
