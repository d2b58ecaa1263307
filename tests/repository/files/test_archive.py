import io
import itertools
import os
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from selfplay.repository.errors import SourceError, TooLarge
from selfplay.repository.files import archive, tar
from selfplay.repository.files.archive import unpack


def make_tar(path: Path, *members: tarfile.TarInfo | tuple[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size, info.mode = len(member[1]), 0o755
                tar.addfile(info, io.BytesIO(member[1]))
            else:
                tar.addfile(member)
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_the_top_folder_goes_and_modes_stay(tmp_path: Path) -> None:
    tar = make_tar(tmp_path / "p-1.tar.gz", ("p-1/run.sh", b"x"), link("p-1/in", "run.sh"))
    assert unpack(tar, tmp_path / "out") == []
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out" / "in").readlink() == Path("run.sh")


def test_hostile_members_are_dropped_with_a_note_each(tmp_path: Path) -> None:
    device = tarfile.TarInfo("p-1/device")
    device.type = tarfile.CHRTYPE
    tar = make_tar(
        tmp_path / "p-1.tar.gz",
        ("p-1/good.py", b"ok"),
        ("/absolute", b""),
        ("p-1/../../up", b""),
        ("p-1/.git/config", b""),
        ("p-1/sub/.GIT/hooks/x", b""),
        link("p-1/out", "../../etc"),
        link("p-1/abs", "/etc/passwd"),
        link("p-1/hard", "p-1/missing", tarfile.LNKTYPE),
        device,
    )
    notes = unpack(tar, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["good.py"]
    assert len(notes) == 8  # every member above but the good one
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "p-1.tar.gz"]


def test_a_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    tar = make_tar(tmp_path / "p.tar.gz", link("p/d", "sub"), ("p/sub/x", b"1"), ("p/d/y", b"2"))
    unpack(tar, tmp_path / "out")
    assert (tmp_path / "out" / "d" / "y").read_bytes() == b"2" and not (tmp_path / "out" / "d").is_symlink()


@pytest.mark.parametrize("order", [1, -1])
def test_links_that_lead_out_only_together_are_dropped(tmp_path: Path, order: int) -> None:
    """By its text `two` is p/a/victim; through `one`, which is p/a, it is the victim beside the tree."""
    (tmp_path / "victim").write_text("secret")
    links = [link("p/a/b/c/one", "../.."), link("p/a/b/c/two", "one/../../victim")]
    tar = make_tar(tmp_path / "p.tar.gz", ("p/a/b/c/x", b""), *links[::order])
    notes = unpack(tar, tmp_path / "out")
    assert notes == ["archive member 'p/a/b/c/two' leads out of the tree through other links: dropped"]
    assert not (tmp_path / "out/a/b/c/two").is_symlink()
    assert (tmp_path / "out/a/b/c/one").resolve() == tmp_path / "out" / "a"


def test_caps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 10)
    with pytest.raises(SourceError, match="more than 10 bytes"):
        unpack(make_tar(tmp_path / "p.tar.gz", ("p/a", b"123456"), ("p/b", b"123456")), tmp_path / "out")
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    with pytest.raises(SourceError, match="more than 1 members"):
        unpack(make_tar(tmp_path / "q.tar.gz", ("p/a", b""), ("p/b", b"")), tmp_path / "out2")


def test_zip_and_what_is_no_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as bundle:
        bundle.writestr("p/a.py", "x")
        bundle.writestr("p/../../b.py", "x")
    assert len(unpack(tmp_path / "p.zip", tmp_path / "out")) == 1
    assert (tmp_path / "out" / "a.py").exists()
    (tmp_path / "bad.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(SourceError, match="the archive cannot be unpacked: file could not be opened"):
        unpack(tmp_path / "bad.tar.gz", tmp_path / "out3")


NAMES = (
    "p/a",
    "/p/a",
    "//p/a",
    "../a",
    "p/../a",
    "p/../../a",
    "p/./a",
    "p//a",
    "p/b/../a",
    "p/b/../../../a",
    "p/b/c/a",
)
TARGETS = ("a", "p/a", "../a", "../p/a", "../../a", "p/../../a", "/etc/passwd", "b/../../../a", ".", "..", "b/c/../a")
KINDS = (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)


@pytest.mark.slow
def test_what_the_standard_librarys_filter_refuses_is_refused(tmp_path: Path) -> None:
    """Every name with every kind and every target of a link, one archive each; nothing that is made leads outside."""
    if not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python has no tarfile.data_filter (3.11.4 has)")
    refused = 0
    for number, (name, target, kind) in enumerate(itertools.product(NAMES, TARGETS, KINDS)):
        member, out = link(name, target, kind), tmp_path / str(number) / "out"
        out.parent.mkdir()
        unpack(make_tar(tmp_path / "p.tar.gz", ("p/x", b""), member), out)
        made = [path for path in out.parent.rglob("*") if not path.is_dir() or path.is_symlink()]
        try:
            tarfile.data_filter(member, str(out))
        except tarfile.FilterError:
            refused += 1
            assert made == [out / "x"], (name, target, kind)
        assert all(Path(os.path.realpath(path)).is_relative_to(out) for path in made), (name, target, kind)
    assert refused > 0.5 * len(NAMES) * len(TARGETS) * 3  # every device and pipe, and of links more than none


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"3", b"1"])
def test_headers_without_an_entry_are_bounded(monkeypatch: pytest.MonkeyPatch, kind: bytes) -> None:
    """They pack a thousand to one, and no bound on entries sees them."""
    monkeypatch.setattr(tar, "MOST_SKIPPED", 50)
    info = tarfile.TarInfo("n")
    info.type = kind
    block = info.tobuf(tarfile.USTAR_FORMAT)
    reader = tar.Tar(io.BytesIO(block * 60 + bytes(1024)))
    with pytest.raises(TooLarge, match=r"9 headers that extend one entry|51 headers without an entry"):
        reader.header()


def test_pax_records_are_read_in_linear_time() -> None:
    began = time.process_time()
    assert tar.records(b"5 a=\n" * 100_000 + b"12 path=abc\n") == {b"path": b"abc"}
    assert time.process_time() - began < 1


def test_extended_headers_of_many_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry may have some; 7.6 MB of archive had half a gigabyte of them."""
    monkeypatch.setattr(tar, "MOST_EXTENDED_BYTES", 4_000)
    entry, extended = tarfile.TarInfo("n"), tarfile.TarInfo("p")
    extended.type, extended.size = b"x", 512
    record = b"512 path=%s\n" % (b"a" * 502)
    block = extended.tobuf(tarfile.USTAR_FORMAT) + record + entry.tobuf(tarfile.USTAR_FORMAT)
    reader = tar.Tar(io.BytesIO(block * 9 + bytes(1024)))
    assert [reader.header().path for _ in range(7)] == [b"a" * 502] * 7  # 3,584 bytes
    with pytest.raises(TooLarge, match="4096 bytes of extended headers"):
        reader.header()
