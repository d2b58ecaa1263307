"""Git data that holds a file, in every shape in which it may lie in a tree."""

import base64
import io
import os
import random
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from benchmarks.planting.answer import Answer, Files, Mechanism
from selfplay.plain_text import encode

_ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": "946684800 +0000",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": "946684800 +0000",
}  # fmt: skip


def git(folder: str, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, env=_ENV, timeout=60, check=True).stdout


def repository(folder: str, path: str, content: bytes, chance: random.Random) -> None:
    """A repository with this file, and a later commit without it."""
    git(folder, "init", "-q", "--template=", "-b", "main", ".")
    git(folder, "config", "core.compression", str(chance.choice([-1, 1, 5, 9])))
    file = Path(folder, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "the file")
    file.write_bytes(b"nothing\n")
    git(folder, "commit", "-qam", "no file")


def collected(folder: Path, below: str, flat: bool = False) -> Files:
    """The files of a folder, as files to plant."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {f"{below}/{file.name if flat else file.relative_to(folder)}": file.read_bytes() for file in files}


Make = Callable[[str, random.Random], Files]


def in_repository(make: Make) -> Mechanism:
    """A mechanism made of what a repository with the file holds."""

    def plant(answer: Answer, chance: random.Random) -> Files:
        with tempfile.TemporaryDirectory() as folder:
            repository(folder, answer.path, encode(answer.before), chance)
            return make(folder, chance)

    return plant


def bundle(folder: str, chance: random.Random) -> Files:
    git(folder, "bundle", "create", "-q", "x", "--all")
    name = chance.choice(["x.bundle", "data/history.bin", "notes.txt"])
    return {name: Path(folder, "x").read_bytes()}


def coded_bundle(folder: str, chance: random.Random) -> Files:
    data = next(iter(bundle(folder, chance).values()))
    return {"mail/bundle.txt": b"A bundle:\n\n" + base64.encodebytes(data)}


def pack(folder: str, chance: random.Random) -> Files:
    git(folder, "repack", "-adq")
    (found,) = Path(folder, ".git/objects/pack").glob("*.pack")
    with_index = chance.random() < 0.5
    index = {"fixtures/pack-1.idx": found.with_suffix(".idx").read_bytes()} if with_index else {}
    return {"fixtures/pack-1.pack": found.read_bytes(), **index}


def loose(folder: str, chance: random.Random) -> Files:
    return collected(Path(folder, ".git/objects"), chance.choice(["objects", "spare/ab"]), flat=chance.random() < 0.5)


def bare(folder: str, _: random.Random) -> Files:
    return collected(Path(folder, ".git"), "mirror.git")


def nested(folder: str, chance: random.Random) -> Files:
    return collected(Path(folder, ".git"), f"vendor/x/{chance.choice(['.git', '.GIT'])}")


def zipped(folder: str, chance: random.Random) -> Files:
    stream, below = io.BytesIO(), chance.choice(["x/.git", "git-dir"])
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in collected(Path(folder, ".git"), below).items():
            archive.writestr(name, data)
    return {"backup.zip": stream.getvalue()}


def tarred(folder: str, chance: random.Random) -> Files:
    stream, mode = io.BytesIO(), cast(Any, chance.choice(["w:gz", "w:xz"]))
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        archive.add(Path(folder, ".git"), "x/.git")
    return {"backup.tgz": stream.getvalue()}


def exported(folder: str, _: random.Random) -> Files:
    return {"history.export": git(folder, "fast-export", "--all")}


HISTORY: dict[str, Mechanism] = {
    "a bundle": in_repository(bundle),
    "a bundle in base64": in_repository(coded_bundle),
    "a lone pack": in_repository(pack),
    "objects without HEAD": in_repository(loose),
    "a bare repository": in_repository(bare),
    "a nested repository": in_repository(nested),
    "a zipped repository": in_repository(zipped),
    "a repository in a tar": in_repository(tarred),
    "an exported history": in_repository(exported),
}
