"""Files of a run's folder are read only as what they must be: regular, inside, and no larger than what is taken."""

import os
import tracemalloc
from pathlib import Path

import pytest

from selfplay.artifact.reading import (
    MissingError,
    UntrustedDataError,
    ensured_folder,
    existing_folder,
    listed_below,
    read_below,
    read_named,
)
from selfplay.artifact.written_folders import refuse_strange_below


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run" / "bugs").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "run" / "bugs" / "file").write_bytes(b"data")
    return tmp_path / "run"


def test_a_file_is_read_whole(run: Path) -> None:
    assert read_below(run, "bugs/file", 4) == b"data"
    with pytest.raises(UntrustedDataError, match="is 4 bytes; at most 3 are taken"):
        read_below(run, "bugs/file", 3)
    with pytest.raises(MissingError, match="nothing is missing"):
        read_below(run, "bugs/nothing", 3)


def test_a_file_whose_size_nobody_knows_is_read_whole() -> None:
    """The kernel's own files say that they are empty."""
    known = Path("/proc/version").read_bytes()
    assert Path("/proc/version").stat().st_size == 0 < len(known)
    assert read_named(Path("/proc/version"), 1 << 20) == known == read_named(Path("/proc/version"), len(known))
    with pytest.raises(UntrustedDataError, match=f"is larger than {len(known) - 1} bytes"):
        read_named(Path("/proc/version"), len(known) - 1)


def test_a_small_file_takes_no_room_for_a_large_one(run: Path) -> None:
    tracemalloc.start()
    try:
        assert read_below(run, "bugs/file", 1 << 28) == b"data"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_claims_a_size_is_never_read(run: Path) -> None:
    with (run / "large").open("wb") as stream:
        stream.truncate(1 << 42)  # 4 TB, no block of which exists
    with pytest.raises(UntrustedDataError, match="is 4398046511104 bytes"):
        read_below(run, "large", 1 << 30)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", "bugs/../../secret", "a\0b", "x" * 5000])
def test_a_name_leads_nowhere_else(run: Path, name: str) -> None:
    with pytest.raises(UntrustedDataError):
        read_below(run, name, 99)


def test_no_link_is_followed_below_the_folder(run: Path, tmp_path: Path) -> None:
    (run / "link").symlink_to("../secret")
    (run / "folder").symlink_to(tmp_path)
    (run / "circle").symlink_to("circle")
    for name in ("link", "folder/secret", "circle", "link/x"):
        with pytest.raises(UntrustedDataError):
            read_below(run, name, 99)
    (tmp_path / "mine").symlink_to(run)  # the user's own way to the run
    assert read_below(tmp_path / "mine", "bugs/file", 99) == b"data"


def test_a_file_with_a_second_name_is_not_read(run: Path, tmp_path: Path) -> None:
    """An archive can give a file beside the run a name in it: a key in a home came into a page."""
    secret = tmp_path / "id_rsa"
    secret.write_text("secret")
    (run / "test_script.sh").unlink(missing_ok=True)
    (run / "test_script.sh").hardlink_to(secret)
    with pytest.raises(UntrustedDataError, match=r"test_script\.sh is a hard link") as caught:
        read_below(run, "test_script.sh", 100)
    assert "cp -r" in caught.value.hint and read_named(secret, 100) == b"secret"


def test_nothing_blocks_and_nothing_is_endless(run: Path) -> None:
    os.mkfifo(run / "pipe")
    (run / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "bugs"):
        with pytest.raises(UntrustedDataError, match="is not a regular file"):
            read_below(run, name, 99)
    with pytest.raises(UntrustedDataError, match="is not a regular file"):
        read_named(run / "pipe", 99)


def test_a_file_that_the_user_names_may_be_a_link_or_a_shells_pipe(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").symlink_to(run / "bugs" / "file")
    assert read_named(tmp_path / "mine", 99) == b"data"
    reader, writer = os.pipe()
    os.write(writer, b"diff")
    os.close(writer)
    assert read_named(Path(f"/dev/fd/{reader}"), 99) == b"diff"
    os.close(reader)


def test_folders_are_folders(run: Path, tmp_path: Path) -> None:
    (run / "link").symlink_to(tmp_path)
    assert existing_folder(run, "bugs") == run / "bugs" and existing_folder(run, "bugs", "none") is None
    for names in (("link",), ("link", "run"), ("bugs", "file")):
        with pytest.raises(UntrustedDataError, match="is not a folder"):
            existing_folder(run, *names)
        with pytest.raises(UntrustedDataError, match="is not a folder"):
            ensured_folder(run, *names, "new")
    for name in ("..", "/tmp", "bugs/file", "", "."):
        with pytest.raises(UntrustedDataError, match="is not a name of a folder"):
            ensured_folder(run, "attempts", name)
    assert ensured_folder(run, "attempts", "b.1").is_dir() and not (tmp_path / "new").exists()


def test_a_folder_to_write_in_holds_files_and_folders_alone(run: Path, tmp_path: Path) -> None:
    refuse_strange_below(run)
    refuse_strange_below(run / "none")
    (tmp_path / "named").symlink_to(run)
    refuse_strange_below(tmp_path / "named")  # what the user names may be a link
    with pytest.raises(UntrustedDataError, match="holds more than 1 files"):
        refuse_strange_below(run, most=1)
    (run / "bugs" / "deep").mkdir()
    for make in (lambda path: path.symlink_to(tmp_path), os.mkfifo):
        make(run / "bugs" / "deep" / "strange")
        with pytest.raises(UntrustedDataError, match="strange is not a regular file"):
            refuse_strange_below(run)
        (run / "bugs" / "deep" / "strange").unlink()


def test_a_folder_is_listed_up_to_a_bound(run: Path) -> None:
    assert listed_below(run, "bugs") == ["file"] and listed_below(run, "none") == []
    (run / "bugs" / "more").touch()
    with pytest.raises(UntrustedDataError, match="holds more than 1 entries"):
        listed_below(run, "bugs", most=1)
