"""A cache on a disk that is full, read-only or oddly named: the error names the folder and says what to do.

Each program runs in a mount namespace of its own, made by the bwrap that sandboxes are made of, with a real small disk
where the cache lies: it works for root and for an ordinary user, wherever sandboxes do.
"""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from repository_fixtures import git, write

from selfplay.repository.cache import check_cache
from selfplay.repository.disk import cache_error, raise_mentioned
from selfplay.repository.errors import CacheError
from selfplay.sandbox.programs import find_bwrap

ROOT = Path(__file__).parents[2]
FULL = "No space left on device"
PREPARE = """
import sys
from pathlib import Path
from selfplay.errors import SelfplayError
from selfplay.repository import prepare
from selfplay.sandbox import open_backend
cache, source, setup = Path(sys.argv[1]), sys.argv[2], sys.argv[3] or None
try:
    prepare(source, backend=open_backend(), cache=cache, setup=setup)
except SelfplayError as error:
    print(type(error).__name__, error)
"""
INDEX = """
import functools, http.server, os, threading
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_): pass  # a download that ends early is what the test is about
server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=sys.argv[4]))
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["UV_DEFAULT_INDEX"] = f"http://127.0.0.1:{server.server_port}/simple"
"""


def test_what_a_remote_says_is_not_said_of_the_disk(tmp_path: Path) -> None:
    """Its words stand in git's output."""
    raise_mentioned(f"fatal: remote error: {FULL}", tmp_path)
    with pytest.raises(OSError, match=FULL):
        raise_mentioned(FULL, tmp_path / "gone")


def on_a_disk(options: list[str], script: str, *arguments: object) -> str:
    """What a script prints in a namespace whose mounts `options` change."""
    mine = ["--cap-add", "ALL"] if os.geteuid() == 0 else []
    command = [
        find_bwrap(),
        *mine,
        "--dev-bind",
        "/",
        "/",
        *options,
        sys.executable,
        "-c",
        script,
        *map(str, arguments),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    return done.stdout


def small(cache: Path, size: int) -> list[str]:
    cache.mkdir()
    return ["--size", str(size), "--tmpfs", str(cache)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with 3 MB that cannot be compressed."""
    folder = write(tmp_path / "project", {"a.py": "x = 1\n", "test_a.py": "def test_a():\n    pass\n"})
    (folder / "data.bin").write_bytes(os.urandom(3 << 20))
    return folder


@pytest.mark.slow
def test_a_plain_folder_larger_than_the_cache(project: Path, tmp_path: Path) -> None:
    """Its files cannot be copied, which must not read as "special or unreadable files were left out"."""
    cache = tmp_path / "cache"
    said = on_a_disk(small(cache, 1 << 20), PREPARE, cache, project, "")
    assert said.startswith(f"CacheError {cache}/") and FULL in said and "set SELFPLAY_CACHE to another disk" in said


@pytest.mark.slow
def test_a_repository_larger_than_the_cache(project: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "all")
    for source in (project, project.as_uri()):
        said = on_a_disk(small(cache, 1 << 20), PREPARE, cache, source, "")
        assert said.startswith(f"CacheError {cache}/") and FULL in said and "access" not in said
        cache.rmdir()


@pytest.mark.slow
def test_a_download_larger_than_the_cache(tmp_path: Path) -> None:
    cache, index, name = tmp_path / "cache", tmp_path / "index", "demo-1.0.tar.gz"
    page = f'<!DOCTYPE html><html><body><a href="/{name}#sha256={"0" * 64}">{name}</a>'
    write(index, {"simple/demo/index.html": page})
    (index / name).write_bytes(os.urandom(3 << 20))
    said = on_a_disk(small(cache, 1 << 20), INDEX.join(["import sys", PREPARE]), cache, "pypi:demo", "", index)
    assert said.startswith("CacheError ") and str(cache) in said and FULL in said and "network" not in said


@pytest.mark.long
def test_an_environment_larger_than_the_cache(project: Path, tmp_path: Path) -> None:
    (project / "data.bin").unlink()
    cache = tmp_path / "cache"
    said = on_a_disk(small(cache, 24 << 20), PREPARE, cache, project, "dd if=/dev/zero of=/env/fill bs=1M count=64")
    assert said.startswith(f"CacheError {cache}/environments/") and FULL in said and "Free some space there" in said


def test_a_read_only_cache(project: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    said = on_a_disk(["--ro-bind", str(cache), str(cache)], PREPARE, cache, project, "")
    assert said == (
        f"CacheError the cache folder {cache} cannot be used: Read-only file system\n"
        "  Set SELFPLAY_CACHE to a folder you can write to.\n"
    )


def test_a_cache_with_a_name_too_long(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="File name too long") as caught:
        check_cache(tmp_path / ("a" * 850))
    assert caught.value.hint == "Set SELFPLAY_CACHE to a folder with a shorter name."
    assert len(caught.value.message) < 400


def test_other_failures_are_left_alone(tmp_path: Path) -> None:
    assert cache_error(ConnectionResetError(104, "Connection reset by peer"), tmp_path) is None
    elsewhere = cache_error(PermissionError(13, "Permission denied", "/elsewhere/file"), tmp_path)
    assert elsewhere is not None and "SELFPLAY_CACHE" not in elsewhere.hint


def test_that_a_file_is_too_large_is_this_machine_s_doing_where_it_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that said so was booked as the disk's fault, and a file of that name as too little room."""
    said = f"fatal: remote error: {os.strerror(errno.EFBIG)}"
    raise_mentioned(said, tmp_path)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    with pytest.raises(OSError, match="File too large"):
        raise_mentioned(said, tmp_path)
