"""Plain folders, metadata and archives."""

import io
import os
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from deep_folders import deepen
from hostile_sources import case
from repository_fixtures import write


@case("a folder 1,200 deep", r"d/d/d/\.\.\. lies more than 100 folders deep")
def _(folder: Path, other: Path) -> None:
    deepen(folder, 1200)


@case("a folder of pipes, sockets and links to devices")
def _(folder: Path, other: Path) -> None:
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / ".gitignore")
    os.mkfifo(folder / "pyproject.toml")
    (folder / "setup.py").symlink_to("/dev/zero")
    (folder / "tox.ini").symlink_to("pipe")
    (folder / "main.c").write_text("")


@case("a sparse file of 1 TiB", "its files take 1,099,511,627,776 bytes")
def _(folder: Path, other: Path) -> None:
    (folder / "Makefile").touch()
    with (folder / "big").open("wb") as stream:
        stream.truncate(1 << 40)


for shown, files in {
    "TOML nested 100,000 deep": {"pyproject.toml": "a = " + "[" * 100_000},
    "tables where texts belong": {
        "pyproject.toml": "project = [1]\ntool = 'x'\n[build-system]\nrequires = {a = 1}\n",
        "setup.py": "setup(name=['x'], python_requires={'a': 1}, extras_require=3, package_dir=[1], tests_require=7)",
    },
    "a version of 10,000 digits": {
        "pyproject.toml": f"[project]\nname = 'x'\nrequires-python = '>={'9' * 10_000}'\nversion = '{'1' * 10_000}'\n"
    },
    "code nested 100,000 deep": {"setup.py": "(" * 100_000, "Makefile": ""},
    "names that cannot be hashed": {"setup.py": "setup(extras_require={[1]: 2, **x, 'a': 1}, package_dir={{}: 'x'})"},
}.items():

    def metadata(folder: Path, other: Path, files: dict[str, str] = files) -> None:
        write(folder, files)

    case(f"metadata: {shown}")(metadata)


def members(folder: Path) -> tarfile.TarFile:
    return tarfile.open(folder / "demo-1.0.tar.gz", "w:gz", compresslevel=1)


def add(tar: tarfile.TarFile, name: str, data: bytes = b"", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    tar.addfile(info, io.BytesIO(data))


@case("archive: 3 GB by hard links", "unpacks to more than 1073741824 bytes", archive=True)
def _(folder: Path, other: Path) -> None:
    with members(folder) as tar:
        add(tar, "demo-1.0/a", bytes(1 << 20))
        for number in range(3000):
            add(tar, f"demo-1.0/{number}", type=tarfile.LNKTYPE, linkname="demo-1.0/a")


@case("archive: a header of 1.5 GB", "cannot be unpacked|takes more than", archive=True)
def _(folder: Path, other: Path) -> None:
    size = 1500 << 20
    head = tarfile.TarInfo("demo-1.0/pax")
    head.size, head.type = size, tarfile.XHDTYPE
    press = zlib.compressobj(9, wbits=31)
    with (folder / "demo-1.0.tar.gz").open("wb") as out:
        out.write(press.compress(head.tobuf()))
        for _ in range(size >> 20):
            out.write(press.compress(bytes(1 << 20)))
        out.write(press.flush())


@case("archive: a chain of 100,000 headers", "cannot be unpacked", archive=True)
def _(folder: Path, other: Path) -> None:
    head = tarfile.TarInfo("demo-1.0/long")
    head.size, head.type = 5, tarfile.GNUTYPE_LONGNAME
    with (folder / "demo-1.0.tar.gz").open("wb") as out:
        out.write(zlib.compress((head.tobuf() + b"name".ljust(512, b"\0")) * 100_000, wbits=31))


@case("archive: a sparse file of 2 TiB", "unpacks to more than|cannot be unpacked", archive=True)
def _(folder: Path, other: Path) -> None:
    with members(folder) as tar:
        headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(2 << 40),
                   "GNU.sparse.name": "demo-1.0/big", "GNU.sparse.map": "0,1"}  # fmt: skip
        add(tar, "demo-1.0/big", b"x", pax_headers=headers)


@case("archive: 300,000 members", "has more than 50000 members", archive=True)
def _(folder: Path, other: Path) -> None:
    block = tarfile.TarInfo("demo-1.0/same").tobuf()
    (folder / "demo-1.0.tar.gz").write_bytes(zlib.compress(block * 300_000, wbits=31))


@case("archive: 1,200 folders deep", "nests more than 100 folders", archive=True)
def _(folder: Path, other: Path) -> None:
    with members(folder) as tar:
        add(tar, "demo-1.0/" + "d/" * 1200 + "a")


@case("archive: out of the folder, by names and links", archive=True)
def _(folder: Path, other: Path) -> None:
    with members(folder) as tar:
        add(tar, "demo-1.0/Makefile")
        add(tar, f"demo-1.0/{'../' * 20}tmp/escaped")
        add(tar, f"{other}/escaped")
        add(tar, "demo-1.0/.git/config", b"[core]\n")
        add(tar, "demo-1.0/up", type=tarfile.SYMTYPE, linkname="../..")
        add(tar, "demo-1.0/up/escaped", b"x")
        add(tar, "demo-1.0/hard", type=tarfile.LNKTYPE, linkname=f"{other}/secret.txt")
        add(tar, "demo-1.0/device", type=tarfile.CHRTYPE, devmajor=1, devminor=5)


@case("archive: half of one", "cannot be unpacked", archive=True)
def _(folder: Path, other: Path) -> None:
    with members(folder) as tar:
        add(tar, "demo-1.0/a", os.urandom(100_000))
    path = folder / "demo-1.0.tar.gz"
    path.write_bytes(path.read_bytes()[:50_000])


@case("archive: a zip bomb", "unpacks to more than 1073741824 bytes", archive=True)
def _(folder: Path, other: Path) -> None:
    with zipfile.ZipFile(folder / "demo-1.0.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for number in range(40):
            bundle.writestr(f"demo-1.0/{number}", bytes(32 << 20))


@case("archive: a zip whose members overlap", "unpacks to more than|cannot be unpacked", archive=True)
def _(folder: Path, other: Path) -> None:
    data = bytes(16 << 20)
    press = zlib.compressobj(9, wbits=-15)
    packed = press.compress(data) + press.flush()
    name = b"demo-1.0/000"
    fields = (20, 0, 8, 0, 33, zlib.crc32(data), len(packed), len(data), len(name), 0)
    entries = b"".join(
        struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, *fields, 0, 0, 0, 0, 0) + b"demo-1.0/%03d" % number
        for number in range(500)
    )
    body = struct.pack("<IHHHHHIIIHH", 0x04034B50, *fields) + name + packed
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 500, 500, len(entries), len(body), 0)
    (folder / "demo-1.0.zip").write_bytes(body + entries + end)
