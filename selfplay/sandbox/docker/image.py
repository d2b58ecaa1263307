"""What a container is made of: the machine's own programs, or a user's image.

Without an image of the user's, containers show what bubblewrap shows: the host's `/usr`, read-only, under a small
`/etc` of ours. The image for that holds no program, is made in milliseconds and needs no registry; and the same
programs mean the same answers from both backends. It needs an engine that sees this machine's files. A user's image
(`--image`) brings its own programs, needs bash and a Python, and is what a cluster's nodes can share.
"""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.sandbox import inside
from selfplay.sandbox.docker.client import Engine, patiently, translated
from selfplay.sandbox.programs import find_interpreter
from selfplay.sandbox.protocol import WORKDIR, Mount

SYSTEM = "selfplay-system"
FOLDERS = ("usr", "etc", "proc", "dev", "sys", "tmp", "home", inside.HOME.strip("/"), WORKDIR.strip("/"))


@dataclass(frozen=True)
class Image:
    """An image that the engine has. `env` is its own environment, `mounts` what every container of it is shown,
    `ours` whether its `python` has our version."""

    name: str
    id: str
    python: str
    ours: bool
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()


def named(engine: Engine, name: str) -> Image:
    """A user's image. Raises `ImageUnusable` when the engine has none of that name."""
    with translated(name):
        said = patiently(lambda: engine.api.inspect_image(name))
    variables = dict(entry.split("=", 1) for entry in said["Config"].get("Env") or () if "=" in entry)
    return Image(name, said["Id"], "python3", ours=False, env=variables)


def system(engine: Engine, owner: tuple[int, int]) -> Image:
    """The image that shows this machine's programs, made when the engine does not have it yet."""
    data = archive(owner)
    name = f"{SYSTEM}:{hashlib.sha256(data).hexdigest()[:12]}"
    with translated(name):
        if not engine.api.images(name):
            engine.api.import_image_from_data(data, repository=SYSTEM, tag=name.partition(":")[2])
        identifier = engine.api.inspect_image(name)["Id"]
    python, prefix = find_interpreter()
    shown = [Path("/usr"), *(Path(place) for place in inside.BOUND), *(Path("/", root) for root in inside.ROOTS)]
    mounts = [Mount(path, str(path)) for path in shown if path.is_dir() and not path.is_symlink()]
    mounts += [Mount(prefix, str(prefix))] if prefix else []
    return Image(name, identifier, str(python), ours=True, mounts=tuple(mounts))


def archive(owner: tuple[int, int]) -> bytes:
    """The system image's files: the same bytes for the same machine, so that the name can be their hash."""
    uid, gid = owner
    files = {path: text.encode() for path, text in inside.FILES.items()}
    files |= {path: Path(path).resolve().read_bytes() for path in inside.COPIED if Path(path).is_file()}
    files["/etc/passwd"] = files["/etc/passwd"].replace(b":1000:1000:", b":%d:%d:" % (uid, gid))
    files["/etc/group"] = files["/etc/group"].replace(b":1000:", b":%d:" % gid)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            tar.addfile(member(name, tarfile.DIRTYPE, 0o755))
        for name in inside.ROOTS:
            if Path("/", name).is_symlink():
                link = member(name, tarfile.SYMTYPE, 0o777)
                link.linkname = str(Path("/", name).readlink())
                tar.addfile(link)
        for path, data in sorted(files.items()):
            entry = member(path.strip("/"), tarfile.REGTYPE, 0o644)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry
