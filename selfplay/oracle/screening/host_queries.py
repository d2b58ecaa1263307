"""Finds what Python code asks about the machine it runs on: functions of modules that deal with nothing else, functions
of `os` beyond files and paths, and files at fixed places.

This is a list of harmless names, not of harmful ones: an attacker found nine ways to detect the machine that were not
in a list of harmful ones.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from selfplay.oracle.screening.written_names import WrittenNames

_PATHS = frozenset({
    "join", "basename", "dirname", "split", "splitext", "splitdrive", "normpath", "normcase", "commonprefix",
    "commonpath", "relpath", "abspath", "isabs", "expanduser", "expandvars", "realpath", "exists", "lexists", "isfile",
    "isdir", "islink", "getsize", "samefile", "sep", "pardir", "curdir", "extsep", "altsep", "pathsep",
})  # fmt: skip
HARMLESS: Mapping[str, frozenset[str]] = {
    "os": frozenset({
        "path", "fspath", "PathLike", "sep", "linesep", "altsep", "extsep", "pathsep", "curdir", "pardir", "devnull",
        "name", "environ", "environb", "getenv", "putenv", "fsencode", "fsdecode", "makedirs", "mkdir", "remove",
        "unlink", "rename", "renames", "replace", "rmdir", "removedirs", "link", "symlink", "readlink", "chmod", "open",
        "close", "read", "write", "fdopen", "fsync", "dup", "pipe", "lseek", "truncate", "ftruncate", "getcwd", "chdir",
        "walk", "fwalk", "scandir", "listdir", "stat", "lstat", "fstat", "utime", "access", "strerror", "error",
        "urandom", "system", "popen", "kill", "waitpid", "DirEntry", "stat_result", "SEEK_SET", "SEEK_CUR", "SEEK_END",
        "O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_BINARY", "O_CLOEXEC", "F_OK",
        "R_OK", "W_OK", "X_OK",
    }),
    "os.path": _PATHS, "posixpath": _PATHS, "ntpath": _PATHS,
    "uuid": frozenset({
        "UUID", "SafeUUID", "uuid3", "uuid4", "uuid5", "NAMESPACE_DNS", "NAMESPACE_URL", "NAMESPACE_OID",
        "NAMESPACE_X500", "RFC_4122",
    }),
    "platform": frozenset({"python_implementation", "python_version", "python_version_tuple"}),
    "socket": frozenset(), "resource": frozenset(), "sysconfig": frozenset(), "getpass": frozenset(),
    "fcntl": frozenset(), "termios": frozenset(), "tty": frozenset(), "pty": frozenset(), "syslog": frozenset(),
    "readline": frozenset(), "curses": frozenset(), "psutil": frozenset(),
}  # fmt: skip
"""Module -> what a repair may newly use of it. `os.kill`, `os.system` and the like are harmless here because the event
hook reports them."""
OPENING = frozenset({"open", "Path", "PurePath"})
ASKING = OPENING | {
    "exists", "lexists", "isfile", "isdir", "islink", "listdir", "scandir", "walk", "glob", "iglob", "stat", "lstat",
    "access", "getsize", "readlink",
}  # fmt: skip
"""Functions that take a file name as their first argument; `OPENING`: those that programs use for their own data."""
_OF_FILES = frozenset({"os", "os.path", "posixpath", "ntpath", "glob", "io", "pathlib"})
"""Modules whose functions these are; other objects may have methods of these names."""


def asked_of_the_machine(nodes: Sequence[ast.AST], written: WrittenNames) -> Iterator[str]:
    """The name of each question in some Python code, given as the nodes of its syntax tree: `module.attribute`, the
    module if it is passed as a value, or what it asks of a fixed place or of the code's own."""
    modules = dict(_modules(nodes))
    held = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level and (source := node.module or "") in HARMLESS:
            yield from (f"{source}.{one.name}" for one in node.names if one.name not in HARMLESS[source])
        elif isinstance(node, ast.Attribute) and (module := _module(node.value, modules)):
            if node.attr not in HARMLESS[module]:
                yield f"{module}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in modules and id(node) not in held:
            yield modules[node.id]
        elif isinstance(node, ast.Call):
            yield from _place(node, modules, written)


def _modules(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """(name in the code, module) of each import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.asname and one.name in HARMLESS:
                    yield one.asname, one.name
                elif not one.asname and (first := one.name.partition(".")[0]) in HARMLESS:
                    yield first, first
        elif isinstance(node, ast.ImportFrom) and node.module == "os" and not node.level:
            yield from ((one.asname or one.name, "os.path") for one in node.names if one.name == "path")


def _module(node: ast.expr, modules: Mapping[str, str]) -> str:
    """The module that an expression denotes; empty for any other expression."""
    match node:
        case ast.Name(id=name):
            return modules.get(name, "")
        case ast.Attribute(attr="path", value=ast.Name(id=name)) if modules.get(name) == "os":
            return "os.path"
    return ""


def _place(node: ast.Call, modules: Mapping[str, str], written: WrittenNames) -> Iterator[str]:
    name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
    first = next(iter((*node.args, *(one.value for one in node.keywords))), None)
    if name not in ASKING or first is None:
        return
    said = written.text_of(first)
    if said is not None:
        if said.startswith("/"):
            yield f"{name} {said[:40]}"
    elif name not in OPENING and any(isinstance(one, ast.Name) and one.id == "__file__" for one in ast.walk(first)):
        yield f"{name} of __file__"
    elif _is_of_files(node.func, modules) and written.is_made_of_these(first):
        yield f"{name} of a place made of constants"


def _is_of_files(function: ast.expr, modules: Mapping[str, str]) -> bool:
    owner = function.value if isinstance(function, ast.Attribute) else None
    if owner is None:
        return True
    named = owner.id if isinstance(owner, ast.Name) else ""
    return (modules.get(named) or _module(owner, modules) or named) in _OF_FILES
