"""The bug artifact: five files as one immutable value (SSR section 2), with its content hash, load and save.

Deviation from the paper: its appendix uses other names for `test_parser.py`, `bug_inject.diff` and `test_weaken.diff`.
Texts are kept byte for byte: undecodable bytes become surrogates.
"""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from selfplay.artifact.reading import MissingError, UntrustedDataError, read_below
from selfplay.errors import SelfplayError
from selfplay.formatting import count, shortened
from selfplay.owned_folders import NEW_FILE, missing_folders, opened_folder
from selfplay.plain_text import MAX_PATH, MOST_NAMES, decode, encode, safe_relative

FILE_NAMES = {
    "test_script": "test_script.sh",
    "test_files": "test_files.txt",
    "test_parser": "test_parser.py",
    "bug_inject": "bug_inject.diff",
    "test_weaken": "test_weaken.diff",
}
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_LINES = 100_000
"""Limits of one file: a diff reader keeps some hundred bytes per line, even for short lines."""


class ArtifactError(SelfplayError):
    """An artifact that is incomplete, corrupt, too large, or names forbidden paths."""


@dataclass(frozen=True)
class Artifact:
    """The five files. `test_files` is parsed into unique relative POSIX paths; the others are texts.

    An imported task may hide no tests: its `test_weaken` is then None, and it has four files."""

    test_script: str
    test_files: tuple[str, ...]
    test_parser: str
    bug_inject: str
    test_weaken: str | None

    def texts(self) -> dict[str, str]:
        """File name -> content, in the paper's order."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["test_files"] = "".join(f"{path}\n" for path in self.test_files)
        return {FILE_NAMES[name]: values[name] for name in FILE_NAMES if values[name] is not None}

    @property
    def weakening(self) -> str:
        """The weakening. Raises `ArtifactError` for an imported task that hides no tests."""
        if self.test_weaken is None:
            raise ArtifactError("this task was imported and hides no tests", "Only bugs that were made here do.")
        return self.test_weaken

    @property
    def diffs(self) -> tuple[str, ...]:
        """The diffs that turn the original into the tree that a solver gets, in order."""
        return (self.bug_inject,) if self.test_weaken is None else (self.bug_inject, self.test_weaken)

    def content_hash(self) -> str:
        """SHA-256 over names, lengths and bytes of the files; equal artifacts have equal hashes on every machine."""
        digest = hashlib.sha256()
        for name, text in self.texts().items():
            data = encode(text)
            digest.update(f"{name}\0{len(data)}\0".encode())
            digest.update(data)
        return digest.hexdigest()


def from_texts(texts: Mapping[str, bytes], *, weakened: bool = True) -> Artifact:
    """An artifact from file name -> bytes; without the weakening if it is not `weakened`. Raises `ArtifactError`,
    naming the file and its fault."""
    names = {field: name for field, name in FILE_NAMES.items() if weakened or field != "test_weaken"}
    for name in names.values():
        if name not in texts:
            raise ArtifactError(f"{name} is missing", "An artifact is five files: " + ", ".join(FILE_NAMES.values()))
        if len(texts[name]) > MAX_FILE_BYTES:
            raise ArtifactError(f"{name} is {len(texts[name])} bytes; at most {MAX_FILE_BYTES} are taken")
        if (lines := texts[name].count(b"\n")) > MAX_LINES:
            raise ArtifactError(f"{name} has {count(lines, 'line')}; at most {MAX_LINES} are taken")
        if not texts[name].strip():
            raise ArtifactError(f"{name} is empty")
    content: dict[str, str] = {field: decode(texts[name]) for field, name in names.items()}
    files = parse_test_files(content.pop("test_files"))
    return Artifact(
        content["test_script"], files, content["test_parser"], content["bug_inject"], content.get("test_weaken")
    )


def parse_test_files(text: str) -> tuple[str, ...]:
    """The paths of `test_files.txt`. Raises `ArtifactError` for a path that is repeated or leaves the tree."""
    paths = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    seen: set[str] = set()
    for path in paths:
        if path != safe_relative(path):
            raise ArtifactError(
                f"test_files.txt names {path[:200]!r}",
                f"Paths are relative to the repository root, plain, without '..', at most {MAX_PATH} characters and"
                f" {MOST_NAMES} names long.",
            )
        if path in seen:
            raise ArtifactError(f"test_files.txt lists {path!r} more than once")
        seen.add(path)
    return tuple(paths)


def load(folder: Path, *, weakened: bool = True) -> Artifact:
    """Read the files of `folder`; without the weakening if the artifact is not `weakened`. Raises `ArtifactError` for
    files that are missing, unreadable, linked or malformed."""
    texts = {}
    for name in FILE_NAMES.values():
        try:
            texts[name] = read_below(folder, name, MAX_FILE_BYTES)
        except MissingError:
            continue
        except UntrustedDataError as error:
            raise ArtifactError(error.message, error.hint) from error
    try:
        return from_texts(texts, weakened=weakened)
    except ArtifactError as error:
        raise ArtifactError(f"{folder}: {error.message}", error.hint) from error


def save(artifact: Artifact, folder: Path) -> None:
    """Write the files into `folder` (created if missing), each replaced atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in artifact.texts().items():
        write_atomically(folder / name, encode(text))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, none where a link of another user leads. Where one cannot be made, the ones
    above it go again."""
    missing = missing_folders(folder)
    os.close(opened_folder(missing[-1].absolute().parent if missing else folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        for place in missing:
            with contextlib.suppress(OSError):  # of another process meanwhile, or never made
                place.rmdir()
        raise


def write_atomically(path: Path, data: bytes, rights: int = 0o666) -> None:
    """Replace `path` with `data`, so that a reader sees the old or the new file, never a part, even after a kill.
    `rights`: what others may do, at most; the user's mask takes from it. An `OSError` names `path`, not our temporary
    file. Raises `SelfplayError` for a device or a pipe: replaced by a file, `/dev/null` is gone for everyone; and for a
    folder to which a link of another user leads."""
    try:
        _write_atomically(path, data, rights & 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _refuse_device(path: Path, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path.name, dir_fd=folder).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SelfplayError(f"{shortened(path)} is a device or a pipe, not a file", "Give another path.")


def _write_atomically(path: Path, data: bytes, rights: int) -> None:
    temporary = f".{path.name}.{secrets.token_hex(4)}"
    folder = opened_folder(path.parent)
    try:
        _refuse_device(path, folder)
        with os.fdopen(os.open(temporary, NEW_FILE, rights, dir_fd=folder), "wb") as stream:
            try:
                stream.write(data)
                stream.flush()
                os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    finally:
        os.close(folder)
