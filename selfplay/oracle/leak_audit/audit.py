"""The leak audit: searches every solver's world for a copy of the answer.

It searches for removed lines, shingles of what was changed (`needles`), and compiled functions. It looks in the tree,
git objects of every store, nested archives and compressed data (`inside/unpack.py`, `inside/carve.py`), encoded texts
(`inside/plainer.py`, `inside/decode.py`), parts of split files, the home and temporary folders, and installed packages.
A place is a finding when it holds a third of the lines, or a third of the shingles; two thirds in an installed package
that is no other copy of the project (`repository/copies.py`). If there are only one or two telling lines, the lines
around them must be there too, since any program may contain a similar line by chance. If no single place holds enough,
all places together, without installed packages, are a finding when they hold two thirds.

A world is *not auditable* when the bug removed nothing that can be recognised (it changed a comment, or only added a
file), or when the search did not finish. Such a world does not count as clean: the audit fails closed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from selfplay.oracle import inside
from selfplay.oracle.leak_audit.needles import needles
from selfplay.oracle.task import Task
from selfplay.oracle.world import SolverWorld, open_world
from selfplay.plain_text import shown
from selfplay.repository.copies import copies_in
from selfplay.sandbox import WORKDIR, Backend, InsideError, Limits
from selfplay.sandbox.kill_detection import undisturbed
from selfplay.untrusted_json import AnswerError, answer

SEARCH_SECONDS = 300.0
SHARE = 1 / 3
INSTALLED_SHARE = 2 / 3
"""The share required in installed packages is higher because a copy of the project there is complete, and many packages
share idioms (`return list(self.keys())`)."""
PROGRAM = (
    "bounds.py", "shingles.py", "carve.py", "unpack.py", "plainer.py", "base85.py", "decode.py", "digests.py",
    "search.py", "walk.py",
)  # fmt: skip
NOTHING_TO_TELL = "nothing that the bug changed differs from what the broken tree still holds"


class AuditState(StrEnum):
    """The result of an audit."""

    CLEAN = "clean"
    LEAKS = "leaks"
    NOT_AUDITABLE = "not-auditable"


@dataclass(frozen=True)
class Finding:
    """`where`: the path inside, `!` before a member of an archive, `#` before a git object. `share`: the share of the
    answer found there."""

    where: str
    kind: str
    share: float

    @property
    def sentence(self) -> str:
        if self.kind == "digest":
            return f"{shown(self.where)} holds the digest of a file of the answer"
        return f"{shown(self.where)} gives {self.share:.0%} of the answer away"


@dataclass(frozen=True)
class Audit:
    """`lines` and `shingles`: how many the audit searched for. `reason`: why the world is not auditable, else empty.
    `unread`: what could not be read, and why. `removed`: git data removed from the world."""

    lines: int
    findings: tuple[Finding, ...]
    shingles: int = 0
    reason: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def state(self) -> AuditState:
        if self.findings:
            return AuditState.LEAKS
        return AuditState.NOT_AUDITABLE if self.reason else AuditState.CLEAN

    @property
    def worst(self) -> Finding | None:
        """The finding that gives most away, files before git objects; None without one."""
        return max(self.findings, key=lambda finding: (finding.share, ".git" not in finding.where), default=None)

    @property
    def clean(self) -> bool:
        return self.state is AuditState.CLEAN

    def to_json(self) -> dict[str, Any]:
        return {"state": self.state.value, "clean": self.clean, **asdict(self)}


def audit_task(backend: Backend, task: Task, limits: Limits = Limits()) -> Audit:
    """Build the world and search it. Raises `WorldError`, `InsideError`, `SandboxError`."""
    with open_world(backend, task, limits) as world:
        return audit(world)


def audit(world: SolverWorld) -> Audit:
    """Search an open world. Raises `InsideError` when the search itself fails."""
    wanted = needles(world.task)
    if not wanted.telling and not wanted.lines and not wanted.python:
        return Audit(0, (), 0, NOTHING_TO_TELL, removed=world.git)
    mounted = [mount.target for mount in world.task.world.mounts]
    copies = copies_in(world.sandbox, world.python, mounted).places
    stdin = json.dumps({**wanted.to_json(), "least": [SHARE, INSTALLED_SHARE], "copies": copies}).encode()
    command = [world.python, "-I", "-S", "-c", program(), WORKDIR, "/tmp", "/home", *mounted]
    done = world.sandbox.run(command, timeout=SEARCH_SECONDS, stdin=stdin, env=world.env)
    undisturbed(done, "the search for leaks", SEARCH_SECONDS)
    said = SearchAnswer([], {}, f"the search took more than {SEARCH_SECONDS:.0f} s")
    if not done.timed_out:
        if done.exit_code != 0 or done.truncated:
            raise InsideError(f"the search for leaks failed: {done.stderr.decode('utf-8', 'replace')[-300:]}")
        said = read(done.stdout)
    found = [Finding(where.removeprefix(f"{WORKDIR}/"), kind, share) for where, kind, share in sorted(said.found)]
    reason = said.stopped or ("" if wanted.telling else NOTHING_TO_TELL)
    return Audit(len(wanted.lines), tuple(found), wanted.most, reason, said.unread, world.git)


@dataclass(frozen=True)
class SearchAnswer:
    """What the search prints."""

    found: list[tuple[str, str, float]]
    unread: dict[str, str]
    stopped: str


def read(data: bytes) -> SearchAnswer:
    """Parse the output of the search. Raises `InsideError` for any other output: without a result no world is
    clean."""
    try:
        return answer(SearchAnswer, data)
    except AnswerError as error:
        raise InsideError(f"the search for leaks gave an invalid answer: {error}") from error


def program() -> str:
    """The search program, as one text for the sandbox's Python."""
    return "".join(inside.text(name) for name in PROGRAM)
