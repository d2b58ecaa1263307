"""Builds that attack, each a small repository: data for `test_hostile_builds.py` and for the table of abuse.

`SECRET` in a text is the path of a 0700 folder of the host with a source and its byte-code; `TOKEN` marks processes.
"""

from dataclasses import dataclass, field

SETUP = "bash attack.sh"
DEEP = """
import os
for _ in range(1200):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").close()
"""
LEFT, READ, USED, FULL = "leaves too much", "cannot be read", "cannot be used", "filled the build's disk"
CHECKED, RUBBISH = "checking the build exited", "does not run our programs as they are"


@dataclass(frozen=True)
class Attack:
    """One hostile repository. `files`: its content; `setup`: the command a user gives, which runs `attack.sh` in most.

    `ends`: a pattern in the error that the build ends with; empty when it ends well, with nothing of the attack in it.
    `or_well`: it depends on the backend's division of the disk which of the two.
    """

    name: str
    what: str
    files: dict[str, str] = field(default_factory=dict)
    setup: str | None = SETUP
    ends: str = ""
    or_well: bool = False


def tree(name: str, what: str, script: str, ends: str = "", *, or_well: bool = False) -> Attack:
    """An attack in a repository of no language we know: only its setup command runs."""
    return Attack(name, what, {"attack.sh": script, "package.json": "{}"}, ends=ends, or_well=or_well)


def python(name: str, what: str, script: str, ends: str = "", conftest: str = "", **more: str) -> Attack:
    """An attack on a Python environment."""
    files = {"attack.sh": script, "tool.py": "", "conftest.py": conftest, **more}
    return Attack(name, what, files, ends=ends)


def fake(name: str, what: str, answer: str, ends: str) -> Attack:
    """An interpreter that answers our program with the output of `answer`, and is the real one otherwise."""
    script = (
        "mv /env/bin/python /env/bin/real; cat > /env/bin/python <<'END'\n#!/bin/sh\n"
        f'case "$4" in *remove_copies*) {answer};; *) exec /env/bin/real "$@";; esac\nEND\nchmod 755 /env/bin/python'
    )
    return python(name, what, script, ends)


def program(text: str) -> str:
    return f"python3 - <<'END'\n{text}\nEND\n"


TREES = (
    tree(
        "setuid",
        "new files with setuid, setgid and sticky bits, open to all",
        "for m in 4755 2755 6777 1777 666; do "
        "cp /bin/true new-$m; chmod $m new-$m; done; mkdir d; chmod 7777 d; cp /bin/true d/x; chmod 6777 d/x",
    ),
    tree(
        "sparse",
        "40 sparse files of 60 MiB each, to be copied until the disk is full",
        "for i in $(seq 40); do truncate -s 60M sparse$i; done",
        LEFT,
    ),
    tree(
        "hard-links",
        "a file of 1 MiB with 500 names",
        "head -c 1M /dev/zero > f; for i in $(seq 500); do ln f f$i; done",
        LEFT,
    ),
    tree(
        "inodes",
        "as many empty files as the disk holds",
        program(
            "import itertools\nfor n in itertools.count():\n    try: open(f'f{n}', 'w').close()\n"
            "    except OSError: break"
        ),
        FULL,
        or_well=True,
    ),
    tree(
        "disk",
        "everything written full before our programs run",
        "for d in . /tmp ~ /dev/shm; do head -c 1G /dev/zero > $d/fill 2>/dev/null; done; true",
        FULL,
        or_well=True,
    ),
    tree("deep", "a tree of 1,200 folders, one in the other", program(DEEP)),
    tree(
        "special",
        "a pipe, a socket, a device and a pipe that is named like our list of excluded files",
        "mkfifo pipe "
        ".gitignore; mknod null c 1 3; " + program("import socket; socket.socket(socket.AF_UNIX).bind('socket')"),
    ),
    tree(
        "tracked",
        "tracked files overwritten, replaced by a link to the host, by a folder, by a pipe, removed",
        "echo changed > kept; ln -sf /etc/passwd linked; rm other; mkdir other; echo x > other/new; rm piped; "
        "mkfifo piped; rm -rf folder; echo x > folder; rm gone",
    ),
    tree(
        "git",
        "new files in .git and below names like it",
        "mkdir -p .git/hooks .GIT sub/.git; echo x > .git/config; "
        "echo 'gitdir: SECRET' > sub/.git/f; printf '#!/bin/sh' > .git/hooks/post-checkout; echo x > .GIT/x",
    ),
    tree(
        "names",
        "names with line ends, control characters, no UTF-8 and 255 bytes",
        program(
            "import os\nfor n in (b'a\\nb', b'\\x1b[2J', b'\\xff\\xfe', b'n' * 255, b'-rf', b'*', b'!x', b' '):\n"
            "    open(n, 'w').close()\nopen(b'line\\n!*', 'w').close()"
        ),
    ),
    tree(
        "links",
        "links and hard links to files of the host",
        "ln -s SECRET leak; ln -s SECRET/secret.py leak.py; "
        "ln /etc/passwd stolen; ln -s ../../../../../../root up; ln -s /proc/1/root/SECRET by-proc; "
        "cp -r SECRET copied; true",
    ),
    tree(
        "processes",
        "processes in the background, in sessions of their own",
        "for i in $(seq 50); do "
        "setsid nohup sleep TOKEN >/dev/null 2>&1 & done; (setsid sleep TOKEN &) ; "
        "trap '' TERM HUP; sleep TOKEN & disown -a",
    ),
    tree(
        "fork-bomb",
        "processes without end",
        program(
            "import os, time\nfor _ in range(20000):\n    try:\n        if os.fork() == 0: time.sleep(600)\n"
            "    except OSError: break"
        ),
    ),
    tree("output", "400 MB of output and lines of 100 MB", "yes | head -c 300M; head -c 100M /dev/zero; true"),
    tree(
        "terminal",
        "output that controls a terminal, in a step that fails",
        "printf '\\033[2J\\033]0;owned\\007'; exit 3",
        "the setup command exited 3",
    ),
    tree(
        "closed",
        "files and folders that nobody may read, the tree itself among them",
        "mkdir closed; touch closed/x new; chmod 0 new closed; chmod 0 .",
        f"exited 126|{READ}",
    ),
    tree(
        "ours",
        "folders, links and pipes named like everything we make",
        "cd /tmp; mkdir report manifest.json "
        "after_build.py constraints.txt generated; mkfifo pack.py list; ln -s /etc/passwd tmp",
    ),
    tree(
        "moved",
        "the tree replaced from within, its folders exchanged for links",
        "rm -rf folder; ln -s / folder; mkdir x; ln -s ../../../../etc x/etc; echo new > x/new",
    ),
    tree(
        "mounts",
        "namespaces, mounts and devices of its own",
        "unshare -Ur mount -t tmpfs none /testbed; "
        "mount --bind /etc /testbed; mknod sda b 8 0; chroot / true; nsenter -t 1 -m true; true",
    ),
    tree("big", "a new file of more than the disk", "head -c 5700M /dev/zero > big", FULL),
)
