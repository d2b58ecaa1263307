"""The search for leaks costs no more than in proportion to the length of what it reads."""

import gzip
import zlib

import pytest
from linear_time import grows as families_that_grow
from oracle.proportion import in_proportion
from searching import SEARCH, search
from table_rows import long_rows

from selfplay.artifact import Artifact
from selfplay.oracle.leak_audit.needles import Needles, needles
from selfplay.oracle.task import Task
from selfplay.plain_text import encode
from selfplay.sandbox import World

LOOKED_AT = (
    "\x78\x9c", "PK\x03\x04", "\x1f\x8b\x08", "BZh91AY&SY", "\xfd7zXZ\0", "\x28\xb5\x2f\xfd", "<~", "~>", "%41", "\\",
    "\\x41", "&#65;", "&amp;", "=3D", "=\n", "QUJD", "QUJDREVGR0hJSktM\n", "GEZDGNBVGY3TQOJQ ", "0x41, ", "65, ",
    "M" + "A" * 60 + "\n", "00000010: 4142 4344  AB\n", "/*", "*/", "//", "# <<<\n", "@@ -1 +1 @@\n-a\n+a\n", "(",
    "BT Tj \\(",
    "a\0", "BT (a) Tj ", "<41> TJ BT ", "b0VIM", "-", "'a', ", "<b>", "name:1:", "1: ", "1" * 90 + " ", "x.y/z-1-",
)  # fmt: skip
WANTED = ["total_of_all", "=", "first_value", "+", "second_value", "*", "2", "-", "third", "(", "a", ")"]
FOUND = Needles(
    ("result = total_of_all(first_value)",), (), (), (), (), {("listed", 12): (" ".join(WANTED),)}, (("a", (0,)),)
)  # one short anchor, which stands in nearly every text: all of them are cut into tokens


@pytest.mark.slow
@pytest.mark.parametrize("atom", long_rows(LOOKED_AT), ids=repr)
@pytest.mark.parametrize("name", ["a.py", "a.html"])
def test_a_file_that_is_searched(name: str, atom: str) -> None:
    def step(text: str) -> None:
        search(FOUND).file("/testbed/a", name, text.encode("latin-1"))

    assert in_proportion(step, atom)
    assert in_proportion(step, atom, ("a ", "\n"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.py", "a.html", "a"])
def test_a_file_of_any_hostile_text(name: str) -> None:
    assert families_that_grow(lambda text: search(FOUND).file("/testbed/a", name, encode(text))) == []


@pytest.mark.slow
def test_archives_that_unpack_to_more_than_is_read() -> None:
    """Of a gibibyte of zeros in a kilobyte, 64 MiB are read; all together a gibibyte, and then the search stops."""
    packed = zlib.compress(gzip.compress(bytes(80 << 20), 9), 9)
    limited = search(FOUND, size=100 << 20)
    limited.file("/testbed/a", "a.bin", packed)
    with pytest.raises(SEARCH.Spent, match="are packed"):
        limited.file("/testbed/b", "b.bin", packed)


@pytest.mark.slow
def test_needles_of_a_bug_that_takes_everything_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Many lines, many runs of them and many files, each compared with every file of the original."""

    def step(text: str) -> None:
        count = len(text) // 10
        tree = tmp_path_factory.mktemp("tree")
        diff = ""
        for number in range(count):
            lines = [f"value_of_{number}_is = {line}\n" for line in range(10)]
            (tree / f"m{number}.py").write_text("".join(lines))
            (tree / f"copy{number}.py").write_text("".join(reversed(lines)))
            head = f"diff --git a/m{number}.py b/m{number}.py\n--- a/m{number}.py\n+++ b/m{number}.py\n@@ -1,10 +1 @@\n"
            diff += head + "".join(f"-{line}" for line in lines) + "+pass\n"
        assert len(needles(Task(World(tree=(tree,)), Artifact("", (), "", diff, ""))).lines) == 10 * count

    assert in_proportion(step, "x", shortest=4_000)
