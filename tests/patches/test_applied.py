"""A diff applied to a text on the host: exact, or refused."""

import pytest

from selfplay import patches
from selfplay.patches.applied import applied

HEAD = "diff --git a/a b/a\n--- a/a\n+++ b/a\n"


@pytest.mark.parametrize(
    ("text", "diff", "after"),
    [
        ("1\n2\n3\n", "@@ -2 +2 @@\n-2\n+two\n", "1\ntwo\n3\n"),
        ("1\n2\n3\n", "@@ -1,0 +2 @@\n+one and a half\n", "1\none and a half\n2\n3\n"),
        ("1\n2\n3\n4\n", "@@ -1 +0,0 @@\n-1\n@@ -4 +3,2 @@\n 4\n+5\n", "2\n3\n4\n5\n"),
        ("1\r\n2\r\n", "@@ -2 +2 @@\n-2\r\n+3\r\n", "1\r\n3\r\n"),
    ],
)
def test_hunks_are_made_where_they_stand(text: str, diff: str, after: str) -> None:
    (section,) = patches.parse(HEAD + diff)
    assert applied(text, section) == after


def test_a_hunk_that_stands_elsewhere_is_refused() -> None:
    (section,) = patches.parse(f"{HEAD}@@ -2 +2 @@\n-2\n+two\n")
    with pytest.raises(patches.PatchError, match="not at line 2"):
        applied("0\n1\n2\n", section)
