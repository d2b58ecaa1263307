"""Folders that are written into while other users rename and link."""

import gc
import grp
import os
import pwd
import struct
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay.artifact.files import make_folder, write_atomically
from selfplay.owned_folders import (
    FolderOfAnother,
    is_trusted,
    make_closed,
    opened_folder,
    others_may_write,
    refuse_place_of_another,
    refuse_temporary_of_another,
    rights_of,
)

ANOTHER = 4321
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


WRITE, USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 2, 1, 2, 4, 16, 32


def listed(folder: Path, number: int, right: int, mask: int = 7) -> None:
    """Give a folder a POSIX list of rights with one named user."""
    nobody = 0xFFFFFFFF
    entries = [
        (USER_OBJ, 7, nobody),
        (USER, right, number),
        (GROUP_OBJ, 5, nobody),
        (MASK, mask, nobody),
        (OTHER, 5, nobody),
    ]
    data = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(folder, "system.posix_acl_access", data)


def given(path: Path) -> Path:
    os.chown(path, ANOTHER, ANOTHER, follow_symlinks=False)
    return path


def place_of(folder: Path) -> str:
    descriptor = opened_folder(folder)
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - of the kernel's own
    finally:
        os.close(descriptor)


def test_links_of_ones_own_and_of_the_kernel_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "relative").symlink_to("a/../a")
    (tmp_path / "absolute").symlink_to(tmp_path / "relative")
    for path in ("a/b", "a/b/../b", "relative/b", "absolute/b", "relative/../relative/b"):
        assert place_of(tmp_path / path) == str(tmp_path / "a/b")
    held = os.open(tmp_path / "a" / "b", os.O_RDONLY)
    assert place_of(Path(f"/proc/{os.getpid()}/fd/{held}")) == str(tmp_path / "a/b")
    os.close(held)


def test_what_leads_nowhere_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "file").touch()
    gc.collect()  # what earlier tests let go of
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(OSError, match="Too many levels"):
        opened_folder(tmp_path / "round")
    for path in ("absent/a", "file/a"):
        with pytest.raises(OSError, match=r"No such file|Not a directory"):
            opened_folder(tmp_path / path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@only_root
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda place: write_atomically(place / "report.html", b"theirs"), id="a file"),
        pytest.param(lambda place: make_folder(place / "new" / "one"), id="a folder"),
        pytest.param(lambda place: refuse_place_of_another(place), id="a run"),
        pytest.param(lambda place: refuse_place_of_another(place / "run"), id="a new run"),
    ],
)
@pytest.mark.parametrize("above", ["", "their"])
def test_a_link_of_another_user_is_not_followed(tmp_path: Path, act: Callable[[Path], object], above: str) -> None:
    """A run in a folder of theirs was read, then stood a link to a folder of the reader's in its place."""
    own = tmp_path / "own" / "below"
    own.mkdir(parents=True)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    if above:
        given(theirs)
        (theirs / "link").symlink_to(tmp_path / "own")
        place = given(theirs / "link") / "below"
    else:
        (theirs / "link").symlink_to(own)
        place = given(theirs / "link")
    with pytest.raises(FolderOfAnother, match=r"a link of another user \(uid 4321\) leads to"):
        act(place)
    assert not list(own.iterdir())


@only_root
def test_a_folder_that_is_replaced_while_it_is_written_to_gets_nothing(tmp_path: Path) -> None:
    """Whoever wins the race: a file lands where the name led when it was opened, or it is refused."""
    precious = tmp_path / "precious"
    precious.mkdir()
    theirs = tmp_path / "theirs"
    (theirs / "run").mkdir(parents=True)
    given(theirs / "run")
    over = threading.Event()

    def exchanges() -> None:
        (theirs / "link").symlink_to(precious)
        given(theirs / "link")
        while not over.is_set():
            for name in ("link", "real"):
                os.rename(theirs / "run", theirs / ("real" if name == "link" else "link"))  # noqa: PTH104
                os.rename(theirs / name, theirs / "run")  # noqa: PTH104

    racing = threading.Thread(target=exchanges)
    racing.start()
    written = refused = 0
    for _ in range(4000):
        try:
            write_atomically(theirs / "run" / "report.html", b"theirs")
            written += 1
        except (FolderOfAnother, OSError):
            refused += 1
    over.set()
    racing.join()
    assert written and refused
    assert not list(precious.iterdir())


def test_a_list_of_rights_counts_where_it_lets_another_user_write(tmp_path: Path) -> None:
    """The mode of such a folder is 0775, with the group of its owner alone: it said nothing of the user in the list."""

    def may(number: int, right: int, mask: int = 7) -> bool:
        listed(tmp_path, number, right, mask)
        return others_may_write(tmp_path.stat(), tmp_path)

    assert may(ANOTHER, 7) and may(ANOTHER, WRITE)
    assert not may(ANOTHER, 5) and not may(ANOTHER, 7, mask=5) and not may(os.geteuid(), 7)


@only_root
def test_root_trusts_a_user_in_whose_folder_it_works_only_where_he_is_none_or_is_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He had root's run written where he liked: a script into the folder of those that each login runs."""
    account = pwd.getpwnam("nobody").pw_uid
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.chdir(tmp_path)
    for owner, trusted in ((os.geteuid(), True), (ANOTHER, True), (account, False)):
        os.chown(tmp_path, owner, -1)
        assert is_trusted(owner) is trusted
    own = tmp_path / "own"
    own.mkdir()
    for place in (own, own / "new", own / "new" / "run"):
        with pytest.raises(FolderOfAnother, match=rf"would lie in a folder of another user, .* \(uid {account}\)"):
            refuse_place_of_another(place)
    monkeypatch.setenv("SUDO_UID", str(account))
    refuse_place_of_another(own / "new")
    assert is_trusted(account) and not is_trusted(ANOTHER)


@only_root
def test_a_group_that_others_share_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On many clusters all users have one primary group."""
    tmp_path.chmod(0o775)
    assert not others_may_write(tmp_path.stat(), tmp_path)
    shared = grp.getgrnam("users").gr_gid
    os.chown(tmp_path, 0, shared)
    monkeypatch.setattr(os, "getegid", lambda: shared)
    assert others_may_write(tmp_path.stat(), tmp_path)


@only_root
def test_temporary_files_do_not_lie_in_a_folder_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_temporary_of_another()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    refuse_temporary_of_another()
    given(tmp_path)
    with pytest.raises(FolderOfAnother, match=r"another user may change what is in .* where temporary files") as no:
        refuse_temporary_of_another()
    assert no.value.hint == "Set TMPDIR to a folder of your own."


def test_a_file_has_the_rights_that_the_users_mask_leaves(tmp_path: Path) -> None:
    """All were open to everybody to read, whatever the mask."""
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "closed", b"")
        os.umask(0o022)
        write_atomically(tmp_path / "open", b"")
        write_atomically(tmp_path / "of a run", b"", 0o700)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"closed": 0o600, "open": 0o644, "of a run": 0o600}


def test_what_is_made_of_folders_is_closed_as_they_are(tmp_path: Path) -> None:
    modes = {"all": 0o755, "group": 0o750, "mine": 0o500}
    for name, mode in modes.items():
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    found = [rights_of(*(tmp_path / name for name in names)) for names in ([], ["all"], ["all", "group"], [*modes])]
    assert found == [0o777, 0o755, 0o750, 0o700]


def test_folders_for_what_is_kept_are_closed_whatever_the_mask(tmp_path: Path) -> None:
    """Of `~/.local/state/selfplay/allowed` only the last was: with an open mask anybody could exchange the others."""
    before = os.umask(0)
    try:
        make_closed(tmp_path / "state" / "selfplay" / "allowed")
        make_closed(tmp_path / "state" / "selfplay")
    finally:
        os.umask(before)
    made = [tmp_path / "state", *(tmp_path / "state").rglob("*")]
    assert len(made) == 3 and all(place.stat().st_mode & 0o077 == 0 for place in made)
