"""Each artifact of `rejected_cases.py` fails its check for exactly its reason, and the naive opinion on every one."""

from dataclasses import replace
from pathlib import Path

import hand_made
import naive_checks
import pytest
from hand_made import original

from selfplay.artifact import Artifact, save
from selfplay.patches import parse
from selfplay.validators import CHECKS, Thresholds, validate
from selfplay.workbench import parsing
from tests.validators.rejected_cases import CASES, Case, script


def naive(case: Case, artifact: Artifact, bench, folder: Path) -> naive_checks.Opinion:
    save(artifact, folder / "artifact")
    isolated = naive_checks.sandboxed(bench.backend, bench.worlds[case.language], parsing.PARSER_SECONDS)
    return naive_checks.opinion(original(case.language), folder / "artifact", *isolated, **case.thresholds.to_json())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_rejected_for_its_reason(name, bench, tmp_path, monkeypatch):
    monkeypatch.setattr(parsing, "PARSER_SECONDS", 2.0)
    case = CASES[name]
    artifact = case.change(hand_made.artifact(case.language))
    result = validate(artifact, bench(case.language, artifact, time_limit=case.thresholds.seconds), case.thresholds)
    last = result.verdicts[-1]
    assert (last.check, result.valid) == (case.check, False), result.reason
    assert case.says in last.reason
    assert "\n" not in last.reason
    assert list(CHECKS)[: len(result.verdicts)] == [verdict.check for verdict in result.verdicts]
    assert all(verdict.passed for verdict in result.verdicts[:-1])
    expected = case.check if case.naive is None else case.naive or None
    assert naive(case, artifact, bench, tmp_path).failed == expected


@pytest.mark.long
@pytest.mark.parametrize("language", hand_made.LANGUAGES)
def test_the_naive_checks_agree_on_the_valid_ones(language, bench, tmp_path):
    case = Case("", "", script(), language)
    artifact = hand_made.artifact(language)
    second = naive(case, artifact, bench, tmp_path)
    first = validate(artifact, bench(language, artifact), case.thresholds)
    assert (second.failed, second.reason) == (None, "")
    assert (second.fail_to_pass, second.pass_to_pass) == (set(first.fail_to_pass), set(first.pass_to_pass))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["modified", "added", "deleted", "renamed", "mode", "binary"])
def test_every_kind_of_change_must_matter(kind, bench):
    """The Python bug has one section of each kind; without the tests that see it, each in turn is told to be idle."""
    tests = {
        "modified": ("test_prices.py", "test_discount_is_a_share", "test_cheapest"),
        "added": ("test_shop.py", "test_plugins"),
        "deleted": ("test_shop.py", "test_label"),
        "renamed": ("test_shop.py", "test_dial"),
        "mode": ("test_shop.py", "test_report"),
        "binary": ("test_shop.py", "test_logo"),
    }
    valid = hand_made.artifact("python")
    sections = {"binary" if patch.binary else patch.kind: patch for patch in parse(valid.bug_inject)}
    assert sorted(sections) == sorted(tests)
    names = "|".join(tests[kind][1:])
    blind = replace(valid, test_script=valid.test_script.rstrip() + f" | grep -vE '^({names}) '\n")
    result = validate(blind, bench("python", blind), Thresholds(min_passing_tests=1))
    assert result.verdicts[-1].check == "inverse_mutation", result.reason
    assert repr(sections[kind].path) in result.reason
