"""Git as this package uses it: our own bare object stores, which ignore all configuration of a repository.

On the host git only receives packs into such a store (`fetch`); everything that reads one runs inside a sandbox
(`reading`). Hooks, filters, fsmonitor, external transports, replaced objects and the user's own configuration are off:
a source is only data. Content is read byte for byte (`info/attributes` overrides any `.gitattributes`), so a tree is
the same on every machine.
"""

import errno
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from selfplay import subprocesses
from selfplay.repository.disk import raise_mentioned
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.running import OutOfBounds, ProgramBounds, execute

RAW_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -eol -export-ignore -export-subst\n"
SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.quotePath": "false",
    "core.symlinks": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "protocol.http.allow": "always",
    "protocol.ssh.allow": "always",
    "fetch.unpackLimit": "1",  # one pack, not one file per object
    "fetch.writeCommitGraph": "false",
    "core.commitGraph": "false",  # read objects, not files that summarise them
    "core.multiPackIndex": "false",
    "core.bigFileThreshold": "32m",  # larger ones are streamed, not held in memory
    "core.packedGitWindowSize": "64m",
    "core.packedGitLimit": "512m",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "http.followRedirects": "false",  # `transport` decides about redirects
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
}
AUTHOR = ("selfplay", "selfplay@localhost")
UNASKED = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "GIT_ATTR_NOSYSTEM": "1", "LC_ALL": "C",
                 "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}  # fmt: skip
KEPT = re.compile(
    r"GIT_(SSH(_COMMAND|_VARIANT)?|(PROXY_)?SSL_\w+|EXEC_PATH|HTTP_USER_AGENT|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))"
)
"""The user's variables for git's connections. Others, such as `GIT_DIR`, which git sets for its child processes, name
another repository."""
AT_ONCE = 16
"""Processes and threads that a fetch may have at once."""
EPOCH = 946_684_800  # commits made here count from this date, one day apart, so that ids repeat


def settings_env(settings: Mapping[str, str]) -> dict[str, str]:
    """Git settings as the environment variables that git reads before any file."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _of_another(name: str) -> bool:
    return name.startswith("GIT_") and KEPT.fullmatch(name) is None


class GitError(Exception):
    """A git command failed: its exit `status` and what it wrote to `stderr`."""

    def __init__(self, status: int, stderr: str) -> None:
        super().__init__(f"git exited {status}: {stderr}")
        self.status, self.stderr = status, stderr


@dataclass(frozen=True)
class TreeEntry:
    """One path of a tree: `mode` as git prints it; undecodable bytes of `path` are surrogates."""

    mode: str
    oid: str
    path: str


@dataclass(frozen=True)
class GitDir:
    """A bare repository of ours at `path`."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "GitDir":
        """Create an empty store. The parent folder must exist."""
        store = cls(path)
        store.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", os.fspath(path))
        (path / "info").mkdir(exist_ok=True)
        (path / "info" / "attributes").write_text(RAW_ATTRIBUTES)
        return store

    def size(self) -> int:
        """Bytes of its packs."""
        return sum(entry.stat().st_size for entry in os.scandir(self.path / "objects" / "pack"))

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str | None] | None = None,
        settings: Mapping[str, str] | None = None,
        user_config: bool = False,
        strict: bool = True,
        bounds: ProgramBounds = ProgramBounds(),
    ) -> bytes:
        """Run one git command; returns its stdout.

        `settings` override `SETTINGS`; a variable of `env` that is None is removed; `user_config` keeps the user's
        configuration (credentials, proxies) for fetches. Raises `GitError` unless `strict` is False, and also if the
        command exceeds its `bounds`; raises `OSError` for a disk that is full or read-only, or a want of processes.
        """
        variables: dict[str, str | None] = {name: None for name in os.environ if _of_another(name)}
        variables |= {**UNASKED, **settings_env({**SETTINGS, **(settings or {})})}
        if not user_config:
            variables |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        elif "GIT_SSH_COMMAND" not in os.environ:
            variables["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15"
        given = {name: value for name, value in (env or {}).items() if value is not None}
        variables = {**(env or {}), **variables, **given}
        options = [] if args[0] == "init" else [f"--git-dir={os.fspath(self.path)}"]
        if work_tree is not None:
            work_tree = work_tree.absolute()  # git resolves relative paths from its own folder
            options.append(f"--work-tree={os.fspath(work_tree)}")
        if index is not None:
            variables["GIT_INDEX_FILE"] = os.fspath(index)
        cwd = work_tree or self.path.parent
        try:
            return _execute(["git", *options, *args], cwd, stdin or b"", variables, strict, bounds)
        except GitError as error:
            if os.strerror(errno.EAGAIN) in error.stderr and not subprocesses.can_start(AT_ONCE):
                raise BlockingIOError(errno.EAGAIN, failure(error)) from error
            raise_mentioned(error.stderr, work_tree if work_tree and args[0] == "checkout-index" else self.path)
            raise

    def line(self, *args: str, **kwargs: object) -> str:
        """The single line that a command prints, as text."""
        return os.fsdecode(self.run(*args, **kwargs)).strip()  # type: ignore[arg-type]

    def resolve(self, revision: str) -> str | None:
        """The commit that `revision` names here, or None."""
        try:
            return self.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitError:
            return None

    def entries(self, treeish: str) -> Iterator[TreeEntry]:
        """Every file, link and submodule of a tree."""
        for record in self.run("ls-tree", "-r", "-z", "--full-tree", treeish).split(b"\0"):
            if record:
                head, _, path = record.partition(b"\t")
                mode, _, oid = head.decode().split(" ")
                yield TreeEntry(mode, oid, os.fsdecode(path))

    def tree_of(self, commit: str) -> str:
        return self.line("rev-parse", f"{commit}^{{tree}}")

    def commit_tree(self, tree: str, message: str, parents: Sequence[str] = (), *, day: int = 0) -> str:
        """A commit by a fixed author, dated `day` days after a fixed date: equal inputs give equal ids."""
        name, email = AUTHOR
        date = f"{EPOCH + 86_400 * day} +0000"
        env = {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
            "GIT_COMMITTER_DATE": date,
        }
        flags = [word for parent in parents for word in ("-p", parent)]
        return self.line("commit-tree", *flags, tree, stdin=message.encode(), env=env)

    def write_folder(self, folder: Path, *, ignored: bool = True) -> str:
        """Store a folder's files; returns the tree id. With `ignored` files that its `.gitignore` names are
        included."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
            index = Path(own, "index")
            force = ["--force"] if ignored else []
            self.run("add", "--all", *force, ".", work_tree=folder, index=index)
            return self.line("write-tree", index=index)

    def checkout(self, treeish: str, folder: Path) -> None:
        """Write a tree's files into an empty `folder`, byte for byte."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
            index = Path(own, "index")
            self.run("read-tree", treeish, index=index)
            self.run("checkout-index", "--all", "--force", "--quiet", work_tree=folder, index=index)


def _execute(
    command: list[str], cwd: Path, stdin: bytes, env: Mapping[str, str | None], strict: bool, bounds: ProgramBounds
) -> bytes:
    try:
        status, out, errors = execute(command, cwd, stdin, env, bounds)
    except OutOfBounds as error:
        raise GitError(-1, f"fatal: git {error}") from error
    if status != 0 and strict:
        raise GitError(status, errors.strip())
    return out


def failure(error: GitError) -> str:
    """The first informative line that git wrote."""
    lines = [line.strip() for line in error.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))]
    return (telling or lines or [f"git exited {error.status}"])[0]


def require_commit(store: GitDir, revision: str, source: str) -> str:
    """`store.resolve`, or a `SourceError` naming the revision."""
    commit = store.resolve(revision)
    if commit is None:
        raise SourceError(f"{source} has no revision {revision!r}", "Name a branch, a tag or a commit that exists.")
    return commit
