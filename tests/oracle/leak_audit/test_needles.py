"""What is searched for: the lines that a bug took away, and which of them tell nothing."""

from pathlib import Path

import pytest

from selfplay.artifact import Artifact
from selfplay.oracle.leak_audit.needles import needles
from selfplay.oracle.task import Task
from selfplay.sandbox import World


@pytest.mark.parametrize(("pasted", "excused"), [(5, 0), (4, 4)])
def test_a_lone_function_pasted_elsewhere_excuses_nothing(tmp_path: Path, pasted: int, excused: int) -> None:
    """Five telling lines that stand together in another file of code are a copy; four are how this project writes."""
    lines = [f"    first_value_{number} = compute({number})\n" for number in range(5)]
    rest = "".join(f"another_line_{number} = {number}\n" for number in range(50))
    (tmp_path / "a.py").write_text("def a():\n" + "".join(lines) + "    return 1\n" + rest.replace("another", "third"))
    (tmp_path / "b.py").write_text(rest + "".join(lines[:pasted]) + "\n    done = True\n")
    removed = "".join(f"-{line}" for line in lines)
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,2 @@\n def a():\n{removed}     return 1\n"
    wanted = needles(Task(World(tree=(tmp_path,)), Artifact("s", "p", ("t.py",), diff, "")))
    assert (len(wanted.lines), len(wanted.common)) == (5, excused)


def test_a_lost_line_that_is_part_of_one_that_is_left_is_no_copy(tmp_path: Path) -> None:
    """Found on a real project: one lost line of three stood in another, longer one of the same file."""
    lost = ["first = compute(things)", "second = first.and_more", "third = combine(first, second)"]
    (tmp_path / "a.py").write_text("\n".join([*lost, f"if True and {lost[2]}:", "    last"]) + "\n")
    (tmp_path / "lines.out").write_text(repr(lost) + "x" * 200)  # a list of lines excuses nothing
    removed = "".join(f"-{line}\n" for line in lost)
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,1 @@\n{removed} if True and {lost[2]}:\n"
    wanted = needles(Task(World(tree=(tmp_path,)), Artifact("s", "p", ("t.py",), diff, "")))
    assert (wanted.lines, wanted.partly) == (tuple(lost), (2,))
