"""SIGTERM, which a scheduler or a container that stops sends, ends a command as Ctrl-C does; none is swallowed."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from selfplay import cli
from selfplay.cli.app import end_as_by_interrupt

BEGIN = "import asyncio, os, signal, time\nfrom selfplay.cli.app import handle_interrupts\nhandle_interrupts()\n"
WAITS = {
    "in a call": """
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            print("closed")
        """,
    "where nothing can be raised": """
        class Slow:
            def __del__(self):
                print("ready", flush=True)
                time.sleep(60)
        try:
            slow = Slow()
            del slow
            time.sleep(60)
        except KeyboardInterrupt:
            print("closed")
        """,
    "on an event loop": """
        async def work():
            try:
                print("ready", flush=True)
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)
                print("closed")
        try:
            asyncio.run(work())
        except KeyboardInterrupt:
            print("interrupted")
        """,
}


def ended(program: str, *, ignored: bool = False) -> tuple[int, list[str]]:
    """The exit code and the output of a program that gets SIGTERM when it is ready. `ignored`: it ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        command = [sys.executable, "-c", BEGIN + textwrap.dedent(program)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    return process.returncode, out.split()


@pytest.mark.parametrize("ignored", [False, True], ids=["", "Ctrl-C ignored"])
@pytest.mark.parametrize("where", WAITS)
def test_it_is_an_interrupt(where: str, ignored: bool) -> None:
    code, said = ended(WAITS[where], ignored=ignored)
    assert (code, said[:1]) == (0, ["closed"])
    assert said[1:] == (["interrupted"] if where == "on an event loop" else [])


def test_a_fork_ends_at_once() -> None:
    """Else what a program of ours forks would unwind our stack."""
    fork = """
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writes, b"x")
                time.sleep(60)
            finally:
                print("unwound", flush=True)
        os.read(reads, 1)
        os.kill(child, signal.SIGTERM)
        code = os.waitpid(child, 0)[1]
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            print(os.WTERMSIG(code))
        """
    assert ended(fork) == (0, [str(int(signal.SIGTERM))])


def test_the_command_handles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(cli, "app", lambda: None)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # as it was, for other tests
    try:
        cli.main()
        assert os.environ["PYTHONSAFEPATH"] == "1", "no child of a library imports from the user's folder"
        assert signal.getsignal(signal.SIGTERM) is end_as_by_interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_errors_where_nothing_can_be_raised_are_told() -> None:
    program = """
        class Broken:
            def __del__(self):
                raise ValueError("told")
        Broken()
        """
    command = [sys.executable, "-c", BEGIN + textwrap.dedent(program)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    assert "ValueError: told" in ended.stderr


LOADING = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
wanted, sys.argv = sys.argv[1], ["selfplay", "--help"]
from selfplay.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "selfplay.cli.machine", "selfplay.plain_text"])
def test_ctrl_c_while_modules_load_is_told_in_one_line(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADING, module], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "selfplay: interrupted\n")


def test_the_ends_of_programs_are_told_whoever_started_us() -> None:
    """Some daemons start programs with SIGCHLD ignored: a fetch that failed counted as one that worked."""
    code = "import subprocess; from selfplay.cli.app import handle_interrupts; handle_interrupts(); "
    code += "print(subprocess.run(['false']).returncode)"
    shell = f"trap '' CHLD; exec {sys.executable} -c \"$0\""
    done = subprocess.run(["bash", "-c", shell, code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
