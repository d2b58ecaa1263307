"""What the injector is told is checked, is: each line has artifacts that a validator refuses for breaking it."""

import re

from selfplay.repository import Suite
from selfplay.roles.injector.prompt import injector_prompt
from selfplay.roles.injector.task import InjectorTask
from selfplay.validators import CHECKS
from tests.validators.rejected_cases import CASES

RULES = {
    "On the original repository every test": {
        "test_script": ["a test fails on the original"],
        "bug": ["no effect", "too few failing", "bug breaks all"],
    },
    "With the bug and the weakening, at least one": {
        "weakening": ["hides nothing", "weakening breaks a test", "weakening removes other tests"]
    },
    "Every changed file is needed": {"inverse_mutation": ["one file does not matter", "a document changed too"]},
    "With the bug, and with the weakening too, the tests end": {"bug": ["bug hangs"]},
    "No hint in either diff": {
        "scope": ["bug announced", "original commented out"],
        "weakening": ["assertion commented out"],
    },
    "A test whose outcome varies": {"determinism": ["only random tests fail", "most tests vary"]},
    "The bug leaves test files alone": {"scope": ["bug in the project's settings"]},
}
"""The beginning of a rule -> validator -> the cases of `tests/validators/rejected_cases.py` that break the rule."""


def rules() -> list[str]:
    """The lines of the prompt's part about what is checked."""
    text = injector_prompt(InjectorTask("direct", 0, 0, Suite((), {})))
    part = text.partition("# Rules that are checked\n")[2].partition("\n# ")[0]
    return [line.removeprefix("- ") for line in re.split(r"\n(?=- )", part.strip())]


def test_each_rule_has_a_validator_that_refuses_what_breaks_it() -> None:
    told = rules()
    assert len(told) == len(RULES)
    for line, (beginning, validators) in zip(told, RULES.items(), strict=True):
        assert line.startswith(beginning), line
        for validator, cases in validators.items():
            assert validator in CHECKS and [CASES[name].check for name in cases] == [validator] * len(cases)


def test_what_is_not_checked_is_not_told_as_a_rule() -> None:
    told = " ".join(rules())
    assert "clock" not in told and "order of tests" not in told
