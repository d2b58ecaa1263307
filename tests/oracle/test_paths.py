"""What a prediction may not bring in, whatever way a file gets its name."""

from dataclasses import replace

import hand_made
import pytest

from selfplay.oracle.paths import refusal
from selfplay.patches import parse

ARTIFACT = hand_made.artifact("python")
ADDED = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+X = 1\n"
MOVED = "diff --git a/store/old.py b/{0}\nsimilarity index 100%\n{1} from store/old.py\n{1} to {0}\n"


@pytest.mark.parametrize(
    "path", ["hashlib.py", "pluggy.py", "_pytest/__init__.py", "pytest_more.py", "selfplay_witness.py"]
)
def test_a_module_that_shadows_is_refused_added_renamed_or_copied(path: str) -> None:
    for diff in (ADDED.format(path), MOVED.format(path, "rename"), MOVED.format(path, "copy")):
        (section,) = parse(diff)
        assert (refusal(section, ARTIFACT) or ("",))[0] == "touches-infrastructure", diff


def test_a_package_of_the_bug_may_grow_whatever_its_name() -> None:
    own = replace(ARTIFACT, bug_inject=ADDED.format("src/packaging/tags.py"))
    (section,) = parse(ADDED.format("src/packaging/_more.py"))
    assert refusal(section, own) is None
    assert refusal(section, ARTIFACT) is not None
