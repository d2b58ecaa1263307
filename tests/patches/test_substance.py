"""Whether a diff changes a program, told by its lines."""

import pytest

from selfplay.patches import parse
from selfplay.patches.substance import changes_code

HEAD = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n"


@pytest.mark.parametrize(
    ("path", "removed", "added", "changes"),
    [
        ("a.py", ["x = 1"], ["x = 2"], True),
        ("a.py", ["# old"], ["# new", ""], False),
        ("a.py", ["x = 1"], ["x = 1   "], False),  # white space at a line's end
        ("a.py", ["x = 1"], ["    x = 1"], True),  # indentation is meaning
        ("a.py", [], ["# only a remark"], False),
        ("a.js", [], ["// only a remark"], False),
        ("a.js", [], ["#count = 0;"], True),  # a private field
        ("a.c", [], ["#include <x.h>"], True),
    ],
)
def test_comments_and_white_space_are_no_change(path: str, removed: list[str], added: list[str], changes: bool) -> None:
    lines = "".join([f"-{line}\n" for line in removed] + [f"+{line}\n" for line in added])
    start = f"@@ -1,{len(removed)} +1,{len(added)} @@\n" if removed else f"@@ -0,0 +1,{len(added)} @@\n"
    assert changes_code(parse(HEAD.format(path) + start + lines)) == changes


def test_modes_and_whole_files_are_changes() -> None:
    assert changes_code(parse("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"))
    assert changes_code(
        parse("diff --git a/x.py b/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+#\n")
    )
    assert not changes_code(())
