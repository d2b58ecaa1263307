"""Both statements of every bug say something, whatever is hidden."""

from pathlib import Path

import hand_made
import pools

from selfplay.artifact import Artifact, Bug
from selfplay.commands.export import ExportOrder, run_export
from selfplay.export.bug_selection import BugSelection
from selfplay.export.pools import collect
from selfplay.export.statements import plain_statement, ssr_statement

ARTIFACT = hand_made.artifact("python")


def statements(folder: Path, bug: Bug, artifact: Artifact = ARTIFACT, **choice: float) -> tuple[str, str]:
    run = pools.pool(folder, hand_made.original("python"), [(bug, artifact)])
    (one,) = collect([run], BugSelection(**choice)).bugs
    return ssr_statement(one), plain_statement(one)


def test_the_statement_of_ssr_is_the_reversed_weakening(tmp_path: Path) -> None:
    told, _ = statements(tmp_path / "run", pools.bug(ARTIFACT))
    removed = [line for line in ARTIFACT.weakening.splitlines() if line.startswith("-") and line[1:2] != "-"]
    assert removed and all(f"+{line[1:]}" in told for line in removed)


def test_the_plain_statement_names_tests_and_what_they_said(tmp_path: Path) -> None:
    messages = {"tests/test_a.py::test_broken": "AssertionError: assert 1 == 2\n"}
    verdict = {"check": "bug", "passed": True, "reason": "", "details": {"messages": messages}}
    _, told = statements(tmp_path / "run", pools.bug(ARTIFACT, verdicts=(verdict,)))
    assert "- `tests/test_a.py::test_broken`: AssertionError: assert 1 == 2\n" in told
    assert "1 test that should pass fails." in told


def test_many_tests_are_counted_and_hidden_ones_not_named(tmp_path: Path) -> None:
    tests = tuple(f"t.py::test_{number}" for number in range(30))
    _, told = statements(tmp_path / "run", pools.bug(ARTIFACT, fail_to_pass=tests, hidden=tests[:3]))
    assert "t.py::test_0`" not in told and "t.py::test_3`" in told
    assert "27 tests that should pass fail." in told and "and 7 more" in told  # 30 - 3 hidden, 20 shown


def test_a_bug_whose_tests_are_all_hidden_still_has_a_statement(tmp_path: Path) -> None:
    known = pools.bug(ARTIFACT)
    ssr, plain = statements(tmp_path / "run", known.model_copy(update={"hidden": known.fail_to_pass}))
    assert ssr.strip() and plain.strip()


def test_every_row_of_an_export_has_both(tmp_path: Path) -> None:
    run = pools.pool(tmp_path / "run", hand_made.original("python"), pools.numbered(ARTIFACT, 2))
    run_export(ExportOrder((run,), tmp_path / "out", "hf", statement="plain"))
    for row in pools.rows(tmp_path / "out"):
        assert row["problem_statement"] == row["plain_statement"] != row["ssr_statement"]
        assert row["ssr_statement"].strip() and row["plain_statement"].strip()
