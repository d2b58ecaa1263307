"""Takes from a thread the right to open anything but what lies beneath a few folders (Linux's Landlock)."""

import ctypes
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

CREATE_RULESET, ADD_RULE, RESTRICT_SELF, NO_NEW_PRIVS = 444, 445, 446, 38
VERSION, PATH_BENEATH = 1, 1
OURS = Path(__file__).parents[1]
"""This package."""
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
READING: Final = EXECUTE | READ_FILE | READ_DIR
OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
"""Rights that a rule on a file may give; the others are those of folders."""
KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Version of Landlock -> the number of rights on files that it knows; later ones know no more."""
NETWORK: Final = 0b11
"""Binding and connecting TCP sockets, since version 4."""
SYSTEM = (
    "/usr", "/lib", "/lib64", "/lib32", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/dev/zero",
    "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system",
)  # fmt: skip
"""What Python and its libraries read of the system. Of `/proc` no process, whose environment may hold keys."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


@cache
def landlock_version() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    return max(0, _system_call(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION))


def leave_folders(read: Sequence[Path], write: Sequence[Path]) -> None:
    """Leave this thread, and those that it starts, what lies in these folders and in Python's own. It cannot be
    undone. Raises `OSError` if the kernel refuses."""
    version = landlock_version()
    every = (1 << KNOWN.get(version, max(KNOWN.values()))) - 1
    size = 8 if version < 4 else 16
    rules = _ruleset(_Ruleset(every, NETWORK, 0), size)
    try:
        for path in (*_own(), *read):
            _allow(rules, path, READING & every)
        for path in write:
            _allow(rules, path, every)
        _allow(rules, Path(os.devnull), (READING | WRITE_FILE) & every)
        _checked(ctypes.CDLL(None, use_errno=True).prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(_system_call(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _own() -> Iterator[Path]:
    """What Python itself reads: its installation, its packages, ours."""
    yield from map(Path, (*SYSTEM, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix))
    yield from _packages(tuple(sys.path))
    yield OURS
    yield from (path for path in OURS.iterdir() if path.is_symlink())  # in a checkout of ours


@cache
def _packages(folders: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders of packages, and where links in them lead: some installers make a link of each package, others of
    each of its files, and Landlock looks at the file."""
    found = [path for path in map(Path, folders) if path.is_absolute()]
    for folder in [path for path in found if path.is_dir()]:
        with suppress(OSError):  # closed to this user, so nothing is imported from it
            for entry in folder.iterdir():
                first = entry / "__init__.py"
                if entry.is_symlink():
                    found.append(entry.resolve())
                elif first.is_symlink():
                    found.append(first.resolve().parent)
    return tuple(found)


def _allow(rules: int, path: Path, rights: int) -> None:
    """Give rights to what lies beneath a path; nothing where there is none."""
    try:
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # the call meets and names it
        return
    try:
        of_kind = rights if stat.S_ISDIR(os.fstat(number).st_mode) else rights & OF_FILES
        _checked(_system_call(ADD_RULE, rules, PATH_BENEATH, ctypes.byref(_PathBeneath(of_kind, number)), 0))
    finally:
        os.close(number)


def _ruleset(handled: _Ruleset, size: int) -> int:
    return _checked(_system_call(CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0))


def _checked(number: int) -> int:
    if number < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return number


def _system_call(number: int, *given: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *given))
