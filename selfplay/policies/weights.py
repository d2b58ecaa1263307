"""Tensor names and shapes of a folder of safetensors, read from the headers alone, compared with a model's."""

import sys
from collections.abc import Mapping
from pathlib import Path

from selfplay.agent.model import ModelError
from selfplay.artifact.reading import UntrustedDataError, opened_named
from selfplay.formatting import count
from selfplay.untrusted_json import json_value

MOST_HEAD = 100_000_000
"""Bytes; the format's own limit for a header."""
Shapes = Mapping[str, tuple[int, ...]]


def shapes(folder: Path) -> Shapes:
    """Tensor -> its shape, for every safetensors file in `folder`. Raises `ModelError` for a file that is not
    safetensors."""
    found: dict[str, tuple[int, ...]] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            found |= {name: tuple(tensor["shape"]) for name, tensor in _head(file).items() if name != "__metadata__"}
        except (OSError, UntrustedDataError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{file} is not a safetensors file: {error}", "Was it written to its end?") from error
    return found


def check_same(wanted: Shapes, found: Shapes, where: Path | str) -> None:
    """Raises `ModelError` if the tensors at `where` lack one of `wanted` or have another shape: an engine would load
    what is there and run mixed weights under the new version."""
    for name, shape in wanted.items():
        if name not in found:
            lacking = sum(name not in found for name in wanted)
            raise ModelError(
                f"{where} lacks {lacking} of the model's {count(len(wanted), 'tensor')}, first {name!r}",
                "Save the whole model, as safetensors.",
            )
        if found[name] != shape:
            raise ModelError(f"{where}: {name!r} has shape {found[name]}, the model's has {shape}")


def adapters(folder: Path) -> dict[str, Path]:
    """Role -> the folder of its adapter, in a folder of weights with one per role. Raises `ModelError` if there is
    none."""
    found = {path.parent.name: path for path in sorted(folder.glob("*/adapter"))}
    if not found:
        raise ModelError(
            f"{folder} has no adapters for the roles", "Was it written by `selfplay train roles=separate`?"
        )
    return found


def _head(file: Path) -> dict[str, dict[str, list[int]]]:
    """The header, checked against the size of the file."""
    with opened_named(file, sys.maxsize) as stream:  # only the header is read
        size = int.from_bytes(stream.read(8), "little")
        if not 2 <= size <= MOST_HEAD:
            raise ValueError(f"a header of {size} bytes")
        head: dict[str, dict[str, list[int]]] = json_value(stream.read(size))
    end = max((tensor["data_offsets"][1] for name, tensor in head.items() if name != "__metadata__"), default=0)
    if file.stat().st_size != 8 + size + end:
        raise ValueError(f"{file.stat().st_size} bytes, {8 + size + end} expected")
    return head
