"""What the shipped evaluation shows of the tests' output holds no marker of a grader, whatever a patch prints."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.export.inside.evaluate import restore, shown

PIECES = st.lists(
    st.sampled_from([">", ">>", ">>>>>", " Start Test Output", "\r", "\n", "\x1b[0m", "\x1b[", "0m", "m", "\x85",
                     "\u2028", "\0", "short test ", "sum", "mary", "summary", " info", "PASSED t", "s"])
)  # fmt: skip


@given(PIECES)
def test_no_marker_is_left_in_a_line(pieces: list[str]) -> None:
    line = shown("".join(pieces).replace("\n", ""))
    for read in (line, re.sub(r"\x1b\[[0-9;]*m|\r", "", line), re.sub(r"[\x00-\x1f]", "", line)):
        assert ">>>>>" not in read and "summary" not in read
        assert len(read.splitlines()) == 1 and read.startswith("| ")


@pytest.mark.parametrize("line", ["FAILED (errors=1)", "E   assert 1 == 2  # naïve 日本", "  > raise ValueError()"])
def test_ordinary_lines_stay(line: str) -> None:
    assert shown(line) == f"| {line}"


WEAKENED, FULL = "def test_a(): pass\n", "def test_a(): pass\n\n\ndef test_b(): assert shop.price\n"
BACK = (
    "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1 +1,4 @@\n"
    " def test_a(): pass\n+\n+\n+def test_b(): assert shop.price\n"
)


def a_commit(folder: Path, text: str) -> Path:
    """A repository of one commit of one file of tests."""
    (folder / "t.py").write_text(text)
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]
    for arguments in (["init", "-q"], ["add", "-A"], commit):
        subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=30)
    return folder / "t.py"


@pytest.mark.parametrize("committed", [WEAKENED, FULL], ids=["an image of ours", "SWE-smith, a commit before"])
@pytest.mark.parametrize("left", [WEAKENED, FULL, "import shop; shop.price = 1\n", None])
def test_the_tests_are_the_oracles_whatever_a_patch_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: str, left: str | None
) -> None:
    file = a_commit(tmp_path, committed)
    file.unlink() if left is None else file.write_text(left)
    monkeypatch.chdir(tmp_path)
    assert restore({"test_files": ["t.py"], "test_patch": BACK, "own": []}) == ""
    assert file.read_text() == FULL


def test_tests_that_fit_no_commit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_commit(tmp_path, "something else\n")
    monkeypatch.chdir(tmp_path)
    assert "t.py" in restore({"test_files": ["t.py"], "test_patch": BACK, "own": []})
