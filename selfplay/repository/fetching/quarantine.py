"""The sandbox in which an untrusted source is read: git, unpacking and detection run there, without a network.

The host mounts folders read-only, sends the needed modules as one zip, and takes out three things: an answer whose
every field is checked, and two folders as bounded streams. It never opens a file of the source itself.
"""

import functools
import importlib.util
import io
import marshal
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Protocol, runtime_checkable

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.reading import (
    ANSWER,
    HISTORY,
    MAX_ANSWER,
    NO_PROCESS,
    SPECIFIER,
    TREE,
    MalformedAnswer,
    ReaderAnswer,
    ReadOrder,
    SourceFound,
    decoded,
    encoded,
)  # fmt: skip
from selfplay.repository.files.unpack import Inside, StreamBounds, bring_out
from selfplay.sandbox import MIB, Backend, Completed, InsideError, Limits, Mount, Sandbox, World, open_backend
from selfplay.sandbox.kill_detection import ProgramKilled, believed_here, unless_starved
from selfplay.sandbox.machine import fitting

LIMITS = Limits(memory_bytes=4096 * MIB, disk_bytes=3072 * MIB, processes=128)
READ_SECONDS = 900.0
LAYER_BOUNDS = StreamBounds(bytes=3 << 30, entries=600_000)
PROGRAM = "/tmp/read_source.zip"
MODULES = {
    "repository": ("disk", "errors"),
    "repository/detection": ("declared", "detect", "formats", "metadata", "poetry"),
    "repository/fetching": (
        "checkouts", "find_repository", "gitdir", "hard_links", "history", "layers", "local", "reader_main", "reading",
        "running", "trees", "uncommitted", "unreadable_files", "versions",
    ),
    "repository/files": ("archive",),
    "": ("errors", "formatting", "package_versions", "plain_text", "python_source", "subprocesses", "untrusted_json"),
}  # fmt: skip
"""Folder of the package -> its modules that run inside."""
OID = re.compile(r"[0-9a-f]{40}")
DIGEST = re.compile(r"[0-9a-f]{1,64}")
LANGUAGE = re.compile(r"[a-z]{1,20}")


@runtime_checkable
class WithRuntime(Protocol):
    """A backend whose engine may have several runtimes."""

    @property
    def runtime(self) -> str | None: ...


class Quarantine:
    """One live sandbox in which a source is read."""

    def __init__(self, sandbox: Sandbox, python: str, shown: str) -> None:
        self.sandbox, self.python, self.shown = sandbox, python, shown
        sandbox.write_file(PROGRAM, program())

    def read(self, order: ReadOrder) -> ReaderAnswer:
        """Read the source that `order` names. Raises `SourceError` if that fails."""
        self._run("read", encoded(order))
        try:
            answer = decoded(ReaderAnswer, self.sandbox.read_file(ANSWER, MAX_ANSWER))
            if answer.found is not None:
                check(answer.found)
            if not all(OID.fullmatch(one.commit) for one in answer.wanted):
                raise MalformedAnswer("not the name of a commit")
        except (MalformedAnswer, FileNotFoundError, InsideError) as error:
            raise SourceError(
                f"{self.shown} was read, but the answer is invalid: {error}", "Name a part of it, or another revision."
            ) from error
        if answer.problem:
            raise SourceError(*answer.problem)
        return answer

    def tree(self, target: Path, owner: tuple[int, int] | None = None) -> None:
        """Write the checked-out tree into a new folder."""
        self._bring(TREE, target, owner)

    def history(self, commit: str, target: Path, owner: tuple[int, int] | None = None) -> None:
        """Write the `.git` layer whose HEAD is `commit` into a new folder."""
        self._run(commit, b"")
        self._bring(HISTORY, target, owner, git=True)

    def close(self) -> None:
        """End the sandbox; afterwards nothing can be taken out."""
        self.sandbox.close()

    def _bring(self, folder: str, target: Path, owner: tuple[int, int] | None, git: bool = False) -> None:
        target.mkdir(exist_ok=True)
        done = bring_out(Inside(self.sandbox, folder, self.python), target, LAYER_BOUNDS, owner=owner, git=git)
        if done.left_out:
            raise SourceError(f"{self.shown} has links that lead out of it: {', '.join(done.dropped)}")

    def _run(self, what: str, stdin: bytes) -> None:
        command = [self.python, "-I", "-S", "-B", PROGRAM, what]
        done = believed_here(self.sandbox, lambda: self.sandbox.run(command, timeout=READ_SECONDS, stdin=stdin), 2)
        unless_starved(done, what, READ_SECONDS)
        if done.was_killed and not done.over_memory:
            raise ProgramKilled(f"what reads {self.shown} was killed")
        if done.exit_code == NO_PROCESS:
            raise ProgramKilled(f"no process could be started to read {self.shown}")
        if done.exit_code != 0 or done.timed_out:
            raise SourceError(f"{self.shown} cannot be read: {why(done)}", "Name a part of it, or another release.")


def why(done: Completed) -> str:
    """Why a command of ours failed, in a few words."""
    if done.timed_out:
        return f"it takes more than {READ_SECONDS:.0f} s"
    if done.exit_code == -9:
        return f"it takes more than {LIMITS.memory_bytes // MIB} MiB of memory"
    last = done.text.strip().rpartition("\n")[2]
    return last[:300] or f"reading it exited {done.exit_code}"


@contextmanager
def quarantine(backend: Backend, mounts: Sequence[Mount], shown: str) -> Iterator[Quarantine]:
    """A sandbox for reading one source. It never runs in the user's image, whose programs are untrusted and may be
    missing; the same engine and runtime run this machine's programs."""
    chosen = backend
    if backend.image_id:
        chosen = open_backend(backend.name, runtime=backend.runtime if isinstance(backend, WithRuntime) else None)
    world = World(mounts=tuple(mounts), env={"LC_ALL": "C.UTF-8"})
    with chosen.open(world, fitting(LIMITS)) as sandbox:
        yield Quarantine(sandbox, chosen.python, shown)


@functools.cache
def program() -> bytes:
    """A zip of compiled modules, which the interpreter inside (of our version) runs as its main program."""
    from packaging import version

    package, libraries = Path(__file__).parents[2], Path(version.__file__).parent
    named = [Path(folder, name) for folder, names in MODULES.items() for name in names]
    parts = {f"selfplay/{name}": package / f"{name}.py" for name in named}
    parts |= {f"packaging/{path.stem}": path for path in libraries.glob("*.py")}
    parts |= {"__main__": package / "repository" / "inside" / "read_source.py"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for folder in MODULES:
            bundle.writestr(f"{Path('selfplay', folder)}/__init__.py", "")
        for name, path in parts.items():
            bundle.writestr(f"{name}.pyc", compiled(path))
    return buffer.getvalue()


def compiled(path: Path) -> bytes:
    """The module as a `.pyc` that is not compared with its source; taken from the interpreter's cache if it is
    there."""
    code = SourceFileLoader(path.stem, os.fspath(path)).get_code(path.stem)
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def check(found: SourceFound) -> None:
    """Raises `MalformedAnswer` for a value that the host could take for something else than a name or a number."""
    plan = found.plan
    if found.past and not DIGEST.fullmatch(found.past):
        raise MalformedAnswer("not a digest")
    if not (OID.fullmatch(found.commit) and OID.fullmatch(found.tree_hash) and LANGUAGE.fullmatch(plan.language)):
        raise MalformedAnswer("not an object name")
    if any(path.startswith("/") or {"", ".", ".."} & set(path.split("/")) for path in found.tracked):
        raise MalformedAnswer("a path that leaves the tree")
    if plan.requires_python is not None and not SPECIFIER.fullmatch(plan.requires_python):
        raise MalformedAnswer("not a range of versions")


def excluded(generated: Sequence[str]) -> bytes:
    """The content of `info/exclude`: files that a build generated, so that `git status` does not show them."""
    lines = [
        "__pycache__/",
        "*.pyc",
        ".pytest_cache/",
        "node_modules/",
        *("/" + _pattern(path) for path in sorted(generated)),
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _pattern(path: str) -> str:
    return "".join(f"\\{character}" if character in "*?[]\\!# " else character for character in path)
