"""The solver's world (SSR section 6): the broken repository with one fresh commit, and nothing that reveals the answer.

original -> bug_inject -> test_weaken -> (order 2: the failed patch) -> caches and history removed -> one commit.
Script, parser and file list never enter it. The solver's changes are read back without trusting anything in it: a
manifest of the tree, taken before the episode and kept outside, shows which files changed. `SolverWorld.changes()`
takes those files out of the solver's sandbox; once it is closed, `prediction_of` makes the diff in a fresh sandbox,
with a git directory the solver never saw. Ignored new files are left out, as `git add` does.
"""

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from selfplay.artifact import Artifact
from selfplay.oracle import inside
from selfplay.oracle.errors import PredictionError, WorldError
from selfplay.plain import decode, encode, safe_relative
from selfplay.repository import Prepared
from selfplay.sandbox import MIB, Backend, Completed, Limits, Sandbox, SandboxError, World
from selfplay.workbench.staging import GIT_ENV, DoesNotApply, apply_diffs

BUILD_SECONDS = 120.0
MAX_DIFF_BYTES = 8 * MIB
MAX_MANIFEST_BYTES = 256 * MIB
_PYTHON = ["python3", "-I", "-S", "-c"]
Manifest = Mapping[str, str]
"""Path -> git mode and digest."""


@dataclass(frozen=True)
class Task:
    """What a solver faces. `world` is the stripped original; `extra` are the diffs of failed attempts (order 2)."""

    world: World
    artifact: Artifact
    extra: tuple[str, ...] = ()

    @property
    def diffs(self) -> tuple[str, ...]:
        """The diffs that turn the original into the broken tree, in order."""
        return (self.artifact.bug_inject, self.artifact.test_weaken, *self.extra)


@dataclass(frozen=True)
class Changes:
    """A solver's changes, taken out of its sandbox: the paths that are `gone`, the other changed files `packed`, and
    changed paths that a diff cannot express."""

    gone: tuple[str, ...] = ()
    packed: bytes = b""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The solver's result: a git diff against the tree it was given, and, for people, changed paths that are ignored or
    that a diff cannot express."""

    diff: str
    left_out: tuple[str, ...] = ()


def solver_world(prepared: Prepared) -> World:
    """The layers a solver may see: the tree without the compiled caches, which contain the original's code."""
    return replace(prepared.world(), tree=(prepared.tree,))


@dataclass(frozen=True)
class SolverWorld:
    """An open world: `sandbox` is the solver's, `/testbed` the broken repository. `removed`: paths that were cleaned
    away."""

    task: Task
    sandbox: Sandbox
    removed: tuple[str, ...]
    _start: Manifest

    @property
    def tree_hash(self) -> str:
        """SHA-256 over paths, modes and contents of the broken tree: equal for equal tasks."""
        listed = "".join(f"{known} {path}\0" for path, known in sorted(self._start.items()))
        return hashlib.sha256(encode(listed)).hexdigest()

    def changes(self) -> Changes:
        """The solver's changes. Raises `PredictionError` when they are too large or cannot be read."""
        try:
            end = _manifest(self.sandbox)
            changed = sorted(path for path in end if end[path] != self._start.get(path))
            fit = {path for path in changed if end[path] != "0 0" and safe_relative(path) is not None}
            odd = tuple(path for path in changed if path not in fit)
            gone = tuple(sorted(self._start.keys() - end.keys()))
            if not fit and not gone:
                return Changes(left_out=odd)
            packed = _python(self.sandbox, "pack", _null(sorted(fit)))
        except SandboxError as error:
            raise PredictionError("unreadable", f"the solver's tree cannot be read: {error.message}") from error
        if packed.truncated:
            raise PredictionError("oversized", "the changed files are larger than a prediction may be")
        return Changes(gone, packed.stdout, odd)


def prediction_of(backend: Backend, task: Task, changes: Changes, limits: Limits = Limits()) -> Prediction:
    """The diff of these changes against the task's tree, made in a sandbox that the solver was never in.

    Raises `PredictionError` for a diff that is too large, `SandboxError` when no sandbox is available."""
    if not changes.gone and not changes.packed:
        return Prediction("", changes.left_out)
    with backend.open(task.world, limits) as fresh:
        _stage(fresh, task)
        _bash(fresh, "diff.sh", "base")
        _python(fresh, "unpack", _null(changes.gone) + b"\0\0" + changes.packed)
        _bash(fresh, "diff.sh", "end")
        try:
            diff = fresh.read_file("/tmp/selfplay-diff", MAX_DIFF_BYTES)
        except SandboxError as error:
            raise PredictionError("oversized", f"the prediction is larger than {MAX_DIFF_BYTES // MIB} MiB") from error
        ignored = fresh.read_file("/tmp/selfplay-ignored").split(b"\0")
    return Prediction(decode(diff), (*changes.left_out, *(decode(path) for path in ignored if path)))


@contextmanager
def open_world(backend: Backend, task: Task, limits: Limits = Limits()) -> Iterator[SolverWorld]:
    """A sandbox ready for a solver's episode, closed when the context ends.

    Raises `WorldError` when the bug's diffs do not apply, `SandboxError` when no sandbox is available.
    """
    with backend.open(task.world, limits) as sandbox:
        removed = _stage(sandbox, task)
        start = _manifest(sandbox)
        _bash(sandbox, "commit.sh")
        yield SolverWorld(task, sandbox, removed, start)


def _stage(sandbox: Sandbox, task: Task) -> tuple[str, ...]:
    """Make the broken tree; returns the paths that were cleaned away."""
    cleaned = _bash(sandbox, "clean.sh", "/tmp/selfplay-cleaned").stdout  # first: added files are the task's
    try:
        apply_diffs(sandbox, task.diffs)
    except DoesNotApply as error:
        raise WorldError(
            f"the solver's world cannot be built: {error}", "Run `selfplay validate` on the bug."
        ) from error
    return tuple(sorted(decode(path).removeprefix("./") for path in cleaned.split(b"\0") if path))


def _manifest(sandbox: Sandbox) -> Manifest:
    """Every file of the tree. Raises `SandboxError` when the tree cannot be walked."""
    done = _python(sandbox, "manifest")
    if done.truncated:
        raise SandboxError("the tree has too many files to be listed")
    listed = _inflate(done.stdout, MAX_MANIFEST_BYTES)
    found = {}
    for entry in listed.split(b"\0") if listed else ():
        mode, digest, path = entry.split(b" ", 2)
        found[decode(path)] = f"{mode.decode()} {digest.decode()}"
    return found


def _inflate(data: bytes, most: int) -> bytes:
    machine = zlib.decompressobj()
    content = machine.decompress(data, most)
    if machine.unconsumed_tail or not machine.eof:
        raise SandboxError("the tree has too many files to be listed")
    return content


def _python(sandbox: Sandbox, action: str, stdin: bytes = b"") -> Completed:
    return _checked(sandbox.run([*_PYTHON, inside.text("look.py"), action], timeout=BUILD_SECONDS, stdin=stdin), action)


def _bash(sandbox: Sandbox, name: str, *arguments: str) -> Completed:
    command = ["bash", "--norc", "-c", inside.text(name), name, *arguments]
    return _checked(sandbox.run(command, timeout=BUILD_SECONDS, env=GIT_ENV), name)


def _checked(done: Completed, step: str) -> Completed:
    if done.exit_code != 0 or done.timed_out:
        raise SandboxError(f"{step} failed in the solver's world: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    return done


def _null(paths: Sequence[str]) -> bytes:
    return b"\0".join(encode(path) for path in paths)
