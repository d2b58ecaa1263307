"""What the four tools do in a real sandbox."""

import time
from typing import Any

import pytest

from selfplay.agent import Call
from selfplay.agent.episode import run_call
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.toolset import OBSERVATION_CHARS, ToolContext, ToolResult
from selfplay.sandbox import Sandbox


def used(sandbox: Sandbox, tool: str, hand_in: tuple[str, ...] = (), **arguments: Any) -> ToolResult:
    return run_call(SSR_TOOLS, Call(tool, arguments), ToolContext(sandbox, 100.0, hand_in))


def test_a_path_too_long_to_look_at_is_not_submitted(sandbox: Sandbox) -> None:
    """The command that looks for the files cannot even be started, and so names none that is missing."""
    result = used(sandbox, "submit", ("a.txt", "b.txt"), folder="y" * 200_000)
    assert result.submission is None
    assert (result.output, result.exit_code) == ("submit: the files cannot be checked; nothing was submitted", 1)


def test_a_long_observation_keeps_its_head_and_its_tail(sandbox: Sandbox) -> None:
    seen = used(sandbox, "bash", command="echo first; seq 1000000; echo last")
    assert seen.output.startswith("first\n1\n") and seen.output.endswith("1000000\nlast\n")
    assert len(seen.output) <= OBSERVATION_CHARS + 60 and "characters cut ...]" in seen.output


def edited(sandbox: Sandbox, path: str, content: bytes, old: str, new: str) -> tuple[str, bytes]:
    sandbox.write_file(f"/testbed/{path}", content, 0o755)
    result = used(sandbox, "edit", path=path, old=old, new=new)
    return result.output, sandbox.read_file(f"/testbed/{path}")


def test_edit_replaces_one_place_and_nothing_else(sandbox: Sandbox) -> None:
    before = b"\xff\xfe one\r\ntwo \xe9\n"
    said, after = edited(sandbox, "a b'ü.txt", before, "one\r\ntwo", "1")
    assert said == "edited /testbed/a b'ü.txt" and after == b"\xff\xfe 1 \xe9\n"
    assert sandbox.run(["stat", "-c", "%a", "a b'ü.txt"], timeout=10).stdout == b"755\n"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("three", "does not occur in"),
        ("one", "occurs 2 times in"),
        ("", "does not occur in"),
        ("aa", "occurs 2 times in"),
    ],
)
def test_edit_that_is_not_one_place_changes_nothing(sandbox: Sandbox, old: str, said: str) -> None:
    before = b"one one aaa\n"
    output, after = edited(sandbox, "f", before, old, "x")
    assert said in output and output.endswith("it must occur exactly once") and after == before


@pytest.mark.parametrize("old", ["a" * 200_000, "a" * 200_000 + "b", "ab", "a" * 20])
def test_edit_of_a_large_file_takes_time_linear_in_it(sandbox: Sandbox, old: str) -> None:
    """A pattern that overlaps itself, tried at every place: 12 s and more where each try costs its own length."""
    sandbox.write_file("/testbed/f", b"a" * 400_000, 0o644)
    started = time.thread_time()
    result = used(sandbox, "edit", path="f", old=old, new="x")
    assert time.thread_time() - started < 1
    assert ("does not occur in" in result.output) == ("b" in old) and "it must occur exactly once" in result.output


def test_create_makes_folders_and_keeps_the_mode_of_a_file_that_exists(sandbox: Sandbox) -> None:
    assert used(sandbox, "create", path="new/deep/-f.sh", content="größe\n").output == "wrote /testbed/new/deep/-f.sh"
    used(sandbox, "bash", command="chmod 750 new/deep/-f.sh")
    used(sandbox, "create", path="/testbed/new/deep/-f.sh", content="")
    assert used(sandbox, "bash", command="stat -c '%a %s' new/deep/-f.sh").output == "750 0\n"
