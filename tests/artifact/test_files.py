"""The five files as values: nothing is lost, and what is incomplete or corrupt is a typed error that names it."""

import os
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.artifact import FILE_NAMES, Artifact, ArtifactError, from_texts, load, save
from selfplay.artifact.files import MAX_FILE_BYTES, parse_test_files
from selfplay.plain_text import decode, encode, safe_relative, shown


@pytest.fixture
def folder(tmp_path):
    save(hand_made.artifact("c"), tmp_path / "artifact")
    return tmp_path / "artifact"


@pytest.mark.parametrize("language", hand_made.LANGUAGES)
def test_saved_and_loaded_byte_for_byte(language, tmp_path):
    artifact = hand_made.artifact(language)
    save(artifact, tmp_path / "new" / "folder")
    assert load(tmp_path / "new" / "folder") == artifact
    for name in FILE_NAMES.values():
        source = hand_made.DATA / language / "artifact" / name
        assert (tmp_path / "new" / "folder" / name).read_bytes() == source.read_bytes()


@given(st.binary())
def test_any_bytes_survive_as_text(data):
    assert encode(decode(data)) == data


def test_undecodable_bytes_can_be_shown():
    assert shown(decode(b"caf\xe9/\xc3\xa9")) == "caf\\xe9/é"


@given(st.lists(st.binary(min_size=1).filter(bytes.strip), min_size=4, max_size=4))
def test_any_content_survives(contents):
    names = [name for name in FILE_NAMES.values() if name != "test_files.txt"]
    texts = dict(zip(names, contents, strict=True)) | {"test_files.txt": b"tests/a b.py\ncaf\xe9/t.c\n"}
    artifact = from_texts(texts)
    assert {name: encode(text) for name, text in artifact.texts().items()} == texts
    assert artifact.test_files == ("tests/a b.py", "caf\udce9/t.c")


def test_hash_is_of_content_alone():
    artifact = hand_made.artifact("c")
    assert artifact.content_hash() == replace(artifact).content_hash()
    hashes = {artifact.content_hash()}
    hashes |= {replace(artifact, **{name: getattr(artifact, name) * 2}).content_hash() for name in FILE_NAMES}
    assert len(hashes) == 6
    # content that moves from one file to the next is another artifact
    one = Artifact("ab", ("t",), "c", "d", "e")
    other = Artifact("a", ("t",), "bc", "d", "e")
    assert one.content_hash() != other.content_hash()


@pytest.mark.parametrize("name", FILE_NAMES.values())
def test_each_file_must_be_there_and_say_something(name, folder):
    (folder / name).write_bytes(b" \n")
    with pytest.raises(ArtifactError, match=f"{name} is empty"):
        load(folder)
    (folder / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name} is missing"):
        load(folder)


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo, Path.mkdir])
def test_only_regular_files_are_read(make, folder):
    (folder / "test_script.sh").unlink()
    make(folder / "test_script.sh")
    with pytest.raises(ArtifactError, match=r"test_script\.sh is not a regular file"):
        load(folder)


def test_too_large_is_refused_unread(folder):
    with (folder / "bug_inject.diff").open("r+b") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)  # a hole: nothing is written
    with pytest.raises(ArtifactError, match=f"{MAX_FILE_BYTES + 1} bytes; at most {MAX_FILE_BYTES}"):
        load(folder)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "a/../../x", "./a", "a//b", "a/", ".", "..", ".git/config", "a/.GIT/x", "a\0b"],
)
def test_listed_paths_stay_inside(path):
    assert safe_relative(path) is None
    with pytest.raises(ArtifactError, match=r"test_files\.txt names"):
        parse_test_files(f"tests/ok.py\n{path}\n")


def test_a_path_has_a_hundred_names_at_most() -> None:
    """All folders of a path together have the square of its length: 200 of 2,000 names took 800 MiB."""
    assert safe_relative("a/" * 99 + "a") and safe_relative("a/" * 100 + "a") is None


def test_listed_paths_are_unique():
    assert parse_test_files("a b\r\n\n.github/x\n.gitignore") == ("a b", ".github/x", ".gitignore")
    with pytest.raises(ArtifactError, match="lists 'a' more than once"):
        parse_test_files("a\nb\na\n")


def test_a_long_list_is_read_at_once():
    many = [f"tests/{number}" for number in range(100_000)]
    assert len(parse_test_files("\n".join(many))) == 100_000


def test_a_failed_save_leaves_the_old_file_and_no_rest(folder, monkeypatch):
    before = (folder / "test_script.sh").read_bytes()

    def full(*_: object, **folders: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space"):
        save(replace(hand_made.artifact("c"), test_script="new\n"), folder)
    assert (folder / "test_script.sh").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILE_NAMES.values())


def test_a_path_that_no_file_system_takes_is_refused():
    with pytest.raises(ArtifactError, match="4096 characters"):
        parse_test_files("a" * 4_097 + "\n")
    assert parse_test_files("a" * 4_096 + "\n") == ("a" * 4_096,)
