"""Weights are compared by the heads of their files, written here by hand as the format says."""

import json
from pathlib import Path

import pytest

from selfplay.agent.model import ModelError
from selfplay.policies.weights import check_same, shapes


def write(file: Path, tensors: dict[str, list[int]], cut: int = 0) -> None:
    """A file of zeros: eight bytes with the head's length, the head, four bytes a number."""
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors.items():
        size = 4 * shape[0] * shape[1]
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(head).encode()
    file.write_bytes((len(text).to_bytes(8, "little") + text + bytes(at))[: -cut or None])


def test_all_files_of_a_folder_count(tmp_path: Path) -> None:
    write(tmp_path / "model-1.safetensors", {"a": [2, 3]})
    write(tmp_path / "model-2.safetensors", {"b": [1, 4], "c": [5, 1]})
    assert shapes(tmp_path) == {"a": (2, 3), "b": (1, 4), "c": (5, 1)}
    check_same({"a": (2, 3), "c": (5, 1)}, shapes(tmp_path), tmp_path)  # more is no harm: a head that is tied elsewhere


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({"a": [2, 3]}, "lacks 1 of the model's 2 tensors, first 'b'"),
        ({}, "lacks 2 of the model's 2 tensors, first 'a'"),
        ({"a": [2, 3], "b": [4, 1]}, r"'b' has shape \(4, 1\), the model's has \(1, 4\)"),
    ],
)
def test_a_part_of_a_model_is_refused(tmp_path: Path, tensors: dict[str, list[int]], says: str) -> None:
    write(tmp_path / "model.safetensors", tensors)
    with pytest.raises(ModelError, match=says):
        check_same({"a": (2, 3), "b": (1, 4)}, shapes(tmp_path), tmp_path)


def test_a_file_that_was_not_written_to_its_end_is_named(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"a": [2, 3]}, cut=1)
    with pytest.raises(ModelError, match=r"model\.safetensors is not a safetensors file: \d+ bytes, \d+ expected"):
        shapes(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\x05\0\0\0\0\0\0\0[1,2]", b"\x02\0\0\0\0\0\0\0{}x", b"\xff" * 20])
def test_other_files_are_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(ModelError, match="not a safetensors file"):
        shapes(tmp_path)
