"""What a prediction may not bring in, however a file gets its name."""

from dataclasses import replace

import hand_made
import pytest

from selfplay.oracle.paths import refusal
from selfplay.patches import parse

ARTIFACT = hand_made.artifact("python")
ADDED = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+X = 1\n"
MOVED = "diff --git a/store/old.py b/{0}\nsimilarity index 100%\n{1} from store/old.py\n{1} to {0}\n"


@pytest.mark.parametrize(
    "path",
    ["hashlib.py", "pluggy.py", "_pytest/__init__.py", "pytest_more.py", "pytest_cov/plugin.py", "selfplay_witness.py"],
)
def test_a_module_that_shadows_is_refused_added_renamed_or_copied(path: str) -> None:
    for diff in (ADDED.format(path), MOVED.format(path, "rename"), MOVED.format(path, "copy")):
        (section,) = parse(diff)
        assert (refusal([section], ARTIFACT) or ("",))[0] == "touches-infrastructure", diff


def test_a_package_of_the_bug_may_grow_whatever_its_name() -> None:
    own = replace(ARTIFACT, bug_inject=ADDED.format("src/packaging/tags.py"))
    (section,) = parse(ADDED.format("src/packaging/_more.py"))
    assert refusal([section], own) is None
    assert refusal([section], ARTIFACT) is not None


CLIENT = "class Client:\n    def open(self):\n        return 1\n"
CHANGED = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@pytest.mark.parametrize(
    ("path", "text", "allowed"),
    [
        ("web/test.py", CLIENT, True),  # a test client is the program's
        ("web/test.py", None, False),  # a new one would be collected as tests
        ("web/test.py", "def test_x(): ...\n", False),
        ("web/tests.py", "import unittest\nclass A(unittest.TestCase): ...\n", False),
        ("web/testing.py", f"{CLIENT}\n    def assert_status(self, code): ...\n", False),  # what tests claim with
        ("tests/test.py", CLIENT, False),
        ("web/conftest.py", CLIENT, False),
        ("web/test_x.py", CLIENT, False),
    ],
)
def test_a_module_of_the_program_may_be_called_test(path: str, text: str | None, allowed: bool) -> None:
    (section,) = parse(CHANGED.format(path))
    assert (refusal([section], ARTIFACT, {path: text}.get) is None) == allowed


@pytest.mark.parametrize(
    ("path", "new", "changed"),
    [
        (".env.example", True, False),
        ("lib/jest-report.js", True, False),
        (".env", False, False),
        (".env.test", False, False),
    ],
)
def test_what_only_a_configuration_refers_to_may_be_new(path: str, new: bool, changed: bool) -> None:
    for diff, allowed in ((ADDED, new), (CHANGED, changed)):
        (section,) = parse(diff.format(path))
        assert (refusal([section], ARTIFACT) is None) == allowed, diff


@pytest.mark.parametrize("path", ["pytest.toml", ".pytest.toml", "vite.config.ts", "bunfig.toml", "deno.jsonc"])
def test_a_runners_configuration_is_refused(path: str) -> None:
    for diff in (ADDED, CHANGED):
        assert (refusal(parse(diff.format(path)), ARTIFACT) or ("",))[0] == "touches-infrastructure"
