"""What comes out of a sandbox: the tree as it was, within its bounds."""

import os
import resource
import stat
import subprocess
from pathlib import Path

import pytest
from repository.files.unpacking import around, listed, unpacked
from stream_frames import ENDED, file, folder, packed

from selfplay.repository.errors import TooLarge
from selfplay.repository.files.unpack import StreamBounds, unpack
from selfplay.sandbox import MIB

__all__ = ["around"]


def test_a_tree_comes_out_as_it_was(around: Path) -> None:
    source = around / "source"
    (source / "a" / "b").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "a" / "b" / "tool").write_text("run me")
    (source / "a" / "b" / "tool").chmod(0o775)
    (source / "a" / "plain").write_text("x" * 300_000)
    os.utime(source / "a" / "plain", ns=(1, 1_234_567_890_123_456_789))
    (source / "a" / "plain").chmod(0o600)
    (source / "a" / "link").symlink_to("b/tool")
    (source / os.fsdecode(b"odd \xff name")).write_text("odd")
    result = unpacked(packed(source), around / "target")
    assert listed(around / "target") == listed(source)
    assert (result.files, result.entries, result.left_out) == (3, 7, 0)
    assert (around / "target" / "a" / "plain").stat().st_mtime_ns == 1_234_567_890_123_456_789
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (around / "target").rglob("[abeptl]*")}
    assert modes == {"a": 0o755, "b": 0o755, "empty": 0o755, "tool": 0o755, "plain": 0o644, "link": 0o777}


def test_only_listed_files_are_sent(around: Path) -> None:
    source = around / "source"
    (source / "a").mkdir(parents=True)
    for name in ("a/one", "a/two", "three"):
        (source / name).write_text(name)
    os.mkfifo(source / "pipe")
    unpacked(packed(source, [b"a/one", b"pipe", b"missing", b"a", b"three"]), around / "target")
    assert listed(around / "target") == {"a": "/", "a/one": "a/one", "three": "three"}


def test_modes_and_special_files_stay_inside(around: Path) -> None:
    """setuid, setgid, sticky and world-writable modes, pipes, sockets and devices."""
    source = around / "source"
    source.mkdir()
    for number, mode in enumerate((0o4755, 0o2755, 0o6777, 0o1777, 0o666)):
        (source / f"file{number}").write_text("x")
        (source / f"file{number}").chmod(mode)
    (source / "folder").mkdir(0o777)
    (source / "folder").chmod(0o7777)
    os.mkfifo(source / "pipe")
    if os.geteuid() == 0:
        os.mknod(source / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    unpacked(packed(source), around / "target")
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (around / "target").rglob("*")}
    assert modes == {**{f"file{i}": 0o755 for i in range(4)}, "file4": 0o644, "folder": 0o755}


def test_bounds_are_met_before_anything_is_written(around: Path) -> None:
    huge = file(b"sparse", size=1 << 50)
    with pytest.raises(TooLarge, match="more than 1 MiB"):
        unpacked(huge, around / "target")
    pages = b"".join(file(b"%d" % number, b"x") for number in range(99))
    with pytest.raises(TooLarge, match="more than 0 MiB"):  # each takes a page
        unpacked(pages + ENDED, around / "target", StreamBounds(bytes=50 * 4096, entries=100))
    many = b"".join(folder(b"many%d" % number) for number in range(101))
    with pytest.raises(TooLarge, match="more than 100 files"):
        unpacked(many + ENDED, around / "target")
    made = b"".join(file(b"/".join(b"made%d" % (number * 1000 + depth) for depth in range(60))) for number in range(3))
    with pytest.raises(TooLarge, match="more than 100 files"):
        unpacked(made + ENDED, around / "target")
    assert sum(1 for _ in (around / "target").rglob("*")) < 300


@pytest.mark.parametrize("mtime", [-(1 << 63), (1 << 63) - 1, 0])
def test_times_are_held_within_what_disks_know(around: Path, mtime: int) -> None:
    unpacked(file(b"a", mtime=mtime) + ENDED, around / "target")
    assert 0 <= (around / "target" / "a").stat().st_mtime <= 1 << 33


@pytest.mark.slow
def test_a_large_stream_takes_little_memory(tmp_path: Path) -> None:
    """One sparse file of 2 GiB, sent in full by our program, and refused by its header's size alone; then 300 MiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (tmp_path / "source").mkdir()
    with (tmp_path / "source" / "sparse").open("wb") as stream:
        stream.truncate(300 * MIB)
    program = ["python3", "-I", "-S", "selfplay/repository/inside/pack.py", str(tmp_path / "source")]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as sending:
        assert sending.stdout is not None
        (tmp_path / "target").mkdir()
        unpack(sending.stdout, tmp_path / "target", StreamBounds(bytes=400 * MIB, entries=10))
    assert (tmp_path / "target" / "sparse").stat().st_size == 300 * MIB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024
