"""The program sent into a container before its first request: the entry, the agent and their modules.

It is sent as source to an image's own Python, of any version, and as code objects to an interpreter of our version,
which saves the compiling and most of the bytes.
"""

import functools
import marshal
from pathlib import Path

from selfplay.sandbox import agent, seccomp
from selfplay.sandbox.docker import entry
from selfplay.sandbox.launching import INSIDE, code
from selfplay.sandbox.protocol import WORKDIR

READER = """
import posix
def take(size):
    data = b""
    while len(data) < size:
        piece = posix.read(0, size - len(data))
        if not piece:
            posix._exit(0)
        data += piece
    return data
exec(take(int.from_bytes(take(8), "big")))
"""
"""The container's command: read a program and run it."""


@functools.cache
def program(machine: str, ours: bool) -> bytes:
    """The program with its length first. `machine`: the engine's; `ours`: whether the interpreter inside has our
    version."""
    modules = {module.__name__: body(module.__file__, ours) for module in (*INSIDE, entry)}
    text = (
        "import sys, marshal\n"
        f"for name, body in {modules!r}.items():\n"
        "    sys.modules[name] = module = type(sys)(name)\n"
        "    exec(marshal.loads(body) if isinstance(body, bytes) else body, module.__dict__)\n"
        f"sys.modules[{entry.__name__!r}].main({WORKDIR.encode()!r}, {seccomp.program(machine)!r})\n"
        f"body = {body(agent.__file__, ours)!r}\n"
        "exec(marshal.loads(body) if isinstance(body, bytes) else body, {'__name__': '__main__'})\n"
    ).encode()
    if not ours:
        return len(text).to_bytes(8, "big") + text
    whole = marshal.dumps(compile(text, "entry", "exec", optimize=2))
    first = b"import marshal; exec(marshal.loads(take(%d)))" % len(whole)
    return len(first).to_bytes(8, "big") + first + whole


def body(file: str | None, ours: bool) -> bytes | str:
    path = Path(file or "")
    return code(path) if ours else path.read_text()
