"""Starts the agent in a container: attaches the stream, starts the container, and sends everything through the
stream."""

import time

from selfplay.sandbox import messages
from selfplay.sandbox.docker.client import Engine
from selfplay.sandbox.docker.layers import MergedTree
from selfplay.sandbox.docker.stream import AttachedLink
from selfplay.sandbox.errors import MachineError, SandboxLost
from selfplay.sandbox.launching import START_SECONDS
from selfplay.sandbox.live import receive


def enter(engine: Engine, id: str, program: bytes, merged: MergedTree) -> AttachedLink:
    """Start the container and send the agent and the tree into it. Raises `MachineError` with its output, `SandboxLost`
    if it ended without output, and the engine's own errors."""
    attached = engine.api.attach_socket(id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    link = AttachedLink(attached)
    link.settimeout(START_SECONDS)
    try:
        engine.api.start(id)
        greet(engine, link, program, merged)
    except BaseException:
        link.close()
        raise
    return link


def greet(engine: Engine, link: AttachedLink, program: bytes, merged: MergedTree) -> None:
    """Send everything, and wait for the agent's first message."""
    expected = messages.pack([b"ready"])
    try:
        link.sendall(program)
        for piece in merged.packed():
            link.sendall(piece)
    except TimeoutError as error:
        raise SandboxLost(f"the sandbox did not start within {START_SECONDS:.0f} s") from error
    except OSError:
        pass  # it ended: its last output follows
    try:
        if receive(link, len(expected), time.monotonic() + START_SECONDS) == expected:
            return
    except TimeoutError as error:
        raise SandboxLost(f"the sandbox did not start within {START_SECONDS:.0f} s") from error
    except (OSError, EOFError):
        pass
    if said := link.errors.decode("utf-8", "replace").strip().rpartition("\n")[2]:
        raise MachineError(f"the sandbox did not start: {said}")
    engine.api.ping()  # it may have ended because the engine did
    raise SandboxLost("the sandbox did not start: no reason was given")
