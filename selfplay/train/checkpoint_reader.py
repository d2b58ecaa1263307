"""Reads a checkpoint's files as data.

A run's folder may be a stranger's, and torch's own reader unpickles whatever its `.metadata` says, and each value that
is no tensor: whoever wrote them would run code here. Here a pickle may name torch's own descriptions of tensors, and
nothing else; and a checkpoint's tensors lie in its own files.
"""

import io
import pickle
import zipfile
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import IO, Any, ClassVar

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
MOST_METADATA = 32 * MIB
"""Bytes of the description of all tensors, shard by shard; `commands` allows less in a run that somebody shared."""
MOST_VALUE = 16 * MIB
"""Bytes of a value that is no tensor."""
WIDEST, FRAME = 4, 64 * 1024
"""How much wider a tensor's type may be in the checkpoint (64 bits for 16), and the bytes around it."""
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


OTHERS = frozenset(
    one[0] for one in (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.NEWOBJ_EX, pickle.INST, pickle.OBJ,
                       pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.BINPERSID, pickle.BYTEARRAY8)
)  # fmt: skip
"""Steps of pickle that no description takes."""


class DescriptionReader(FileSystemReader):
    """A checkpoint in a folder. `files`: the names that its tensors may lie in. `sizes`: the bytes of each tensor that
    is to be read, by its name; other names are values."""

    def __init__(self, folder: Path, files: Set[str], sizes: Mapping[str, int]) -> None:
        super().__init__(folder)
        self._folder, self._files, self._sizes = folder, files, sizes

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Raises `ValueError` for a description that is not torch's, and `UntrustedDataError` for no regular file."""
        found = _Descriptions(io.BytesIO(read_below(self._folder, METADATA, MOST_METADATA))).load()
        if not isinstance(found, Metadata) or not isinstance(found.storage_data, dict):
            raise ValueError(f"{METADATA} describes no checkpoint")
        for index, one in found.storage_data.items():
            if type(index) is not MetadataIndex:
                raise ValueError(f"{METADATA} has a {type(index).__name__[:60]} as a key, as no description has")
            most = WIDEST * self._sizes[index.fqn] + FRAME if index.fqn in self._sizes else MOST_VALUE
            if type(one.length) is not int or type(one.offset) is not int or not 0 <= one.length <= most:
                raise ValueError(f"{METADATA} gives {index.fqn[:100]!r} more bytes than it has")
            path = getattr(one, "relative_path", None)
            if not isinstance(path, str) or path not in self._files:
                named = path[:100] if isinstance(path, str) else type(path).__name__
                raise ValueError(f"{METADATA} names {named!r}, which is no file of the checkpoint")
            if getattr(one, "transform_descriptors", None):
                raise ValueError(f"{METADATA} says that a file is packed, which none of ours is")
        return found

    def _slice_file(self, file: IO[bytes], sinfo: _StorageInfo) -> IO[bytes]:
        """The part of a file that holds one tensor or value. torch would unpack the members of its zip as far as they
        go, and finds them otherwise than Python does: it is given a zip of ours, with what Python finds in theirs.

        Raises `ValueError` for a packed member."""
        file.seek(sinfo.offset)
        try:
            with zipfile.ZipFile(io.BytesIO(file.read(sinfo.length))) as theirs:
                members = theirs.infolist()
                size = sum(max(one.file_size, one.compress_size) for one in members)
                if any(one.compress_type != zipfile.ZIP_STORED for one in members) or size > sinfo.length:
                    raise ValueError(f"{sinfo.relative_path} holds a packed tensor, and none of ours is")
                return _zipped((one.filename, theirs.read(one)) for one in members)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{sinfo.relative_path} holds a tensor in another form than ours") from error


def _zipped(members: Iterable[tuple[str, bytes]]) -> IO[bytes]:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as ours:
        for name, data in members:
            ours.writestr(name, data)
    found.seek(0)
    return found


class ValuesAsData(DefaultLoadPlanner):
    """Values that are no tensors: numbers, texts, lists and tables of them."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        plain = io.BytesIO()
        torch.save(torch.load(value, weights_only=True), plain)
        plain.seek(0)
        super().load_bytes(read_item, plain)


def _refuse_step(reader: Any) -> None:
    raise ValueError(f"{METADATA} takes a step of pickle that no description takes")


class _Descriptions(pickle._Unpickler):  # Python's own, whose steps can be looked at
    """Builds torch's descriptions. What a pickle names is this process's own class or function, and a step of pickle
    sets attributes of whatever is on its stack: here of a new description, and of nothing else."""

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = {**pickle._Unpickler.dispatch, **dict.fromkeys(OTHERS, _refuse_step)}

    def load_build(self) -> None:
        state, built = self.stack[-1], self.stack[-2]
        if type(built) not in DESCRIPTIONS or type(state) is not (tuple if type(built) is TensorProperties else dict):
            raise ValueError(f"{METADATA} changes a {type(built).__name__[:60]}, which is no description")
        super().load_build()  # type: ignore[misc]  # typeshed does not list the steps

    dispatch[pickle.BUILD[0]] = load_build

    def load_setitem(self) -> None:
        self._key(self.stack[-2])
        super().load_setitem()  # type: ignore[misc]

    dispatch[pickle.SETITEM[0]] = load_setitem

    def load_setitems(self) -> None:
        for key in self.stack[::2]:  # what stands above the mark
            self._key(key)
        super().load_setitems()  # type: ignore[misc]

    dispatch[pickle.SETITEMS[0]] = load_setitems

    def load_reduce(self) -> None:
        self._arguments(self.stack[-1])
        super().load_reduce()  # type: ignore[misc]

    dispatch[pickle.REDUCE[0]] = load_reduce

    def load_newobj(self) -> None:
        self._arguments(self.stack[-1])
        super().load_newobj()  # type: ignore[misc]

    dispatch[pickle.NEWOBJ[0]] = load_newobj

    @staticmethod
    def _key(key: Any) -> None:
        """Refuses a key whose hash may take for ever, as that of a tuple which holds one tuple twice, and so on."""
        if type(key) is MetadataIndex:
            plain = type(key.fqn) is str and type(key.index) in (int, type(None))
            plain = plain and (key.offset is None or type(key.offset) is torch.Size)
        else:
            plain = type(key) in (str, int)
        if not plain:
            raise ValueError(f"{METADATA} has a {type(key).__name__[:60]} as a key, as no description has")

    @staticmethod
    def _arguments(given: Any) -> None:
        """Refuses arguments that no description is made of."""
        for one in given if type(given) is tuple else (None,):
            numbers = type(one) in (list, tuple) and all(type(number) is int for number in one)
            if type(one) not in (str, int) and not numbers:
                raise ValueError(
                    f"{METADATA} makes something of a {type(one).__name__[:60]}, as no description is made"
                )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in KNOWN:
            return super().find_class(module, name)
        if module == "torch" and isinstance(found := getattr(torch, name, None), torch.dtype):
            return found
        raise ValueError(f"{METADATA} asks for {module[:60]}.{name[:60]}, which describes no tensor")
