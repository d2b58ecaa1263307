"""What a stranger's source gets: an error of one line, or to be read; never the host's files, its disk or its time.

`python tests/repository/test_hostile_sources.py` (from the project's folder) prints the table of docs/abuse.md.
"""

import functools
import gzip
import hashlib
import http.server
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import hostile_folders
import hostile_neighbours
import hostile_repositories
import hostile_trees
from hostile_sources import CASES, Case, first_line, honest, leaked, other_repository
from table_rows import rows

from selfplay.errors import SelfplayError
from selfplay.repository.fetching import pypi, quarantine
from selfplay.repository.fetching.fetch import reading
from selfplay.repository.fetching.source import parse_source
from selfplay.repository.network import indexes
from selfplay.sandbox import Backend, open_backend
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.owners import remove

ALL = (hostile_trees, hostile_repositories, hostile_folders, hostile_neighbours)
"""Importing them fills `CASES`."""
LOADED = (gzip, pypi)
"""Imported before a process becomes another user, who may not be able to read them."""
SOMEBODY = 61_234
LONGEST = 25.0
"""Seconds: the slowest case is given up after 15, and the machine is shared."""
ESCAPED = ("ran", "escaped")
SAMPLE = CASES[::9]
LARGE = ("archive: a header of 1.5 GB", "git bomb: 10^6 files")
"""Of the sample: they take seconds."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def place() -> Iterator[Path]:
    """An empty folder that every user may use."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-", dir="/tmp"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        assert remove(folder), "what a case left can be deleted"


@contextmanager
def index(folder: Path) -> Iterator[None]:
    """Serve the archive in `folder` as the only release of `demo`."""
    archive = next(folder.glob("demo-1.0.*"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    page = folder / "simple" / "demo" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<!DOCTYPE html><html><body><a href="/{archive.name}#sha256={digest}">{archive.name}</a>')
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = os.environ.get("UV_DEFAULT_INDEX")
    os.environ["UV_DEFAULT_INDEX"] = f"http://127.0.0.1:{server.server_port}/simple"
    try:
        yield
    finally:
        os.environ.pop("UV_DEFAULT_INDEX")
        os.environ |= {"UV_DEFAULT_INDEX": before} if before else {}
        server.shutdown()
        server.server_close()


def read(source: str, folder: Path, backend: Backend) -> str:
    """Read a source and take its layers out into `folder`; what a user would be told."""
    folder.mkdir(mode=0o755)
    try:
        with reading(
            parse_source(source), backend=backend, work=folder, downloads=folder / "downloads", releases=0,
            progress=lambda line: None,
        ) as (found, inside):  # fmt: skip
            inside.tree(folder / "tree")
            inside.history(found.commit, folder / "history")
    except SelfplayError as error:
        return str(error)
    return "read" + "".join(f"; {note}" for note in found.notes)


def play(one: Case, folder: Path, backend: Backend) -> dict[str, object]:
    """What happened to one source, and to an honest one after it."""
    source, other = folder / "source", other_repository(folder / "other")
    source.mkdir()
    made = one.make(source, other) or source
    names = {path.name for path in Path("/tmp").iterdir()}
    started, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if one.archive:
        with index(source):
            told = read("pypi:demo", folder / "taken", backend)
    else:
        told = read(str(made), folder / "taken", backend)
    seconds = time.monotonic() - started
    after = read(str(honest_beside(folder)), folder / "again", backend)
    return {
        "told": told, "seconds": seconds, "after": after, "leaked": list(leaked(folder / "taken")),
        "mebibytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) / 1024,
        "left": [path.name for path in Path("/tmp").iterdir() if path.name not in names and path.name in ESCAPED],
    }  # fmt: skip


def honest_beside(folder: Path) -> Path:
    (folder / "honest").mkdir()
    return honest(folder / "honest")


def as_somebody(action: Callable[[], dict[str, object]], home: Path) -> dict[str, object]:
    """The result of `action` in a process of an ordinary user."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # no exception of this child may reach pytest
        try:
            os.close(reader)
            os.setgroups([])
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)
            os.environ |= {"HOME": str(home), "TMPDIR": str(home)}
            tempfile.tempdir = None
            indexes._pip_files = dict  # asks an interpreter that may lie in root's home
            os.write(writer, json.dumps(action()).encode())
        except BaseException as error:
            os.write(writer, json.dumps({"crash": repr(error)}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return dict(json.loads(said))


def outcome(one: Case, who: str) -> dict[str, object]:
    """Play a case on the backend and as the user that `who` names."""
    with place() as folder:
        if who == "bubblewrap, ordinary user" and os.geteuid() == 0:
            home = folder / "somebody"
            home.mkdir()
            os.chown(home, SOMEBODY, SOMEBODY)
            return as_somebody(lambda: play(one, home, BubblewrapBackend()), home)
        return play(one, folder, open_backend(who.split(",")[0]))


def check(one: Case, happened: dict[str, object]) -> None:
    assert "crash" not in happened, happened
    told = str(happened["told"])
    if one.says:
        assert re.search(one.says, told.partition("\n")[0]), told
    else:
        assert told.startswith("read"), told
    assert happened["after"] == "read", "an honest source is read as before"
    assert happened["leaked"] == [] and happened["left"] == []
    assert float(str(happened["seconds"])) < LONGEST
    assert float(str(happened["mebibytes"])) < 300


@pytest.mark.parametrize(
    "one", [pytest.param(one, marks=[pytest.mark.slow] * (one.name in LARGE), id=one.name) for one in SAMPLE]
)
def test_a_sample_of_hostile_sources(one: Case) -> None:
    check(one, outcome(one, "bubblewrap"))


@pytest.mark.attacks
@pytest.mark.parametrize("one", [case for case in CASES if case not in SAMPLE], ids=lambda one: one.name)
def test_hostile_sources(one: Case) -> None:
    check(one, outcome(one, "bubblewrap"))


@pytest.mark.long
@pytest.mark.docker
@pytest.mark.parametrize("one", rows(CASES), ids=lambda one: one.name)
def test_hostile_sources_under_docker(one: Case) -> None:
    check(one, outcome(one, "docker"))


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("one", rows(CASES), ids=lambda one: one.name)
def test_hostile_sources_as_an_ordinary_user(one: Case) -> None:
    check(one, outcome(one, "bubblewrap, ordinary user"))


@pytest.mark.long
def test_a_bomb_needs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same error where the sandbox has 300 MB for everything."""
    monkeypatch.setattr(quarantine, "LIMITS", replace(quarantine.LIMITS, memory_bytes=300 << 20))
    bomb = next(case for case in CASES if "10^6" in case.name)
    check(bomb, outcome(bomb, "bubblewrap"))


def main() -> None:
    """Print the table."""
    users = ["bubblewrap", *(["bubblewrap, ordinary user", "docker"] if os.geteuid() == 0 else [])]
    print("| source | where | what happened | s |\n|---|---|---|---|")
    for one in CASES:
        for who in users if shutil.which("dockerd") else users[:2]:
            happened = outcome(one, who)
            told = first_line(str(happened.get("told", happened)))
            print(f"| {one.name} | {who} | {told} | {float(str(happened.get('seconds', 0))):.1f} |", flush=True)


if __name__ == "__main__":
    main()
