"""The recorder's names in one run hide nothing that the probes define."""

import ast
from itertools import product

import pytest

from selfplay.oracle.behaviour.recording import LOCAL, NAMES, PLACEHOLDER, Recording, drawn_names
from selfplay.oracle.rewriting import secret_names
from selfplay.workbench.files import TestFile


def test_no_name_of_a_run_is_one_of_its_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three words give 81 names, of which the probes define 27 and a run draws 5: drawn one by one, nearly 9 of 10 runs
    had one twice, or one that a probe defines."""
    monkeypatch.setattr(secret_names, "_COMMON", ("one", "two", "six"))
    defined = ["_".join(("one", *rest)) for rest in product(("one", "two", "six"), repeat=3)]
    text = f"from {PLACEHOLDER} import {', '.join(NAMES)}\n" + "".join(f"def {name}(): pass\n" for name in defined)
    files = {"tests/test_a.py": TestFile(text.encode())}
    for _ in range(30):
        recording = Recording.of(files)
        assert len({*recording.names.values(), *defined}) == 27 + len((*NAMES, LOCAL))
        (said,) = recording.under_name(files, "w0").values()
        ours = ast.parse(said.content).body[0]
        assert isinstance(ours, ast.ImportFrom) and ours.module == "w0"
        assert [one.name for one in ours.names] == [recording.names[name] for name in NAMES]


def test_a_run_without_probes_draws_names_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_names, "_COMMON", ("one", "two"))
    for _ in range(30):
        assert len({*drawn_names(()).values()}) == len((*NAMES, LOCAL))
