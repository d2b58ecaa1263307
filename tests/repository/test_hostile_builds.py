"""Strangers' builds that attack: nothing escapes, nothing beyond the limits is left, and the cache stays usable.

With SELFPLAY_ABUSE_TABLE=FILE, each attack adds a line of JSON there: name, what, backend, user, how it ended.
"""

import json
import os
import re
import stat
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import stub_index
from hostile_builds import Attack
from hostile_environments import ATTACKS
from ordinary_user import ORDINARY_ID, by_root, place_of, run_as
from repository_fixtures import write
from table_rows import rows

from selfplay.repository import BuildFailed, Prepared, prepare
from selfplay.repository.building import build, environment
from selfplay.sandbox import MIB, Backend, Limits, open_backend

LIMITS = Limits(memory_bytes=1024 * MIB, disk_bytes=128 * MIB, processes=128, output_bytes=MIB)
"""A real build's are larger; the attacks are the same, and take less time."""
TRACKED = dict.fromkeys(("kept", "linked", "other", "piped", "gone", "folder/inside"), "tracked\n")
MARK = "a secret of the host"
LIBRARY = Path("/usr/lib/python3/dist-packages")


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def each_backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


@pytest.fixture(scope="module", autouse=True)
def small_builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Small limits, and an index of stubs."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (build, environment):
            patch.setattr(module, "BUILD_LIMITS", LIMITS)
        patch.setenv("UV_DEFAULT_INDEX", stub_index.make(tmp_path_factory.mktemp("index")))
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all attacks."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that only this user may read, with a source and its byte-code."""
    folder = tmp_path_factory.mktemp("secret")
    (folder / "__pycache__").mkdir()
    for name in ("secret.py", "__pycache__/secret.cpython-311.pyc", "secret.cpython-311.pyc"):
        (folder / name).write_text(MARK)
    folder.chmod(0o700)
    return folder


@pytest.mark.parametrize("attack", rows(ATTACKS), ids=lambda attack: attack.name)
def test_an_attack_harms_nothing(
    attack: Attack, each_backend: Backend, cache: Path, secret: Path, tmp_path: Path
) -> None:
    token = f"9{os.getpid()}{abs(hash(attack.name)) % 10**6}"
    files = {
        name: text.replace("SECRET", str(secret)).replace("TOKEN", token)
        for name, text in (TRACKED | attack.files).items()
    }
    project = write(tmp_path / "project", files)
    before = around(secret)
    prepared, ended = None, "prepared"
    try:
        prepared = prepare(str(project), backend=each_backend, cache=cache, setup=attack.setup)
    except BuildFailed as error:
        ended = str(error)
    noted(attack, each_backend, ended)
    if attack.ends and not (attack.or_well and prepared):
        assert prepared is None and re.search(attack.ends, ended), ended
    else:
        assert prepared is not None or (attack.or_well and re.search(attack.ends, ended)), ended
    if prepared is not None:
        assert_as_tracked(prepared, files)
        assert_plain(prepared.tree.parent, each_backend)
        assert_byte_code_has_sources(prepared)
    assert around(secret) == before
    assert leftovers(cache) == []
    assert processes_with(token) == []
    assert size_of(cache / "logs") < 20 * MIB


@pytest.mark.long
def test_the_cache_is_usable_after_all_of_them(
    each_backend: Backend, cache: Path, secret: Path, tmp_path: Path
) -> None:
    test = f"def test(): pass  # {each_backend.name}\n"
    files = {"tool.py": "VALUE = 1\n", "test_tool.py": test, "conftest.py": ""}
    prepared = prepare(str(write(tmp_path / "project", files)), backend=each_backend, cache=cache)
    with each_backend.open(prepared.world(history=True)) as sandbox:
        done = sandbox.run(
            "git status --short; python -c 'import tool; print(tool.VALUE, tool.__cached__)'", timeout=60
        )
    assert done.stdout.startswith(b"1 /testbed/__pycache__/tool.cpython-3"), done
    for path in plain_files(cache):
        assert MARK.encode() not in path.read_bytes(), path


@pytest.mark.attacks
@pytest.mark.timeout(1200)
@by_root
def test_an_ordinary_user_is_as_safe() -> None:
    """The attacks on bubblewrap, by a user who is not root and has no control group."""
    root, packages = Path(__file__).parents[2], Path(sysconfig.get_path("purelib"))
    kept = {name: os.environ[name] for name in ("SELFPLAY_ABUSE_TABLE",) if name in os.environ}
    asked = ["-k", "bubblewrap and not ordinary", "-o", "addopts=--import-mode=importlib", __file__]  # else too quiet
    with place_of(ORDINARY_ID) as place:
        done = run_as(ORDINARY_ID, place, asked, path=(root, packages), cwd=root, timeout=1100, env=kept)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert f"{len(ATTACKS) + 1} passed" in done.stdout, done.stdout


def around(secret: Path) -> list[tuple[str, int, int]]:
    """What must not change: the secret folder, and the machine's own library."""
    places = [secret, *secret.rglob("*"), *(LIBRARY.rglob("__pycache__/*") if LIBRARY.is_dir() else ())]
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_mode) for path in places)


def assert_as_tracked(prepared: Prepared, files: dict[str, str]) -> None:
    """Every tracked file is a regular file with its content: `tree_hash` holds."""
    for name, text in files.items():
        path = prepared.tree / name
        assert stat.S_ISREG(path.lstat().st_mode) and path.read_text() == text, name
    assert not [path for path in prepared.tree.rglob("*") if path.name.lower() == ".git"]


def assert_plain(folder: Path, backend: Backend) -> None:
    """Regular files, folders and links; our modes and owners; no link out but to places that sandboxes have."""
    owners = {os.geteuid(), backend.owner()[0]}
    places = (*environment.SHOWN, "/env", "/tools", "/testbed")
    for path in folder.rglob("*"):
        status = path.lstat()
        assert status.st_uid in owners, path
        if stat.S_ISLNK(status.st_mode):
            target = os.path.normpath(path.parent / path.readlink())
            assert target.startswith((f"{folder}/", *(f"{place}/" for place in places))), f"{path} -> {target}"
            continue
        assert stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode), path
        assert not status.st_mode & 0o7022, f"{path} has the mode {status.st_mode:o}"


def assert_byte_code_has_sources(prepared: Prepared) -> None:
    if prepared.bytecode is None:
        return
    for path in plain_files(prepared.bytecode):
        place = path.parent.parent.relative_to(prepared.bytecode)
        assert path.parent.name == "__pycache__" and path.suffix == ".pyc", path
        assert (prepared.tree / place / f"{path.name.split('.')[0]}.py").is_file(), path


def plain_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())


def leftovers(cache: Path) -> list[Path]:
    """Folders of unfinished work."""
    return [*(cache / "environments").glob(".*"), *(cache / "work").iterdir()]


def processes_with(token: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in path.read_bytes():
                found.append(str(path))
        except OSError:  # it ended
            continue
    return found


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def noted(attack: Attack, backend: Backend, ended: str) -> None:
    """Add a line to the table, where one is asked for."""
    if table := os.environ.get("SELFPLAY_ABUSE_TABLE"):
        user = "root" if os.geteuid() == 0 else "ordinary"
        line = {
            "name": attack.name,
            "what": attack.what,
            "backend": backend.name,
            "user": user,
            "ended": ended.split("\n")[0],
        }
        with Path(table).open("a") as stream:
            stream.write(json.dumps(line) + "\n")


def test_every_attack_has_a_name_of_its_own() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) >= 25
