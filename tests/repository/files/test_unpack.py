"""What comes out of a sandbox: a tree inside its folder, or a typed error, whatever bytes arrive."""

import contextlib
import io
import os
import resource
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_frames import ENDED, file, folder, frame, link, packed

from selfplay.repository.errors import BadStream, TooLarge
from selfplay.repository.files.unpack import Inside, StreamBounds, Unpacked, bring_out, unpack
from selfplay.sandbox import MIB, Backend, Limits, SandboxError, World, open_backend

SMALL = StreamBounds(bytes=MIB, entries=100)
LIMITS = Limits(memory_bytes=256 * MIB, disk_bytes=64 * MIB)


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def each_backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


def unpacked(data: bytes, target: Path, bounds: StreamBounds = SMALL, places: tuple[str, ...] = ()) -> Unpacked:
    target.mkdir(exist_ok=True)
    return unpack(io.BytesIO(data), target, bounds, places=places)


def listed(root: Path) -> dict[str, str]:
    """Everything below a folder: its path -> what it is."""
    found = {}
    for path in sorted(root.rglob("*")):
        target = os.readlink(path) if path.is_symlink() else ""  # noqa: PTH115 - pathlib would tidy it
        kind = target or ("/" if path.is_dir() else path.read_text())
        found[str(path.relative_to(root))] = kind
    return found


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Path]:
    """The folder `target`, and beside it what must be as it was afterwards."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept\n")
    yield tmp_path
    assert listed(tmp_path / "outside") == {"kept": "kept\n"}
    assert {path.name for path in tmp_path.iterdir()} <= {"outside", "target", "source"}


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


@pytest.mark.parametrize(
    "path",
    [
        *(
            b"..",
            b".",
            b"",
            b"../outside/kept",
            b"a/../../outside/kept",
            b"/etc/passwd",
            b"//x",
            b"a//b",
            b"a/",
            b"./a",
        ),
        *(b"a\0b", b"n" * 256, b"a/./b", b"a/" * 101 + b"x", b"n" * 5000, b"\0", b"../" * 50 + b"etc/passwd"),
    ],
)
def test_names_that_are_refused(around: Path, path: bytes) -> None:
    for hostile in (file(path, b"x"), folder(path), link(path, b"x")):
        with pytest.raises(BadStream):
            unpacked(hostile + ENDED, around / "target")
        assert listed(around / "target") == {}


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0", ENDED[:-1], ENDED + b"x", ENDED + ENDED, file(b"a", b"xyz")[:-1] + b"", file(b"a", b"xyz")),
        *(file(b"a", b"x", size=1000) + ENDED, file(b"a", b"x" * 1000, size=1) + ENDED),
        *(file(b"a", b"1") + file(b"a", b"2") + ENDED, link(b"a", b"b") + link(b"a", b"c") + ENDED),
        *(file(b"a", b"1") + folder(b"a") + ENDED, folder(b"a") + file(b"a", b"1") + ENDED),
        *(file(b"a", b"1") + file(b"a/b", b"1") + ENDED, folder(b"a") + link(b"a", b"b") + ENDED),
        *(
            frame(9, b"a") + ENDED,
            frame(255, b"") + ENDED,
            file(b"a", executable=7) + ENDED,
            frame(2, b"a", b"x") + ENDED,
        ),
        *(link(b"a", b"") + ENDED, link(b"a", b"x" * 4097) + ENDED, frame(0, b"a"), frame(0, b"", b"x")),
    ],
)
def test_malformed_streams(around: Path, data: bytes) -> None:
    with pytest.raises(BadStream):
        unpacked(data, around / "target")
    assert set(listed(around / "target")) <= {"a"}


@pytest.mark.parametrize("target", [b"../outside", b"/", b"..", b"a/../../outside", b"/etc", b"./..", b"a\0b"])
def test_links_that_lead_out_are_left_out(around: Path, target: bytes) -> None:
    result = unpacked(folder(b"a") + link(b"l", target) + file(b"l/new", b"x") + ENDED, around / "target")
    assert listed(around / "target") == {"a": "/", "l": "/", "l/new": "x"}
    assert (result.left_out, result.dropped) == (1, ("'l'",))


def test_links_that_lead_out_by_another(around: Path) -> None:
    """`d` stays inside, and `e` by its text too: through `d`, which is a link to the root, it would not."""
    data = folder(b"a") + folder(b"a/b") + link(b"a/b/d", b"../..") + link(b"e", b"a/b/d/../outside") + ENDED
    assert unpacked(data, around / "target").dropped == ("'e'",)
    assert "e" not in listed(around / "target")


@pytest.mark.parametrize("target", [b"x", b"../top", b"..", b"x/y/z", b"l", b"./x", b"/env/bin/python", b"/usr"])
def test_links_that_stay(around: Path, target: bytes) -> None:
    unpacked(folder(b"a") + link(b"a/l", target) + ENDED, around / "target", places=("/env", "/usr"))
    assert listed(around / "target")["a/l"] == os.fsdecode(target)


@pytest.mark.parametrize("target", [b"/environment", b"/env/../etc", b"/usrx", b"//usr", b"/"])
def test_places_are_no_prefixes_of_names(around: Path, target: bytes) -> None:
    result = unpacked(link(b"l", target) + ENDED, around / "target", places=("/env", "/usr"))
    assert result.left_out == 1


def test_nothing_is_written_through_a_link(around: Path) -> None:
    """Links that stay, and one that was there before."""
    (around / "target").mkdir()
    (around / "target" / "old").symlink_to(around / "outside")
    with pytest.raises(BadStream, match="both a folder and a file or link"):
        unpacked(file(b"old/kept", b"overwritten") + ENDED, around / "target")
    with pytest.raises(BadStream, match="both a folder and a file or link"):
        unpacked(folder(b"a") + link(b"l", b"a") + file(b"l/x", b"x") + ENDED, around / "target")
    with pytest.raises(BadStream, match="occurs twice"):
        unpacked(link(b"k", b"a/new") + file(b"k", b"x") + ENDED, around / "target")
    assert not (around / "target" / "a" / "new").exists()


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


frames = st.builds(
    frame,
    st.integers(0, 4),
    st.one_of(
        st.lists(st.sampled_from([b"a", b"b", b"..", b".", b"", b"\xff", b"n" * 255]), max_size=5).map(b"/".join),
        st.binary(max_size=20),
    ),
    st.one_of(st.binary(max_size=30), st.sampled_from([b"..", b"../../outside", b"/usr", b"a/../..", b"a"])),
    executable=st.integers(0, 2),
    mtime=st.integers(-(1 << 63), (1 << 63) - 1),
    size=st.one_of(st.just(-1), st.integers(0, 1 << 63)),
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.lists(frames, max_size=12).map(b"".join).map(lambda data: data + ENDED)))
def test_any_bytes_end_in_a_tree_inside_or_in_an_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        around = Path(name)
        (around / "outside").mkdir()
        with contextlib.suppress(BadStream):
            unpacked(data, around / "target", StreamBounds(bytes=20 * 4096, entries=8), places=("/usr",))
        assert listed(around / "outside") == {}
        inside = list((around / "target").rglob("*"))
        assert len(inside) <= 16
        for path in inside:
            real = Path(os.path.realpath(path))
            assert real.is_relative_to(Path(os.path.realpath(around / "target"))) or real.is_relative_to("/usr")
            assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) in (0o600, 0o644, 0o755)


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


HOSTILE = """
import os
os.makedirs("a/b")
for number in range(10): open(f"a/b/big{number}", "wb").truncate(60 << 20)
"""
DEEP = """
import os
for _ in range(300):
    os.mkdir("deep"); os.chdir("deep")
"""
LINKED = """
import os
open("first", "wb").write(bytes(100_000))
for number in range(2000): os.link("first", f"link{number}")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "message"), [(HOSTILE, "more than 32 MiB"), (DEEP, "101 deep"), (LINKED, "more than 32 MiB")]
)
def test_bombs_in_a_sandbox_come_out_as_errors(
    each_backend: Backend, tmp_path: Path, program: str, message: str
) -> None:
    bounds = StreamBounds(bytes=32 * MIB, entries=10_000)
    with each_backend.open(World(folders=("/env",)), LIMITS) as sandbox:
        python = each_backend.python
        assert sandbox.run([python, "-c", program], timeout=60, cwd="/env").exit_code == 0
        with pytest.raises(TooLarge, match=message):
            bring_out(Inside(sandbox, "/env", python), tmp_path, bounds)
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


@pytest.mark.parametrize("command", ["rm -rf x; ln -s /etc x", "rm -rf x; touch x", "rm -rf x", "rm -rf x; mkfifo x"])
def test_a_folder_that_is_none_is_an_error(each_backend: Backend, tmp_path: Path, command: str) -> None:
    with each_backend.open(World(), LIMITS) as sandbox:
        sandbox.run(command, timeout=10)
        with pytest.raises(SandboxError, match="exited 1"):
            bring_out(Inside(sandbox, "/testbed/x", each_backend.python), tmp_path, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_what_comes_out_belongs_to_whom_it_is_given(each_backend: Backend, tmp_path: Path) -> None:
    with each_backend.open(World(folders=("/env",)), LIMITS) as sandbox:
        sandbox.run("cd /env; mkdir a; touch a/b; ln -s b a/c", timeout=10)
        bring_out(Inside(sandbox, "/env", each_backend.python), tmp_path, SMALL, owner=each_backend.owner())
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in tmp_path.rglob("*")}
    assert owners == {each_backend.owner()}
    assert len(list(tmp_path.rglob("*"))) == 3
