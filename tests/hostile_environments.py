"""Builds that attack through the environment of a Python project; as `hostile_builds.py`."""

from hostile_builds import CHECKED, DEEP, FULL, LEFT, READ, RUBBISH, TREES, USED, Attack, fake, program, python

LINK_BYTECODE = """
import os, shutil
prefix = os.environ.get("PYTHONPYCACHEPREFIX")
if prefix:
    for place in ("testbed", "env"):
        shutil.rmtree(f"{prefix}/{place}", ignore_errors=True)
        os.symlink("SECRET", f"{prefix}/{place}")
"""

ENVIRONMENTS = (
    python(
        "bytecode-link",
        "the byte-code folders replaced by links to a 0700 folder of root",
        "true",
        "looking for byte-code exited 1",
        LINK_BYTECODE,
    ),
    python(
        "bytecode-link-inside",
        "the byte-code folders replaced by links to a folder that sandboxes show",
        "true",
        READ,
        LINK_BYTECODE.replace("SECRET", "/usr/lib"),
    ),
    python(
        "bytecode-forged",
        "byte-code for no source, with bad names, as a pipe and as a link",
        "true",
        "",
        """
import os
prefix = os.environ.get("PYTHONPYCACHEPREFIX")
if prefix:
    os.makedirs(f"{prefix}/testbed/none", exist_ok=True)
    for n in ("none/no.cpython-311.pyc", "nothing.pyc", "tool.txt", ".pyc", "tool.cpython-311.pyc.sh"):
        open(f"{prefix}/testbed/{n}", "w").write("forged")
    os.mkfifo(f"{prefix}/testbed/tool.fifo.pyc"); os.symlink("SECRET/secret.py", f"{prefix}/testbed/tool.link.pyc")
""",
    ),
    python(
        "bytecode-sparse",
        "byte-code of sources, sparse, 60 MiB each",
        "true",
        LEFT,
        """
import os
prefix = os.environ.get("PYTHONPYCACHEPREFIX")
if prefix:
    for n in range(40):
        with open(f"{prefix}/testbed/tool.{n}.pyc", "wb") as stream: stream.truncate(60 << 20)
""",
    ),
    python(
        "bytecode-through",
        "byte-code placed through a link of the environment into the machine's own library",
        "ln -s /usr/lib/python3 /env/through",
        "",
        """
import os
prefix = os.environ.get("PYTHONPYCACHEPREFIX")
if prefix:
    os.makedirs(f"{prefix}/env/through/dist-packages", exist_ok=True)
    for n in ("hostile", "_distutils_hack", "uno", "lsb_release"):
        open(f"{prefix}/env/through/dist-packages/{n}.cpython-311.pyc", "w").write("forged")
""",
    ),
    python("env-full", "5.7 GB written to the environment", "head -c 5700M /dev/zero > /env/big", FULL),
    python(
        "env-sparse",
        "5.7 GB of sparse files in the environment",
        "for i in $(seq 95); do truncate -s 60M /env/sparse$i; done",
        LEFT,
    ),
    python(
        "env-setuid",
        "setuid programs in the environment",
        "cp /bin/true /env/bin/root; chmod 6777 /env/bin/root; "
        "chmod 7777 /env/bin; touch /env/x; chmod 4000 /env/bin/root",
    ),
    python("env-deep", "1,200 folders, one in the other, in the environment", "cd /env; " + program(DEEP), LEFT),
    python(
        "env-links",
        "links of the environment to the host",
        "ln -s SECRET /env/leak; ln -s /root /env/root; "
        "ln -s ../../../../../etc/shadow /env/lib/shadow; ln -s /env/../etc/shadow /env/up; "
        "ln -s lib/../.. /env/out",
    ),
    python(
        "env-special",
        "pipes, sockets and a closed folder in the environment",
        "mkfifo /env/pipe /env/bin/activate2; mkdir /env/closed; touch /env/closed/x; chmod 0 /env/closed",
    ),
    python(
        "env-cache",
        "a tree of 1,200 folders and a link in place of uv's cache",
        "mkdir -p /env/.uv-cache; cd /env/.uv-cache; " + program(DEEP) + "ln -s / /env/.uv-cache/all",
    ),
    python(
        "tools-link",
        "the folder of tools filled with links and a tree",
        "ln -s SECRET /tools/leak; cd /tools; mkdir d; mkfifo d/pipe; chmod 4777 d",
    ),
    fake("fake-endless", "an interpreter that prints gigabytes", "head -c 3000M /dev/zero", CHECKED),
    fake("fake-silent", "an interpreter that prints nothing", "exit 0", RUBBISH),
    fake(
        "fake-types",
        "an interpreter that prints a report of other types",
        """echo '{"changed": 1, "removed": {}, "strays": null, "listing": []}'""",
        RUBBISH,
    ),
    fake(
        "fake-nested",
        "an interpreter that prints JSON nested 300,000 deep",
        "head -c 300000 /dev/zero | tr '\\0' '['",
        RUBBISH,
    ),
    fake(
        "fake-numbers",
        "an interpreter that prints a number of 500,000 digits",
        "head -c 500000 /dev/zero | tr '\\0' '9'",
        RUBBISH,
    ),
    fake(
        "fake-listing",
        "a report that names files outside the tree",
        r"""printf '../etc/passwd\0/etc/passwd\0../../SECRET/secret.py\0' > /tmp/l; """
        """echo '{"changed": [], "removed": [], "strays": [], "listing": "/tmp/l"}'""",
        USED,
    ),
    fake(
        "fake-pipe",
        "a report whose list of files is a pipe's end that is closed, and a device",
        """echo '{"changed": [], "removed": [], "strays": [], "listing": "/tmp/none"}'""",
        READ,
    ),
    python(
        "site",
        "a sitecustomize that prints and leaves",
        "for d in /env/lib/python3*/site-packages; do "
        "echo 'import os; print(\"rubbish\", flush=True); os._exit(0)' > $d/sitecustomize.py; done",
        RUBBISH,
    ),
    python(
        "programs",
        "programs of the same names as ours, first on the path",
        "for p in python3 tar uv rm mkdir git cat "
        "bash sh env; do printf '#!/bin/sh\\necho fake; exit 1\\n' > /env/bin/$p; chmod 755 /env/bin/$p; done",
        "exited 1",
    ),
    python(
        "roots",
        "a pipe and a folder where we write import roots",
        "mkfifo /env/lib/python3*/site-packages/x; "
        "for d in /env/lib/python3*/site-packages; do mkdir -p $d/_selfplay_roots.pth/x; done",
        **{"src/tool2/__init__.py": ""},
    ),
    Attack(
        "setup-py",
        "a setup.py that fills the disk and leaves processes",
        {
            "setup.py": "import os, subprocess\nsubprocess.Popen(['setsid', 'sleep', 'TOKEN'], stdout=-3, stderr=-3)\n"
            "os.makedirs('/env/x', exist_ok=True)\nos.mkfifo('fifo')\nos.symlink('SECRET', 'leak')\n"
            "open('new', 'w').write('x'); os.chmod('new', 0o6777)\n",
            "tool.py": "",
            "conftest.py": "",
        },
        setup=None,
    ),
    Attack(
        "backend",
        "a build backend of its own that attacks while it is asked what it requires",
        {
            "pyproject.toml": "[build-system]\nrequires=[]\nbuild-backend='evil'\nbackend-path=['.']\n[project]\n"
            "name='hostile'\nversion='1.0'\n",
            "tool.py": "",
            "conftest.py": "",
            "evil.py": "import os\nos.symlink('SECRET', 'leak')\nos.system('head -c 5700M /dev/zero > /env/fill')\n",
        },
        setup=None,
        ends=FULL,
    ),
    Attack(
        "conftest",
        "a conftest that leaves setuid files, links and processes while tests are collected",
        {
            "conftest.py": "import os, subprocess\n"
            "subprocess.Popen(['setsid', 'sleep', 'TOKEN'], stdout=-3, stderr=-3)\n"
            "if not os.path.exists('new'):\n    open('new', 'w').close(); os.chmod('new', 0o6777)\n"
            "    os.symlink('SECRET', 'leak')\n",
            "tool.py": "",
        },
        setup="true",
    ),
)
ATTACKS = (*TREES, *ENVIRONMENTS)
