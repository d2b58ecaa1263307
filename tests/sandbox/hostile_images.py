"""Images that are a stranger's: made without a registry, the worst of them with a `python3` of their own."""

import io
import tempfile
from pathlib import Path

from selfplay.sandbox import messages
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.building import ImageRecipe, build
from selfplay.sandbox.docker.client import Engine

BASE = "selfplay-debian"
BEGINNING = """
import os, time
def take(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data
take(int.from_bytes(take(8), "big"))
while True:
    kind, _, _, path_bytes, size = ENTRY.unpack(take(ENTRY.size))
    if kind == END:
        break
    take(path_bytes + size)
def request():
    take(1)
    return unpack(take, 1 << 30)
def done(text, seconds=0.0, cpu_seconds=0.0):
    os.write(1, pack([b"done", DONE.pack(0, False, False, seconds, cpu_seconds), text, b""]))
os.write(1, pack([b"ready"]))
"""


def derived(engine: Engine, tag: str, lines: str, base: str = BASE) -> str:
    """An image on ours, or another, by lines of a Dockerfile that run nothing."""
    dockerfile = io.BytesIO(f"FROM {base}\n{lines}\n".encode())
    said = engine.api.build(fileobj=dockerfile, tag=tag, rm=True, decode=True)
    assert not [line for line in said if "error" in line]
    return tag


def with_an_agent_of_its_own(engine: Engine, tag: str, body: str) -> str:
    """An image whose `python3` takes no filter and no limit, speaks the agent's protocol, and does what `body` does,
    with `request()` and `done(text)`."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "python3")
        place.write_text("#!/usr/bin/python3 -I\n" + Path(messages.__file__).read_text() + BEGINNING + body)
        place.chmod(0o755)
        build(engine, ImageRecipe(BASE, (("/usr/local/bin", Path(folder)),)), tag)
    return tag


def of_its_own_agent(docker: DockerBackend, tag: str, body: str) -> DockerBackend:
    """A backend for such an image, which is not probed."""
    return DockerBackend(with_an_agent_of_its_own(docker.engine, tag, body))
