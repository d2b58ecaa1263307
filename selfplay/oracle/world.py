"""The solver's world (SSR section 6): the broken repository with one fresh commit, without anything that reveals the
answer.

original -> caches and git data removed -> bug_inject -> test_weaken -> (order 2: the failed patch) -> every file
written anew -> one commit. Git data is removed in any form, archives that contain some as a whole: one cannot know what
a history holds without all of it. Script, parser and file list never enter the world. The solver's changes are read
without trusting the world: a manifest of the tree, taken before the episode and kept outside, shows which files
changed. `SolverWorld.changes()` takes those files out of the solver's sandbox; once it is closed, `prediction_of` makes
the diff in a fresh sandbox, with a git directory the solver never saw. Ignored new files are left out, as `git add`
does.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from selfplay import patches
from selfplay.oracle import inside
from selfplay.oracle.errors import PredictionError, WorldError
from selfplay.oracle.task import Task
from selfplay.plain_text import decode, encode, safe_relative
from selfplay.repository import Prepared
from selfplay.repository.fetching.gitdir import EPOCH
from selfplay.sandbox import MIB, Backend, Completed, InsideError, Limits, Sandbox, World
from selfplay.untrusted_json import AnswerError, answer, inflated
from selfplay.workbench.applying import DoesNotApply, apply_diffs
from selfplay.workbench.own import BUILD_SECONDS, Own, own_programs

MAX_DIFF_BYTES = 8 * MIB
MAX_MANIFEST_BYTES, MAX_FILES = 128 * MIB, 500_000
MOST_LEFT, MOST_ENTRY = 16 * MIB, 80
"""Bytes of the listing of what a solver adds, of which the host holds several forms; of one entry, without its path."""
_ISOLATED = ["-I", "-S", "-c"]
_ENTRY = re.compile(rb"([0-7]{1,6}) ([0-9a-f]{1,64}) ([^\0]+)(?:\0|\Z)")
Manifest = Mapping[str, str]
"""Path -> git mode and digest."""


@dataclass(frozen=True)
class Changes:
    """A solver's changes, taken out of its sandbox: the deleted paths (`gone`), the other changed files (`packed`), and
    changed paths that a diff cannot express."""

    gone: tuple[str, ...] = ()
    packed: bytes = b""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The solver's result: a git diff against the given tree and, for users, changed paths that are ignored or that a
    diff cannot express."""

    diff: str
    left_out: tuple[str, ...] = ()


def solver_world(prepared: Prepared) -> World:
    """The layers a solver may see: the tree without the compiled caches, which contain the original's code."""
    return replace(prepared.world(), tree=(prepared.tree,))


@dataclass(frozen=True)
class SolverWorld:
    """An open world: `sandbox` is the solver's, `/testbed` the broken repository. `git`: git data that
    was taken out, each with what it was."""

    task: Task
    sandbox: Sandbox
    git: tuple[str, ...]
    own: Own
    _start: Manifest

    @property
    def python(self) -> str:
        """The sandbox's own interpreter."""
        return self.own.python

    @property
    def env(self) -> Mapping[str, str]:
        """The environment in which our programs start."""
        return self.own.sandbox.own_env

    @property
    def tree_hash(self) -> str:
        """SHA-256 over paths, modes and contents of the broken tree: equal for equal tasks."""
        listed = "".join(f"{known} {path}\0" for path, known in sorted(self._start.items()))
        return hashlib.sha256(encode(listed)).hexdigest()

    def changes(self) -> Changes:
        """The solver's changes. Raises `SandboxLost`, and `PredictionError` when they are too large or unreadable."""
        with _its_own_fault("unreadable", "the solver's tree cannot be read"):
            known = sum(MOST_ENTRY + len(encode(path)) for path in self._start)
            end = _manifest(self.own, min(known + MOST_LEFT, MAX_MANIFEST_BYTES))
            changed = sorted(path for path in end if end[path] != self._start.get(path))
            fit = {path for path in changed if end[path] != "0 0" and safe_relative(path) is not None}
            odd = tuple(path for path in changed if path not in fit)
            gone = tuple(sorted(self._start.keys() - end.keys()))
            if not fit and not gone:
                return Changes(left_out=odd)
            packed = _python(self.own, "pack", _null(sorted(fit)))
        if packed.truncated:
            raise PredictionError("oversized", "the changed files are larger than a prediction may be")
        return Changes(gone, packed.stdout, odd)


def prediction_of(backend: Backend, task: Task, changes: Changes, limits: Limits = Limits()) -> Prediction:
    """The diff of these changes against the task's tree, made in a sandbox that the solver was never in.

    Raises `PredictionError` for a diff that is too large, `SandboxError` when no sandbox is available."""
    if not changes.gone and not changes.packed:
        return Prediction("", changes.left_out)
    with backend.open(task.world, limits) as fresh:
        own = own_programs(backend, fresh)
        _make_tree(own, task)
        _bash(own, "diff.sh", "base")
        with _its_own_fault("unreadable", "the changed files cannot be compared"):
            _python(own, "unpack", _null(changes.gone) + b"\0\0" + changes.packed)
            _bash(own, "diff.sh", "end")
        with _its_own_fault("oversized", f"the prediction is larger than {MAX_DIFF_BYTES // MIB} MiB"):
            diff = fresh.read_file("/tmp/selfplay-diff", MAX_DIFF_BYTES)
            ignored = fresh.read_file("/tmp/selfplay-ignored").split(b"\0")
    return Prediction(decode(diff), (*changes.left_out, *(decode(path) for path in ignored if path)))


@contextmanager
def _its_own_fault(reason: str, sentence: str) -> Iterator[None]:
    """What fails here fails through what the solver left: a `PredictionError`. A lost sandbox stays nobody's fault."""
    try:
        yield
    except InsideError as error:
        raise PredictionError(reason, f"{sentence}: {error.message}") from error


@contextmanager
def open_world(backend: Backend, task: Task, limits: Limits = Limits()) -> Iterator[SolverWorld]:
    """A sandbox ready for a solver's episode, closed when the context ends.

    Raises `WorldError` when the bug's diffs do not apply or its tree cannot be made ready, `SandboxError` when no
    sandbox is available.
    """
    with backend.open(task.world, limits) as sandbox:
        own = own_programs(backend, sandbox)
        with _the_bugs_fault():
            git = _make_tree(own, task)
            _settle(own)
            start = _manifest(own)
            _bash(own, "commit.sh")
        yield SolverWorld(task, sandbox, git, own, start)


@contextmanager
def _the_bugs_fault() -> Iterator[None]:
    """What fails here fails through the files of the bug's own tree, and would fail again: a `WorldError`. A lost
    sandbox, or a step that got no core, stays nobody's fault."""
    try:
        yield
    except InsideError as error:
        raise WorldError(f"the solver's world cannot be built: {error.message}", error.hint) from error


def _make_tree(own: Own, task: Task) -> tuple[str, ...]:
    """Make the broken tree; returns the removed git data."""
    _bash(own, "clean.sh", "/tmp/selfplay-cleaned")  # first: keep what the diffs add
    git = _without_git(own, sorted({path for diff in task.diffs for path in patches.touched_paths(diff)}))
    try:
        apply_diffs(own.sandbox, task.diffs)
    except DoesNotApply as error:
        raise WorldError(
            f"the solver's world cannot be built: {error}", "Run `selfplay validate` on the bug."
        ) from error
    return git


def _settle(own: Own) -> None:
    """Let no time or number of a file say which ones the diffs wrote."""
    program = [own.python, *_ISOLATED, inside.text("settle.py"), str(EPOCH)]
    _checked(own.run("settle.py", program), "settle.py")


def _without_git(own: Own, kept: Sequence[str]) -> tuple[str, ...]:
    """Remove git data from the tree, except in the paths that the task's diffs change. Returns what was removed."""
    program = "".join(inside.text(name) for name in ("bounds.py", "carve.py", "unpack.py", "strip.py"))
    done = own.run("strip.py", [own.python, *_ISOLATED, program], json.dumps(kept).encode())
    try:
        said = answer(Stripped, _checked(done, "strip.py").stdout)
    except AnswerError as error:
        raise InsideError(f"strip.py gave an invalid answer: {error}") from error
    gone = [f"{path.removeprefix('./')}: {what}" for path, what in sorted(said.gone.items())]
    return (*gone, *([f"not all was removed: {said.stopped}"] if said.stopped else []))


@dataclass(frozen=True)
class Stripped:
    """What `strip.py` prints: what it removed, and why something could not be removed."""

    gone: dict[str, str]
    stopped: str


def _manifest(own: Own, most: int = MAX_MANIFEST_BYTES) -> Manifest:
    """Every file of the tree, in a listing of at most so many bytes. Raises `InsideError` when the tree cannot be
    walked."""
    done = _python(own, "manifest")
    if done.truncated:
        raise InsideError("the tree has too many files to be listed")
    return read_manifest(done.stdout, most)


def read_manifest(packed: bytes, most: int = MAX_MANIFEST_BYTES) -> Manifest:
    """Parse the output of `look.py`, of at most so many bytes. Raises `InsideError` for anything else."""
    try:
        listed = inflated(packed, most)
    except AnswerError as error:
        raise InsideError(f"the tree has too many files to be listed: {error}") from error
    at, found = 0, dict[str, str]()
    while at < len(listed):
        entry = _ENTRY.match(listed, at)
        if not entry or len(found) == MAX_FILES:
            raise InsideError("the tree cannot be listed: the answer is not a list of files")
        at = entry.end()
        found[decode(entry[3])] = f"{entry[1].decode()} {entry[2].decode()}"
    return found


def _python(own: Own, action: str, stdin: bytes = b"") -> Completed:
    return _checked(own.run(action, [own.python, *_ISOLATED, inside.text("look.py"), action], stdin), action)


def _bash(own: Own, name: str, *arguments: str) -> Completed:
    return _checked(own.run(name, ["bash", "--norc", "-c", inside.text(name), name, *arguments]), name)


def _checked(done: Completed, step: str) -> Completed:
    if done.timed_out:
        raise InsideError(f"{step} takes more than {BUILD_SECONDS:.0f} s")
    if done.exit_code != 0:
        raise InsideError(f"{step} failed in the solver's world: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    return done


def _null(paths: Sequence[str]) -> bytes:
    return b"\0".join(encode(path) for path in paths)
