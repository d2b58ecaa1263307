"""A trajectory file of a stranger: what it may take is counted before it is taken."""

import io
import json
import os
from pathlib import Path

import pytest
import zstandard

from selfplay.agent.trajectory_file import TrajectoryError, load
from selfplay.agent.trajectory_lines import MOST_LINE, MOST_TEXT, json_lines
from selfplay.artifact.reading import UntrustedDataError

HEAD = {"format": 2, "role": "solver", "policy": "p", "finish": "submitted"}
STEP = {"call": {"tool": "bash", "arguments": {}}, "output": "", "exit_code": 0, "seconds": 1.0}


def lines(data: bytes, packed: bool = True) -> list[object]:
    return list(json_lines(io.BytesIO(zstandard.compress(data) if packed else data), "it", packed))


@pytest.mark.parametrize("packed", [True, False])
def test_lines_come_as_objects(packed: bool) -> None:
    long = {"text": "x" * 1_000_000}  # longer than a piece
    data = b"\n".join([json.dumps(long).encode(), b"", b'{"a": 1}'])
    assert lines(data, packed) == [long, {"a": 1}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b" " * (MOST_LINE + 1_000_000), "longer than any"),
        ((b'{"a": "' + b"x" * (MOST_TEXT // 3) + b'"}\n') * 4, "larger than any episode"),
        ((b'{"a": "' + "\U0001f600".encode() + b"x" * (MOST_TEXT // 12) + b'"}\n') * 4, "larger than any episode"),
        (b"{}\n" * 30_000, "larger than any episode"),
        (b"\n" * 30_000, "larger than any episode"),
        (b'{"a": [' + b"[]," * 500_000 + b"0]}", "may hold|larger than"),
        (b"[1]", "line 1 of it is not a JSON object"),
        (b'{"a": 1}\n{"a"', "line 2 of it is not JSON"),
    ],
)
def test_what_is_too_much_or_no_object(data: bytes, said: str) -> None:
    with pytest.raises(UntrustedDataError, match=said):
        lines(data)


@pytest.mark.slow
def test_three_gigabytes_in_a_hundred_kilobytes_are_not_unpacked(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    parts = [packer.compress(b" " * (1 << 20)) for _ in range(3000)]
    (tmp_path / "bomb.jsonl.zst").write_bytes(b"".join([*parts, packer.flush()]))
    with pytest.raises(TrajectoryError, match="longer than any that selfplay writes"):
        load(tmp_path / "bomb.jsonl.zst")


def test_a_frame_may_not_ask_for_a_large_window() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = packer.compress(os.urandom(1 << 20)) + packer.flush()
    with pytest.raises(zstandard.ZstdError):
        list(json_lines(io.BytesIO(data), "it", True))


@pytest.mark.parametrize(
    "written",
    [
        [{**HEAD, "seconds": "long"}],
        [{**HEAD, "policy": ["p"]}],
        [{**HEAD, "finish": "won"}],
        [{**HEAD, "format": True, "submission": 3}],
        [{**HEAD, "record": {"drift": "x"}}],
        [{**HEAD, "record": {"thoughts": [3]}}],
        [{**HEAD, "record": {"usage": {"requests": "many"}}}],
        [{**HEAD, "record": {"conversations": [[{"role": "user", "content": 3, "calls": []}]]}}],
        [{**HEAD, "record": {"conversations": [[[]]]}}],
        [{**HEAD, "record": {"conversations": 3}}],
        [HEAD, {**STEP, "exit_code": "0"}],
        [HEAD, {**STEP, "exit_code": None}],
        [HEAD, {**STEP, "output": {}}],
        [HEAD, {**STEP, "left": {"calls": 1, "seconds": "x"}}],
        [HEAD, {**STEP, "call": {"tool": 3, "arguments": {}}}],
        [HEAD, {**STEP, "call": {"tool": "bash", "arguments": []}}],
        [HEAD, {"ids": [1 << 40], "mask": [1], "logprobs": [0.0], "versions": [0, 0], "role": "solver", "finish": ""}],
        [HEAD, {"ids": [1], "mask": [1, 1], "logprobs": [0.0], "versions": [0, 0], "role": "solver", "finish": ""}],
        [HEAD, {"ids": [1], "mask": [1], "logprobs": [0.0], "versions": ["0", 0], "role": "solver", "finish": ""}],
        [],
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_no_trajectory(tmp_path: Path, written: list[object]) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in written))
    with pytest.raises(TrajectoryError):
        load(path)


def test_undecodable_output_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "bytes.jsonl"
    path.write_text(json.dumps(HEAD) + "\n" + json.dumps({**STEP, "output": "caf\udce9"}) + "\n")
    assert load(path).steps[0].output == "caf\udce9"


def test_a_link_is_the_users_or_none(tmp_path: Path) -> None:
    (tmp_path / "there.jsonl").write_text(json.dumps(HEAD) + "\n")
    (tmp_path / "link.jsonl").symlink_to("there.jsonl")
    assert load(tmp_path / "link.jsonl").policy == "p"
    with pytest.raises(TrajectoryError, match="not a regular file"):
        load(tmp_path / "link.jsonl", linked=False)
