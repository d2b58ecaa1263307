"""Hostile streams: a tree inside its folder, or a typed error, whatever bytes arrive."""

import contextlib
import io
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository.files.unpacking import SMALL, around, listed, unpacked
from stream_frames import ENDED, file, folder, frame, link

from selfplay.repository.errors import BadStream
from selfplay.repository.files.unpack import StreamBounds, unpack

__all__ = ["around"]


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


@pytest.mark.parametrize("make", [file, folder, lambda path: link(path, b"a")], ids=["file", "folder", "link"])
@pytest.mark.parametrize("path", [b".git", b"a/.git", b".GIT/hooks/pre-commit", b"a/.git/config"])
def test_nothing_of_gits_is_written_unless_asked_for(around: Path, make: Callable[[bytes], bytes], path: bytes) -> None:
    """git runs what its own folder names as soon as somebody looks around in the tree, and a prompt of a shell does."""
    with pytest.raises(BadStream, match="is git's own"):
        unpacked(make(path) + ENDED, around / "target")
    unpack(io.BytesIO(make(b"b/" + path) + ENDED), around / "target", SMALL, git=True)
    assert f"b/{path.decode()}" in listed(around / "target")


@pytest.mark.parametrize("names", [(b"HEAD", b"objects/k", b"refs/k"), (b"HEAD", b"commondir")])
def test_a_folder_that_git_takes_for_its_own_is_refused(around: Path, names: tuple[bytes, ...]) -> None:
    """A tree that tracks these files is shielded by the `.git` of a clone, and is written here without one. A program
    that its `config` names ran at the first `git status` in it."""
    data = b"".join(map(file, (*names, b"config")))
    with pytest.raises(BadStream, match="one of git's"):
        unpacked(data + ENDED, around / "target")
    for part in (data[len(file(names[0])) :], b"".join(file(b"deep/" + name) for name in names)):
        unpacked(part + ENDED, around / f"target/{len(part)}")


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
