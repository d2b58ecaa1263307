"""The hand-made artifacts of three languages pass every check, and cost what the room promises."""

import hand_made
import pytest

from selfplay.validators import CHECKS, Thresholds, inverse_mutation, validate
from selfplay.workbench import RunCache

# derived by hand from the fixtures: what each diff breaks
FAIL_TO_PASS = {
    "javascript": {"slug > cuts at whole words", "numbers go right (#1)"},
    "c": {"ring: full", "ring: first in, first out", "ring: wraps around"},
    "python": {
        "tests.test_prices.PricesTest.test_cheapest",
        "tests.test_prices.PricesTest.test_discount_is_a_share",
        "tests.test_shop.ShopTest.test_dial",
        "tests.test_shop.ShopTest.test_label",
        "tests.test_shop.ShopTest.test_logo",
        "tests.test_shop.ShopTest.test_plugins",
        "tests.test_shop.ShopTest.test_report",
    },
}
TESTS = {"javascript": 9, "c": 9, "python": 9}


@pytest.mark.parametrize("language", hand_made.LANGUAGES)
@pytest.mark.slow
def test_valid_artifact(language, bench):
    artifact = hand_made.artifact(language)
    result = validate(artifact, bench(language, artifact), Thresholds())
    assert result.valid, result.reason
    assert [verdict.check for verdict in result.verdicts] == list(CHECKS)
    assert {name.rpartition(".js > ")[2] for name in result.fail_to_pass} == FAIL_TO_PASS[language]
    assert len(result.pass_to_pass) == TESTS[language] - len(FAIL_TO_PASS[language])
    assert not result.flaky


@pytest.mark.slow
def test_every_kind_of_change_is_restored_exactly(bench):
    """Modified, deleted, added, renamed, mode, binary: each file alone brings back the tests that see it, no others."""
    artifact = hand_made.artifact("python")
    verdict = inverse_mutation.check(artifact, bench("python", artifact), Thresholds())
    assert verdict.passed
    assert verdict.details["flips"] == {
        "bin/report.sh": 1,
        "store/labels.py": 1,
        "store/logo.bin": 1,
        "store/plugins/rebate.py": 1,
        "store/prices.py": 2,
        "store/regions.py": 1,
    }


@pytest.mark.slow
def test_runs_are_metered_and_those_of_the_original_shared(bench):
    """C changes one file: bug, weakened, bug again; the original twice when nobody ran it, else not at all."""
    artifact, cache = hand_made.artifact("c"), RunCache()
    first = validate(artifact, bench("c", artifact, shared=cache), Thresholds())
    second = validate(artifact, bench("c", artifact, shared=cache), Thresholds())
    assert first.valid and second.valid
    assert (first.runs, second.runs) == (5, 3)
    runs = {verdict.check: verdict.runs for verdict in second.verdicts}
    assert runs == dict.fromkeys(CHECKS, 0) | {"bug": 1, "weakening": 1, "determinism": 1}
    assert all(verdict.seconds > 0 for verdict in second.verdicts)
