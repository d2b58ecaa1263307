"""Whose fault a failure around a sandbox is stands in its type."""

import ast
import errno
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

import selfplay
from selfplay.sandbox import (
    Backend,
    Completed,
    InsideError,
    Limits,
    Sandbox,
    SandboxError,
    SandboxLost,
    World,
    agent_requests,
    errors,
    launcher,
    launching,
)

ROOT = Path(selfplay.__file__).parent
BASES = {"SandboxError", "SandboxGone"}
"""What says nothing of the cause."""


def test_no_error_is_made_without_its_cause() -> None:
    """A plain `SandboxError` was raised for what a stranger's files decide: the work was done again nine times."""
    made = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BASES
    ]
    assert not made


def test_what_fails_through_what_is_inside_is_no_lost_sandbox() -> None:
    assert not issubclass(InsideError, SandboxError)
    direct = {kind.__name__ for kind in SandboxError.__subclasses__() if kind.__module__ == errors.__name__}
    assert direct == {"MachineError", "WorldRefused", "SandboxBusy", "SandboxGone"}


@pytest.fixture
def sandbox(backend: Backend) -> Iterator[Sandbox]:
    with backend.open(World()) as opened:
        yield opened


FAILS: dict[str, Callable[[Sandbox], object]] = {
    "a folder": lambda sandbox: sandbox.read_file("/tmp"),
    "a pipe": lambda sandbox: (sandbox.run("mkfifo /tmp/pipe", timeout=9), sandbox.read_file("/tmp/pipe")),
    "larger than asked for": lambda sandbox: (
        sandbox.write_file("/tmp/large", bytes(99)),
        sandbox.read_file("/tmp/large", 98),
    ),
    "a null byte": lambda sandbox: sandbox.write_file("/tmp/a\0b", b""),
    "a read-only place": lambda sandbox: sandbox.write_file("/usr/new", b""),
    "a command with a null byte": lambda sandbox: sandbox.run("echo \0", timeout=9),
    "an empty command": lambda sandbox: sandbox.run([], timeout=9),
    "no such folder": lambda sandbox: sandbox.run("true", timeout=9, cwd="/no/such/folder"),
    "a file as the folder": lambda sandbox: sandbox.run("true", timeout=9, cwd="/etc/passwd"),
    "no such program": lambda sandbox: sandbox.run(["/no/such/program"], timeout=9),
    "too many arguments": lambda sandbox: sandbox.run(["true", "x" * 200_000], timeout=9),
}


@pytest.mark.parametrize("what", FAILS)
def test_the_sandbox_lives_after_what_fails_inside(sandbox: Sandbox, what: str) -> None:
    """Either the command's own result says so, as a shell would, or it is an `InsideError`; never a lost sandbox."""
    try:
        done = FAILS[what](sandbox)
        assert isinstance(done, Completed) and done.exit_code
    except InsideError as error:
        assert error.message
    assert sandbox.run("echo alive", timeout=9).stdout == b"alive\n"


@pytest.mark.parametrize(
    ("number", "lost"),
    [(errno.ENOMEM, True), (errno.ENFILE, True), (errno.EMFILE, True), (errno.EIO, False), (errno.ENOSPC, False),
     (errno.EISDIR, False), (errno.ELOOP, False), (errno.ENAMETOOLONG, False)],
)  # fmt: skip
def test_what_the_machine_has_too_little_of_is_nobodys_fault(number: int, lost: bool) -> None:
    error = agent_requests.file_error("/testbed/file", number, os.strerror(number), Limits())
    assert isinstance(error, SandboxLost if lost else InsideError)


@pytest.mark.parametrize("short", [True, False])
def test_a_want_of_memory_is_the_machine_s_where_it_has_none_left(monkeypatch: pytest.MonkeyPatch, short: bool) -> None:
    """Python raises it for a text nested too deep, too: ten bugs with such a text ended a run."""
    monkeypatch.setattr(errors, "SOME_MEMORY", sys.maxsize if short else 1 << 20)
    lost = errors.as_lost(MemoryError(), "an attempt could not be played")
    assert isinstance(lost, SandboxLost) is short


@pytest.mark.slow
def test_a_command_that_the_agent_cannot_start_is_nobodys_fault(sandbox: Sandbox) -> None:
    """Nothing of a command lives on, so there is always a process for the next; if not, that is the machine's."""
    assert isinstance(agent_requests.not_run(os.strerror(errno.EAGAIN)), SandboxLost)
    sandbox.run("for n in $(seq 600); do sleep 60 & done; true", timeout=20)
    assert sandbox.run("echo next", timeout=9).stdout == b"next\n"


def test_a_link_to_memory_is_its_makers_fault(sandbox: Sandbox) -> None:
    """An episode that hands in such a link has failed; it is not played again."""
    sandbox.run("ln -s /proc/self/mem script.sh", timeout=9)
    with pytest.raises(InsideError, match=r"Permission denied|Input/output error"):
        sandbox.read_file("script.sh")


def test_a_launcher_that_can_start_no_process_says_so_and_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It died, and with it every sandbox: two that hold all processes an ordinary user may have were enough."""

    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refused)
    errors = os.memfd_create("errors")
    launcher.start({}, [-1, errors], launcher.Common(-1, -1, []))
    assert launching.text(errors) == "no process can be started: Resource temporarily unavailable"


def test_a_folder_that_is_read_costs_no_descriptor(sandbox: Sandbox) -> None:
    """Some 1,200 of them made a sandbox useless."""
    for _ in range(1500):
        with pytest.raises(InsideError, match="is not a regular file"):
            sandbox.read_file("/tmp")
    assert sandbox.run("echo alive", timeout=9).stdout == b"alive\n"


GUARDS = {"undisturbed", "unless_killed", "believed", "believed_here"}
"""One of them looks at the end of each program of ours: a kill, or a time without a core, is nobody's fault."""
OF_STRANGERS = {
    ("agent/tool_use.py", "bash"): "a model's command: its end is the tool's result",
    ("workbench/running.py", "_in_sandbox"): "a test script: `run_tests` runs it again",
    ("workbench/parsing.py", "parse_log"): "a bug's parser: a kill is `ParserKilled`, which runs again",
    ("repository/building/build.py", "run"): "a step of a build: `_undisturbed` believes its end",
    ("commands/logs.py", "_evaluated"): "an evaluation script, whose log is what was asked for",
}


def test_the_end_of_each_program_of_ours_is_looked_at() -> None:
    """One kill of the program that asks what is installed made a right prediction one that cannot be graded."""
    assert {place for place, function in running() if not guarded(function)} == {*OF_STRANGERS}


OF_PROJECTS = {
    ("scripted/injector/traced.py", "_run"): "the project's suite: what is killed each time is believed at last",
    ("scripted/injector/traced.py", "_installed"): "the project's Python, likewise",
    ("oracle/leak_audit/audit.py", "audit"): "the world's `env` is its sandbox's own",
}


@pytest.mark.slow
def test_a_program_of_ours_is_not_one_that_the_build_wrote() -> None:
    """A repository that installs a `cat` which kills itself was the machine's fault, eight times and in each list."""
    ours = [(place, function) for place, function in running() if guarded(function, {"undisturbed", "unless_killed"})]
    assert {place for place, function in ours if "own_env" not in ast.unparse(function)} == {*OF_PROJECTS}


def running() -> Iterator[tuple[tuple[str, str], ast.AST]]:
    """((file, name), function) of all that have a sandbox run a command, but those of its own room."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.parts[len(ROOT.parts)] != "sandbox":
            for one in ast.walk(ast.parse(path.read_text())):
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and runs(one):
                    yield (str(path.relative_to(ROOT)), one.name), one


def runs(function: ast.AST) -> bool:
    """Whether it has a sandbox run a command."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(
        isinstance(call, ast.Attribute) and call.attr == "run" and ast.unparse(call.value).endswith("box")
        for call in calls
    )


def guarded(function: ast.AST, guards: Collection[str] = GUARDS) -> bool:
    names = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(isinstance(name, ast.Name) and name.id in guards for name in names)
