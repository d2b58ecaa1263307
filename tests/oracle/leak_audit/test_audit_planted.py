"""Planted copies of the answer are found, each kind of them."""

import base64
import codecs
import gzip
import html
import io
import json
import pickle
import quopri
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest
from oracle.leak_audit.planted import answer, plant

from selfplay.oracle.leak_audit.audit import audit, audit_task
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world
from selfplay.sandbox import Backend, World

__all__ = ["plant"]


def _zip(data: bytes, name: str = "prices.py") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def _tar(data: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("store-1/prices.py")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def _each(data: bytes, form: str) -> bytes:
    """Each line in this form, with its number."""
    return "\n".join(form.format(*one) for one in enumerate(data.decode().split("\n"), 1)).encode()


def _lines(data: bytes) -> list[str]:
    return data.decode().split("\n")


PLANTED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a rejected hunk's original": ("store/prices.py.orig", lambda data: data),
    "a reject": ("store/prices.py.rej", lambda data: b"-" + data.replace(b"\n", b"\n-")),
    "an editor's backup": ("store/prices.py~", lambda data: data),
    "a swap file": ("store/.prices.py.swp", lambda data: b"b0VIM\0\0" + data),
    "a build folder": ("build/lib/prices_old.txt", lambda data: data),
    "a wheel": ("dist/store-1-py3-none-any.whl", _zip),
    "an egg": ("store.egg", _zip),
    "a source distribution": ("dist/store-1.tar.gz", _tar),
    "a zip in a zip": ("vendor.zip", lambda data: _zip(_zip(data), "inner.zip")),
    "a compressed file": ("prices.gz", gzip.compress),
    "documentation": ("docs/prices.md", lambda data: b"# Prices\n\n" + data),
    "a page with windows' line ends": ("docs/prices.txt", lambda data: data.replace(b"\n", b"\r\n")),
    "a notebook": ("notes.ipynb", lambda data: json.dumps({"source": data.decode()}).encode()),
    "a patch": ("fix.patch", lambda data: b"+" + data.replace(b"\n", b"\n+")),
    "a build folder of code": ("build/lib/store/prices.py", lambda data: data),
    "an older copy": ("store_old/prices.py", lambda data: data),
    "an archive that is not compressed": ("dist/store.tar", lambda data: gzip.decompress(_tar(data))),
    "a numbered listing": ("docs/listing.txt", lambda data: _each(data, "{0:5d}  {1}")),
    "what a search found": ("found.txt", lambda data: _each(data, "store/prices.py:{0}:{1}")),
    "comments": ("old.js", lambda data: _each(data, "// {1}")),
    "a list of lines": ("lines.json", lambda data: json.dumps(data.decode().split("\n")).encode()),
    "UTF-16": ("prices.txt", lambda data: data.decode().encode("utf-16")),
    "old line ends": ("prices.txt", lambda data: data.replace(b"\n", b"\r")),
    "base64 in a source map": ("store.map", lambda data: b'{"url": "data:;base64,' + base64.b64encode(data) + b'"}'),
    "hexadecimal": ("prices.hex", lambda data: data.hex().encode()),
    "a self-extracting archive": ("install.sh", lambda data: b"#!/bin/sh\nexit\n" + _zip(data)),
    "a page with colours": ("page.html", lambda data: _each(data, "<span class='k'>{1}</span>")),
    "a pickled list of lines": ("lines.pkl", lambda data: pickle.dumps(data.decode().split("\n"))),
    "a pickled list of stripped lines": ("lines.p1", lambda data: pickle.dumps([*map(str.strip, _lines(data))], 1)),
    "a pickle that is text": ("lines.p0", lambda data: pickle.dumps([*map(str.strip, _lines(data))], 0)),
    "a printed list of lines after tabs": (
        "tabs.out", lambda data: repr(["\t" + one.strip() for one in _lines(data)]).encode(),
    ),
    "a mail of long lines": ("long.eml", lambda data: quopri.encodestring(data.replace(b"    ", b" " * 60))),
    "a printed list of lines": ("lines.out", lambda data: repr(data.decode().split("\n")).encode()),
    "rot13": ("prices.rot", lambda data: codecs.encode(data.decode(), "rot13").encode()),
    "backwards": ("prices.rev", lambda data: data[::-1]),
    "a mail": ("prices.eml", lambda data: quopri.encodestring(data)),
    "a coverage page": ("cover/prices.html", lambda data: b"<pre>\n" + html.escape(data.decode()).encode()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_copy_is_found(backend: Backend, plant: Callable[[str, bytes], Task], kind: str) -> None:
    path, pack = PLANTED[kind]
    found = audit_task(backend, plant(path, pack(answer())))
    assert not found.clean and all(finding.where.startswith((path, ".git#")) for finding in found.findings), found
    assert all(0 < finding.share <= 1 for finding in found.findings)


@pytest.mark.parametrize("store", ["git init -q --bare", "mkdir -p objects && touch HEAD"], ids=["a store", "no store"])
def test_a_file_beside_git_objects_is_found(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path, store: str
) -> None:
    """Git lists its objects alone, and nothing of a folder it takes for no store."""
    task = plant("mirror/objects/prices.py", answer())
    subprocess.run(store, shell=True, cwd=tmp_path / "tree" / "mirror", check=True)
    hand_made.give(tmp_path / "tree", backend)
    assert any(found.where == "mirror/objects/prices.py" for found in audit_task(backend, task).findings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "leak",
    [
        "git hash-object -w --stdin",
        "git hash-object -w --stdin && git repack -adq",
        "cat > x && git add x && git stash -q || git -c user.name=a -c user.email=a@b stash -q",
        "cat > .git/hooks-old",
        "cat > ~/notes.txt",
        "cat > /tmp/prices.py",
    ],
)
def test_what_lies_in_git_or_outside_the_tree_is_found(backend: Backend, worlds: dict[str, World], leak: str) -> None:
    with open_world(backend, Task(worlds["python"], hand_made.artifact("python"))) as world:
        world.sandbox.run(leak, timeout=20, stdin=answer())
        assert not audit(world).clean
