"""The original's test files are a stranger's: they are read within a budget."""

import tracemalloc
from pathlib import Path

import pytest

from selfplay.oracle.errors import OracleError
from selfplay.oracle.originals import original_texts, read_originals
from selfplay.sandbox import MIB, World
from selfplay.workbench import reading
from selfplay.workbench.reading import MOST_BYTES


def sized(path: Path, size: int) -> str:
    """A file of so many bytes, no block of which exists."""
    with path.open("wb") as stream:
        stream.truncate(size)
    return path.name


def test_test_files_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("x")
    (tmp_path / "link.py").symlink_to("test_a.py")
    world = World((tmp_path,))
    assert original_texts(world, ["test_a.py", "link.py", "none.py"]) == {"test_a.py": "x"}


def test_a_test_file_with_a_second_name_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "private.py").write_text("secret")
    (tmp_path / "test_a.py").hardlink_to(tmp_path / "private.py")
    with pytest.raises(OracleError, match=r"test_a\.py is a hard link"):
        original_texts(World((tmp_path,)), ["test_a.py"])


def test_a_test_file_of_a_terabyte_is_refused_and_never_in_memory(tmp_path: Path) -> None:
    """No more is read than the budget, which is 64 MiB; a file of that size is taken."""
    name = sized(tmp_path / "test_large.py", 1 << 40)
    tracemalloc.start()
    try:
        with pytest.raises(OracleError, match=r"more than 64 MiB in 5,000 files\n  Name fewer"):
            read_originals(World((tmp_path,)), [name])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES + 8 * MIB
    finally:
        tracemalloc.stop()
    assert len(read_originals(World((tmp_path,)), [sized(tmp_path / "test_b.py", MOST_BYTES)])) == 1


def test_all_files_together_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [sized(tmp_path / f"test_{number}.py", MOST_BYTES // 2) for number in range(3)]
    assert len(read_originals(World((tmp_path,)), names[:2])) == 2
    with pytest.raises(OracleError, match="more than"):
        read_originals(World((tmp_path,)), names)
    monkeypatch.setattr(reading.ReadBudget.__init__, "__defaults__", (MOST_BYTES, 2, reading.WHOLE))
    small = [sized(tmp_path / f"small_{number}.py", 1) for number in range(3)]
    with pytest.raises(OracleError, match="more than"):
        read_originals(World((tmp_path,)), small)
