"""Whose fault a failure around a sandbox is stands in its type."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import selfplay
from selfplay.sandbox import Backend, Completed, InsideError, Sandbox, SandboxError, World, errors

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
