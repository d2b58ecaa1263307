"""The record of what probes see: only what its recorder wrote, in its order, counts."""

import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.oracle.behaviour.recording import Recording, drawn_names
from selfplay.oracle.behaviour.signed import BrokenRecord, read_signed

WRITER = """
import {module} as r
r.selfplay_begin("test_a"); r.selfplay_saw([1, "two"]); r.selfplay_raised(KeyError("x"))
r.selfplay_begin("test_b"); r.selfplay_saw(None)
"""


def writer(recording: Recording) -> str:
    """A program that records, by the names of this run."""
    text = WRITER.format(module="m1")
    for old, new in recording.names.items():
        text = text.replace(old, new)
    return text


def written(folder: Path, before: str = "", key: str = "k" * 64) -> tuple[bytes, Recording]:
    """The record of a program that has replaced what it could, before it records."""
    recording = Recording(drawn_names(()), key=key, file=str(folder / "record"))
    (folder / "m1.py").write_text(recording.source())
    program = f"import m1\n{before}\n{writer(recording)}"
    subprocess.run([sys.executable, "-c", program], cwd=folder, input=key.encode(), check=True)
    return (folder / "record").read_bytes(), recording


EXPECTED = {
    "test_a": {"test_a/1/0": '["list", ["int", "1"], "two", "2"]', "test_a/1/1": '["raised", "KeyError"]'},
    "test_b": {"test_b/1/0": "null"},
}
REPLACED = """
import builtins, hashlib, hmac, json, os
json.dumps = lambda *_: '"answer"'
json.encoder.c_encode_basestring_ascii = lambda *_: '"answer"'
hashlib.sha256 = os.write = None
builtins.str = builtins.repr = builtins.sorted = lambda *_: "answer"
"""


@pytest.mark.parametrize("before", ["", REPLACED], ids=["left alone", "modules and built-ins replaced"])
def test_what_is_recorded_is_what_was_seen(tmp_path: Path, before: str) -> None:
    data, recording = written(tmp_path, before)
    assert recording.read({recording.file: data}) == EXPECTED


def test_a_record_that_another_changed_is_broken(tmp_path: Path) -> None:
    data, recording = written(tmp_path)
    lines = data.splitlines(keepends=True)
    for changed in (
        data.replace(b"two", b"six"),
        lines[1] + lines[0] + lines[2],
        lines[0] + lines[2],
        lines[1] + lines[2],
        data + lines[0],
        data + b'["test_a/1/0", "x"]\n',
    ):
        assert recording.read({recording.file: changed}) is None
        with pytest.raises(BrokenRecord, match="line"):
            read_signed(changed, recording.key)
    with pytest.raises(BrokenRecord):
        read_signed(data, "other")


def test_without_a_key_nothing_is_recorded(tmp_path: Path) -> None:
    recording = Recording(drawn_names(()), file=str(tmp_path / "record"))
    (tmp_path / "m1.py").write_text(recording.source())
    subprocess.run([sys.executable, "-c", writer(recording)], cwd=tmp_path, input=b"", check=True)
    assert not (tmp_path / "record").exists()
