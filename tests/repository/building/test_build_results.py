"""What is kept of what a build leaves: new files beside the tracked ones, byte-code of sources, versions, and a report
of known types. Real attacks are in `test_hostile_builds.py`; here is what a forged stream or report may hold."""

import io
import json
from pathlib import Path

import pytest
from stream_frames import ENDED, file, folder, link

from selfplay.repository import BuildFailed
from selfplay.repository.building import checking
from selfplay.repository.building.bytecode import beside_sources, locked
from selfplay.repository.building.checking import BuildReport, notes_on, only_new, read_report
from selfplay.repository.errors import TooLarge
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.files.unpack import StreamBounds, unpack
from selfplay.sandbox import MIB

BOUNDS = StreamBounds(bytes=MIB, entries=1000)
REPORT = {"changed": ["a"], "removed": [], "strays": ["b"], "listing": "/tmp/x"}


def test_new_files_never_replace_hide_or_lie_in_tracked_ones(tmp_path: Path) -> None:
    tracked = {"kept": "1", "folder/inside": "2", "ünï": "3"}
    (tmp_path / "kept").write_text("tracked")
    names = (b"kept", b"folder", b"kept/new", b"folder/inside/new", "ünï".encode())
    names += (b".git/config", b"sub/.GIT/x", b"a/__pycache__/x.pyc", b"line\nend")
    hostile = b"".join(file(name, b"forged", executable=1) for name in names)
    kept: list[str] = []
    good = file(b"folder/new", b"new") + link(b"link", b"kept") + folder(b"empty")
    unpack(io.BytesIO(hostile + good + ENDED), tmp_path, BOUNDS, where=only_new(tracked, kept))
    assert kept == ["folder/new"]
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {"kept", "folder", "folder/new"}
    assert (tmp_path / "kept").read_text() == "tracked"


def test_names_of_new_files_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """120,000 empty files with long names made 1.3 GiB of JSON, which each use of the environment read."""
    monkeypatch.setattr(checking, "MOST_NAMES", 1000)
    names = [b"%03d" % number + b"n" * 97 for number in range(11)]
    with pytest.raises(TooLarge, match="new files whose names take more than"):
        unpack(io.BytesIO(b"".join(file(name, b"") for name in names)), tmp_path, BOUNDS, where=only_new({}, []))


def test_byte_code_of_sources_only(tmp_path: Path) -> None:
    sources, layer = tmp_path / "sources", tmp_path / "layer"
    for path in ("a/mod.py", "a/two.parts.py", "outside/real.py"):
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).touch()
    (sources / "led").symlink_to(sources / "outside")
    (sources / "linked.py").symlink_to("a/mod.py")
    layer.mkdir()
    names = ("a/mod.cpython-311.pyc", "a/mod.cpython-311-pytest-9.0.pyc", "a/two.parts.cpython-311.opt-1.pyc")
    others = ("a/none.cpython-311.pyc", "led/real.cpython-311.pyc", "linked.cpython-311.pyc", "a/mod.py", "mod.x.pyc",
              "a/__pycache__/mod.cpython-311.pyc", "a/.pyc", "a/mod.so")  # fmt: skip
    data = b"".join(file(name.encode(), b"x") for name in (*names, *others)) + link(b"a/mod.l.pyc", b"mod.py")
    with Beneath(sources) as opened:
        unpack(io.BytesIO(data + ENDED), layer, BOUNDS, where=beside_sources(opened))
    found = {str(path.relative_to(layer)) for path in layer.rglob("*") if path.is_file() or path.is_symlink()}
    assert found == {name.replace("a/", "a/__pycache__/") for name in names}


def test_a_report_of_ours() -> None:
    report = read_report(b"a warning of the project\n" + json.dumps(REPORT).encode() + b"\n")
    assert report == BuildReport(("a",), (), ("b",), "/tmp/x")
    assert len(notes_on(report)) == 2


@pytest.mark.parametrize(
    "change",
    [
        *({"changed": "abc"}, {"changed": [1]}, {"changed": {"a": 1}}, {"strays": None}, {"listing": ["/tmp/x"]}),
        *({"listing": "/etc/passwd"}, {"listing": "/tmp/\0"}, {"more": 1}, {"removed": ["x" * 5000]}, {"listing": 1}),
    ],
)
def test_a_report_of_other_types(change: dict[str, object]) -> None:
    with pytest.raises(BuildFailed, match="does not run our programs as they are"):
        read_report(json.dumps(REPORT | change).encode())


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"[" * 200_000, b"9" * 10_000, b"\xff\xfe", b'"x"', b"NaN"]
)
def test_a_report_that_is_none(data: bytes) -> None:
    with pytest.raises(BuildFailed, match="does not run our programs as they are"):
        read_report(data)


def test_notes_cannot_control_a_terminal() -> None:
    (note,) = notes_on(BuildReport(("\x1b[2Jx" * 100,), (), (), "/tmp/x"))
    assert note.isprintable() and len(note) < 400


def test_only_versions_are_locked() -> None:
    listing = """a==1.0
b-c.d==2.0.post1+local
-e file:///testbed
evil @ https://example.org/evil.whl
evil==1.0 @ https://example.org
evil==https://example.org/x
e==1.0 ; python_version > "3"
../x==1.0
g==not a version
"""
    assert locked(listing) == ["a==1.0", "b-c.d==2.0.post1+local"]


def test_one_budget_for_all_that_is_left(tmp_path: Path) -> None:
    bounds = StreamBounds(bytes=100 * 4096, entries=20)
    first = unpack(io.BytesIO(file(b"a", b"x" * (60 * 4096)) + ENDED), tmp_path, bounds)
    left = bounds.less(first)
    assert (left.bytes, left.entries) == (40 * 4096, 19)
    with pytest.raises(TooLarge, match="more than 0 MiB"):
        unpack(io.BytesIO(file(b"b", b"x" * (60 * 4096)) + ENDED), tmp_path, left)
