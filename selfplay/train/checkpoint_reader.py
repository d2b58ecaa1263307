"""Reads a checkpoint's files as data.

A run's folder may be a stranger's, and torch's own reader unpickles whatever its `.metadata` says, and each value that
is no tensor: whoever wrote them would run code here. Here a pickle may name torch's own descriptions of tensors, and
nothing else; and a checkpoint's tensors lie in its own files.
"""

import io
import pickle
from collections.abc import Set
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import ReadItem

from selfplay.artifact.reading import MIB, read_below

METADATA = ".metadata"
MOST_METADATA = 256 * MIB
"""Bytes of the description of all tensors, shard by shard."""
_OF_TORCH = "torch.distributed.checkpoint"
KNOWN = frozenset(
    [*((f"{_OF_TORCH}.metadata", name) for name in
       ("Metadata", "TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata", "BytesStorageMetadata",
        "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING")),
     (f"{_OF_TORCH}.filesystem", "_StorageInfo"), ("torch.serialization", "_get_layout"), ("torch", "Size"),
     ("pathlib", "PosixPath"), ("pathlib._local", "PosixPath"), ("collections", "OrderedDict")]
)  # fmt: skip
"""What torch 2.11 to 2.13 writes into `.metadata`, besides data types."""


DESCRIPTIONS = frozenset(
    [Metadata, TensorStorageMetadata, TensorProperties, ChunkStorageMetadata, BytesStorageMetadata, MetadataIndex,
     StorageMeta, _StorageInfo]
)  # fmt: skip
"""What the objects of a description are."""


class DescriptionReader(FileSystemReader):
    """A checkpoint in a folder. `files`: the names that its tensors may lie in."""

    def __init__(self, folder: Path, files: Set[str]) -> None:
        super().__init__(folder)
        self._folder, self._files = folder, files

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Raises `ValueError` for a description that is not torch's, and `UntrustedDataError` for no regular file."""
        found = _Descriptions(io.BytesIO(read_below(self._folder, METADATA, MOST_METADATA))).load()
        if not isinstance(found, Metadata) or not isinstance(found.storage_data, dict):
            raise ValueError(f"{METADATA} describes no checkpoint")
        strange = {str(getattr(one, "relative_path", one)) for one in found.storage_data.values()} - self._files
        if strange:
            raise ValueError(f"{METADATA} names {sorted(strange)[0][:100]!r}, which is no file of the checkpoint")
        return found


class ValuesAsData(DefaultLoadPlanner):
    """Values that are no tensors: numbers, texts, lists and tables of them."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        plain = io.BytesIO()
        torch.save(torch.load(value, weights_only=True), plain)
        plain.seek(0)
        super().load_bytes(read_item, plain)


class _Descriptions(pickle._Unpickler):  # Python's own, whose steps can be looked at
    """Builds torch's descriptions. What a pickle names is this process's own class or function, and a step of pickle
    sets attributes of whatever is on its stack: here of a new description, and of nothing else."""

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def load_build(self) -> None:
        state, built = self.stack[-1], self.stack[-2]
        if type(built) not in DESCRIPTIONS or type(state) is not (tuple if type(built) is TensorProperties else dict):
            raise ValueError(f"{METADATA} changes a {type(built).__name__[:60]}, which is no description")
        super().load_build()  # type: ignore[misc]  # typeshed does not list the steps

    dispatch[pickle.BUILD[0]] = load_build

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in KNOWN:
            return super().find_class(module, name)
        if module == "torch" and isinstance(found := getattr(torch, name, None), torch.dtype):
            return found
        raise ValueError(f"{METADATA} asks for {module[:60]}.{name[:60]}, which describes no tensor")
