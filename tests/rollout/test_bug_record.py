"""When two bugs are the same bug."""

import pytest

from selfplay.rollout.bug_record import tree_key

HEAD = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
FIRST = f"{HEAD}@@ -1,2 +1,3 @@\n+x\n a\n b\n"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (f"{HEAD}@@ -1,1 +1,2 @@\n+x\n a\n", True),  # less context
        (f"{HEAD}@@ -0,0 +1 @@\n+x\n", True),  # none
        (f"{HEAD}@@ -1,2 +1,3 @@ def f():\n+x\n a\n b\n", True),
        (f"{HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n", False),  # the same line in another place
        (f"{HEAD}@@ -1,2 +1,3 @@\n+y\n a\n b\n", False),
        (FIRST.replace("a.py", "b.py"), False),
    ],
)
def test_trees_are_told_apart_by_what_changes_and_where(other: str, same: bool) -> None:
    assert (tree_key(FIRST) == tree_key(other)) is same


def test_a_last_line_without_an_end_is_another_line() -> None:
    ended = f"{HEAD}@@ -1 +1 @@\n-a\n+b\n"
    assert tree_key(ended) != tree_key(f"{ended}\\ No newline at end of file\n")
