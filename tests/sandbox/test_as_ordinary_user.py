"""Root steps down to a uid of its own; an ordinary user stays what they are. Run as root, these tests are both."""

import os

import pytest
from ordinary_user import ORDINARY_ID, by_root, of_the_sandbox

from selfplay.sandbox import Backend, World
from selfplay.sandbox.identity import FIRST_SLOT

from .attacks import SMALL

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine

CHOSEN = [
    "test_containment.py",
    "test_commands.py",
    "test_files.py",
    "test_abuse.py",
    "test_lifecycle.py",
    "test_probe.py",
]


def test_who_owns_what_a_sandbox_writes(backend: Backend) -> None:
    uid, gid = backend.owner()
    expected = (os.getuid(), os.getgid()) if os.getuid() else (64200, 64200)
    assert (uid, gid) == expected
    with backend.open(World(), SMALL) as sandbox:
        ids = [int(word) for word in sandbox.run("id -u; id -g; id -G", timeout=10).stdout.split()]
        assert len(set(ids)) == 1
        assert ids[0] == 1000 if backend.name == "bubblewrap" else ids[0] >= FIRST_SLOT or ids[0] == os.getuid()
        names = sandbox.run(
            "id -un; id -gn; cd; pwd; python3 -c 'import getpass; print(getpass.getuser())'", timeout=10
        )
        assert names.stdout.split() == [b"sandbox", b"sandbox", b"/home/sandbox", b"sandbox"]


@by_root
@pytest.mark.long
def test_an_ordinary_user_gets_the_same() -> None:
    """The other tests of this folder, by a user who can read nothing of ours but a copy, and can use no engine."""
    done = of_the_sandbox(ORDINARY_ID, CHOSEN, "-k", "not docker and not up_to_date", timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
