"""A bug's task as a statement: as SSR shows it to its solver, and in plain language. Neither is ever empty."""

from typing import Any

from selfplay import prompts
from selfplay.artifact import Bug
from selfplay.export.pools import PoolBug
from selfplay.formatting import count

MOST_TESTS = 20
MOST_MESSAGE = 300


def ssr_statement(one: PoolBug) -> str:
    """The tests that define the right behaviour, as a diff: the reversed weakening (SSR section 6). A bug without a
    weakening to show has the plain statement."""
    if not one.specification.strip():
        return plain_statement(one)
    return prompts.render("statement_diff", specification=one.specification.rstrip("\n"))


def plain_statement(one: PoolBug) -> str:
    """The failing tests by name, with what they say, as far as that was recorded when the bug was checked."""
    said = failures(one.bug)
    shown = [test for test in one.bug.fail_to_pass if test not in one.bug.hidden] or list(one.bug.fail_to_pass)
    tests = [(test, said.get(test, "")) for test in shown[:MOST_TESTS]]
    return prompts.render("statement_plain", tests=tests, count=count(len(shown), "test"), more=len(shown) - len(tests))


def failures(bug: Bug) -> dict[str, str]:
    """Test -> the line in which it failed, as the check of the bug recorded it."""
    for verdict in bug.verdicts:
        details: Any = verdict.get("details") if verdict.get("check") == "bug" else None
        said = details.get("messages") if isinstance(details, dict) else None
        if isinstance(said, dict):
            return {str(test): " ".join(str(line).split())[:MOST_MESSAGE] for test, line in said.items()}
    return {}
