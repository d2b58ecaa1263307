"""The source that an image holds arrives as a tar archive, which may be hostile: within bounds, inside one folder."""

import io
import os
import resource
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.repository import SourceError
from selfplay.repository.fetching.image import keep_the_rest, unpack
from selfplay.repository.files.tar import LONGEST_EXTENSION


def member(
    name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, **fields: object
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def archive(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        tar.addfile(*member("app", kind=tarfile.DIRTYPE))
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    buffer.seek(0)
    return buffer


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()  # noqa: PTH115
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "outside").mkdir()
    yield tmp_path / "target"
    assert list((tmp_path / "outside").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"outside", "target"}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_an_ordinary_archive(target: Path, form: int) -> None:
    long = "app/" + "/".join(["folder" * 8] * 4) + "/file" + ("" if form == tarfile.USTAR_FORMAT else "x" * 200)
    members = [
        member("app/run", b"#!", mode=0o4755), member("app/plain", b"x" * 1000, mtime=1_700_000_000),
        member(long, b"long"),
        member("app/link", kind=tarfile.SYMTYPE, linkname="plain"),
        member("app/system", kind=tarfile.SYMTYPE, linkname="/usr/bin/python3"), member("app/empty"),
    ]  # fmt: skip
    unpack(archive(*members, form=form), target)
    expected = {"run": "#!", "plain": "x" * 1000, long[4:]: "long", "link": "plain", "empty": ""}
    assert files(target) == {**expected, "system": "/usr/bin/python3"}
    assert (target / "run").stat().st_mode & 0o7777 == 0o755 and (target / "plain").stat().st_mtime == 1_700_000_000


def test_of_git_only_data_comes_out(target: Path) -> None:
    names = ("HEAD", "config", "hooks/post-checkout", "objects/info/alternates", "objects/ab/cd", "commondir", "gitdir")
    members = [member(f"app/.git/{name}", b"x") for name in names]
    members += [
        member("app/sub/.GIT/HEAD", b"x"),
        member("app/sub/.git", b"gitdir: /root/secret"),
        member("app/x", b"x"),
    ]
    members += [member("app/.git/refs", kind=tarfile.SYMTYPE, linkname="/root/secret/.git/refs")]
    unpack(archive(*members), target)
    found = files(target)
    assert set(found) == {".git/HEAD", ".git/objects/ab/cd", ".git/config", "x"}
    assert found[".git/config"].startswith("[core]") and (target / ".git" / "refs").is_dir()


def test_links_and_names_that_lead_out(target: Path) -> None:
    out = [member("app/a", kind=tarfile.SYMTYPE, linkname="../outside"), member("app/a/new", b"x")]
    unpack(archive(*out), target)
    assert files(target) == {"a/new": "x"}


@pytest.mark.parametrize(
    "hostile",
    [
        [member("app/../outside/x", b"x")],
        [member("app/" + "d/" * 120 + "x", b"x")],
        [member("app/l", kind=tarfile.SYMTYPE, linkname="/etc"), member("app/l/x", b"x")],
        [member("app/x", b"1"), member("app/x", b"2")],
        [member("app/x", b"1"), member("app/x/y", b"2")],
        [member("app/.git/HEAD", b"x"), member("app/.git/refs", b"a file")],
        [member("app/" + "n" * 300, b"x")],
        [member("app/x", pax_headers={"comment": "x" * (LONGEST_EXTENSION + 1)})],
    ],
)
def test_hostile_archives(target: Path, hostile: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with pytest.raises(SourceError, match="the source in the image cannot be used"):
        unpack(archive(*hostile), target)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1200], lambda data: b"x" * 512 + data, lambda data: b"\xff" * 2048]
)
def test_damaged_archives(target: Path, damage) -> None:
    data = archive(member("app/x", b"x" * 600)).getvalue().rstrip(b"\0")
    with pytest.raises(SourceError):
        unpack(io.BytesIO(damage(data)), target)


def test_a_pax_header_takes_no_memory(target: Path) -> None:
    """A record of 1.5 GB, of which only the header is looked at."""

    header = tarfile.TarInfo("pax")
    header.type, header.size = b"x", 1_500_000_000
    start = io.BytesIO(header.tobuf(tarfile.USTAR_FORMAT))

    class Joined(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return start.read(size) or bytes(size)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SourceError, match="an extended header of 1500000000 bytes"):
        unpack(Joined(), target)  # type: ignore[arg-type]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024


def test_a_huge_file_is_refused_by_its_header(target: Path) -> None:
    info = tarfile.TarInfo("app/huge")
    info.size = 5 << 30
    with pytest.raises(SourceError, match="more than 4096 MiB"):
        unpack(io.BytesIO(info.tobuf(tarfile.PAX_FORMAT)), target)
    assert list(target.iterdir()) == []


def test_only_new_files_are_kept(tmp_path: Path) -> None:
    source, tree = tmp_path / "source", tmp_path / "tree"
    tracked = {"src/a.py": "1", "lib": "2", "link": "3"}
    for name in ("src/a.py", "src/a.so", "lib/x", "link/y", "src", ".git/z", "__pycache__/a.pyc", "new/b"):
        path = source / name
        if name != "src":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("from the image")
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "a.py").write_text("tracked")
    (tree / "link").symlink_to(tmp_path)
    assert keep_the_rest(source, tree, tracked) == ["new/b", "src/a.so"]
    assert (tree / "src" / "a.py").read_text() == "tracked" and not (tmp_path / "y").exists()
