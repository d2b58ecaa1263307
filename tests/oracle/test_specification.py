"""What is shown to a solver, and that a share of it is still a diff that applies."""

import subprocess
from pathlib import Path

import hand_made
import pytest

from selfplay import patches
from selfplay.oracle.specification import specification

WHOLE = "".join(
    f"def test_{name}():\n    assert {number}\n\n\n# {number}\n# between\n# the tests\n# {name}\n\n"
    for number, name in enumerate("abcdef")
)


def weakening(tmp_path: Path) -> str:
    """Six tests in one file, each made empty by a hunk of its own."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(WHOLE)

    def edit(root: Path) -> None:
        text = "".join(line for line in WHOLE.splitlines(keepends=True) if not line.startswith(("def", "    ")))
        (root / "tests/test_x.py").write_text(text)

    return hand_made.diff(tmp_path, edit, "-U1")


def test_the_whole_reverse_is_shown_by_default() -> None:
    weaken = hand_made.artifact("python").test_weaken
    shown = specification(weaken, ("a", "b"))
    assert shown.diff == patches.reverse(weaken) and shown.public == ("a", "b") and shown.hidden == ()


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.34, 3), (0.5, 3), (0.99, 6)])
def test_a_share_shows_that_many_tests_and_applies(tmp_path: Path, share: float, count: int) -> None:
    weaken = weakening(tmp_path)
    tests = [f"tests/test_x.py::test_{name}" for name in "abcdef"]
    shown = specification(weaken, tests, share, seed="bug")
    assert len(shown.public) == count and set(shown.public) | set(shown.hidden) == set(tests)  # ceil(6 * share)
    for test in shown.hidden:
        assert test.split("::")[1] not in shown.diff
    apply = ["git", "apply", "-"]
    subprocess.run(apply, cwd=tmp_path, input=weaken, text=True, check=True)
    subprocess.run(apply, cwd=tmp_path, input=shown.diff, text=True, check=True)
    assert specification(weaken, tests, share, seed="bug") == shown


def test_no_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="above 0"):
        specification("", (), 0.0)
