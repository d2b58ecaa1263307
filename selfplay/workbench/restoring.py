"""Restores files from the original. They come in an archive made on the host: nothing of the original is ever mounted
beside a tree, where a program under test could read what its bug replaced.

For the same reason the compiled forms of changed files are removed: the original's are a layer of the world.
"""

import io
import tarfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from selfplay.formatting import count
from selfplay.plain_text import encode, regular_file, safe_relative
from selfplay.sandbox import MIB, Sandbox, World
from selfplay.workbench.applying import DoesNotApply, prepare
from selfplay.workbench.reading import MOST_BYTES, MOST_FILES, WHOLE

KEPT_ARCHIVES, KEPT_BYTES = 8, 4 * MIB
"""Archives that are kept, of files of at most so many bytes together."""
# first remove whatever is in a file's place: a link or a file instead of its folder, or anything at its own path
_RESTORE = r"""
set -e -o pipefail
paths=()
while IFS= read -r -d "" path && [ -n "$path" ]; do
  prefix=""; rest="$path"
  while [[ "$rest" == */* ]]; do
    prefix+="${rest%%/*}"; rest="${rest#*/}"
    if [ -L "$prefix" ] || { [ -e "$prefix" ] && [ ! -d "$prefix" ]; }; then rm -f -- "$prefix"; fi
    prefix+="/"
  done
  paths+=("$path")
done
printf '%s\0' "${paths[@]}" | xargs -0 rm -rf --
tar --extract --preserve-permissions --no-same-owner --delay-directory-restore --file -
"""
_DROP = r"""
shopt -s nullglob
while IFS= read -r -d "" path; do
  folder="./"; [[ "$path" == */* ]] && folder="./${path%/*}/"
  name="${path##*/}"
  forms=("$folder"__pycache__/"${name%.py}".*.pyc)
  [ ${#forms[@]} -eq 0 ] || rm -f -- "${forms[@]}"
done
"""


def restore_files(sandbox: Sandbox, world: World, paths: Sequence[str]) -> None:
    """Restore `paths` from the topmost layer of the world that has them. Raises `DoesNotApply`."""
    if not paths:
        return
    stdin = b"".join(encode(path) + b"\0" for path in paths) + b"\0" + _archive(world.tree, tuple(paths))
    done = prepare(sandbox, ["bash", "--norc", "-c", _RESTORE], stdin)
    if done.exit_code != 0 or done.timed_out:
        raise DoesNotApply(f"the test files cannot be restored: {done.text.strip()[-300:]}")


def drop_compiled(sandbox: Sandbox, paths: Sequence[str]) -> None:
    """Remove the compiled forms of the original's Python files at `paths`. Raises `DoesNotApply`."""
    python = b"".join(encode(path) + b"\0" for path in paths if path.endswith(".py"))
    if python:
        prepare(sandbox, ["bash", "--norc", "-c", _DROP], python)


def _archive(layers: tuple[Path, ...], paths: tuple[str, ...]) -> bytes:
    """An archive of the regular files and links at `paths`; nothing is read through a link. Raises `DoesNotApply` for
    more than may be read of an original."""
    files = [file for path in paths if (file := next(_regular(layers, path), None))]
    size = sum(file.stat().st_size for file in files)
    if size > MOST_BYTES or len(paths) > MOST_FILES:
        raise DoesNotApply(f"the test files hold {size // MIB} MiB in {count(len(paths), 'file')}; {WHOLE} are read")
    return _kept(layers, paths) if size <= KEPT_BYTES else _packed(layers, paths)


def _packed(layers: tuple[Path, ...], paths: tuple[str, ...]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in paths:
            _add(tar, layers, path)
    return packed.getvalue()


_kept = lru_cache(KEPT_ARCHIVES)(_packed)


def _regular(layers: tuple[Path, ...], path: str) -> Iterator[Path]:
    return (file for layer in reversed(layers) if (file := regular_file(layer, path)))


def _add(tar: tarfile.TarFile, layers: tuple[Path, ...], path: str) -> None:
    for layer in reversed(layers):
        entry = tarfile.TarInfo(path)
        if file := regular_file(layer, path):
            status = file.stat()
            entry.size, entry.mode, entry.mtime = status.st_size, status.st_mode & 0o755, int(status.st_mtime)
            with file.open("rb") as content:
                tar.addfile(entry, content)
            return
        if target := _link(layer, path):
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
            return


def _link(layer: Path, path: str) -> str | None:
    """The target of the link at `path`; None if it is not a link, or a folder above it is one."""
    if safe_relative(path) is None:
        return None
    folders = [layer.joinpath(*path.split("/")[:count]) for count in range(1, path.count("/") + 1)]
    try:
        return None if any(folder.is_symlink() for folder in folders) else str((layer / path).readlink())
    except OSError:
        return None
