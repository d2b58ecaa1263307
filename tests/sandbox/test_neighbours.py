"""What the kernel counts for each user: one sandbox that takes all it can leaves enough for the next."""

import contextlib
import os
import resource
import threading
import time

import pytest
from ordinary_user import NOBODY, by_root, of_the_sandbox

from selfplay.sandbox import Backend, SandboxError, World, ulimits
from selfplay.sandbox.hibernation import OPEN_FILES
from selfplay.sandbox.ulimits import descriptors

from .attacks import SMALL, python

pytestmark = pytest.mark.slow

START = """
import array, ctypes, fcntl, os, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
held = []
signal.pthread_sigmask(signal.SIG_BLOCK, {40})
def flight():
    held.append(socket.socketpair())
    ends = array.array("i", [0] * 250)
    held[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
def timer():
    assert libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0
def pending():
    assert libc.sigqueue(os.getpid(), 40, None) == 0
def watch():
    assert libc.inotify_init() >= 0
def queue():
    held.append(0)
    assert libc.mq_open(b"/own%d" % len(held), 0o102, 0o600, None) >= 0
def pipe():
    held.append(os.pipe())
    fcntl.fcntl(held[-1][1], 1031, 1 << 20)
"""
HOG = (
    START
    + """
count = 0
try:
    while count < 200000:
        WHAT()
        count += 1
except (OSError, AssertionError): pass
open("full", "a").write("x")
time.sleep(60)
"""
)
NEED = START + "for _ in range(3): WHAT()\nprint('had')"
COUNTED = {
    "flight": "descriptors in flight",
    "timer": "timers",
    "pending": "pending signals",
    "watch": "inotify instances",
    "queue": "bytes of message queues",
}


@pytest.mark.parametrize("what", COUNTED)
def test_a_neighbour_s_greed(backend: Backend, what: str) -> None:
    with backend.open(World(), SMALL) as hog:
        hog.write_file("hog.py", HOG.replace("WHAT", what).encode())

        def greed() -> None:
            with contextlib.suppress(SandboxError):  # closed at the end of the test
                hog.run("for n in 1 2 3 4; do python3 -S hog.py & done; wait", timeout=100)

        thread = threading.Thread(target=greed)
        thread.start()
        time.sleep(3)
        try:
            with backend.open(World(), SMALL) as other:
                assert other.run("echo alive | cat", timeout=20).stdout == b"alive\n"
                if (
                    what != "flight" or os.getuid() == 0
                ):  # an ordinary user's sandboxes share those, as docs/abuse.md says
                    done = python(other, NEED.replace("WHAT", what))
                    assert done.stdout == b"had\n", done.text
        finally:
            hog.close()
            thread.join()


def test_what_a_neighbour_leaves_of_pipes_still_works(backend: Backend) -> None:
    with backend.open(World(), SMALL) as hog, backend.open(World(), SMALL) as other:
        thread = threading.Thread(target=lambda: python(hog, HOG.replace("WHAT", "pipe"), timeout=5))
        thread.start()
        time.sleep(1.5)
        assert other.run("head -c 5M /dev/zero | wc -c", timeout=20).stdout == b"5242880\n"
        thread.join()


def test_a_sandbox_of_our_own_uid_leaves_us_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (1024, 1024))
    assert descriptors(os.getuid()) + 2 * 253 < 1024  # one message carries 253, and two may pass the check at once
    monkeypatch.setattr(ulimits, "FILES", 10**9)
    assert descriptors(os.getuid() + 1) == OPEN_FILES
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert descriptors(os.getuid()) == OPEN_FILES
    for files, share in ((4 * 512 * 2000, 2000), (100_000, 1024)):  # a quarter of the machine's, and enough for each
        monkeypatch.setattr(ulimits, "FILES", files)
        assert descriptors(os.getuid()) == share


@by_root
def test_the_same_for_an_ordinary_user_with_few_descriptors() -> None:
    """`ulimit -n 1024` as uid 65534: no sandbox started beside one that had descriptors in flight, without a reason."""
    few = ["bash", "-c", 'ulimit -n 1024; exec "$@"', "bash"]
    done = of_the_sandbox(NOBODY, ["test_neighbours.py"], "-k", "not docker", timeout=200, under=few)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


TERMINALS = "import os\nn = 0\ntry:\n while True: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY); n += 1\n"
TERMINALS += "except OSError: print(n, flush=True)\n"


def test_one_cannot_take_every_terminal_of_the_machine(backend: Backend) -> None:
    if backend.name == "docker":
        pytest.skip("an engine's devpts has no limit of its own (docs/abuse.md)")
    with backend.open(World(), SMALL) as one, backend.open(World(), SMALL) as two:
        thread = threading.Thread(target=python, args=(one, f"{TERMINALS}import time; time.sleep(2)"))
        thread.start()
        time.sleep(1)
        assert python(two, "import os; print(os.openpty())").stdout.startswith(b"(")
        thread.join()
        taken = int(python(one, TERMINALS).stdout)
    assert taken == 64  # of the machine's 3,072
