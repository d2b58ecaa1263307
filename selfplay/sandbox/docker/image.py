"""The content of a container: the machine's own programs, or a user's image.

Without a user's image, containers contain what bubblewrap shows: the host's `/usr`, read-only, with a small `/etc` of
ours. The image for that contains no program, is made in milliseconds and needs no registry; equal programs give equal
results with both backends. The engine must see this machine's files. A user's image (`--image`) brings its own
programs, needs bash and a Python, and can be shared by the nodes of a cluster.
"""

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from selfplay.sandbox import inside
from selfplay.sandbox.docker import image_files
from selfplay.sandbox.docker.client import Engine, ImageUnusable, patiently, translated
from selfplay.sandbox.docker.image_settings import named_folder, variables, volumes
from selfplay.sandbox.docker.labels import labels
from selfplay.sandbox.kill_detection import believed_here
from selfplay.sandbox.programs import find_interpreter, python_folders
from selfplay.sandbox.protocol import WORKDIR, Mount, Sandbox

SYSTEM, ADOPTED = "selfplay-system", "selfplay-adopted"
ADOPTION = 3
"""Raised when the adoption of images changes, so that older adopted images are not used."""
PASSWD = b"sandbox:x:%%(uid)d:%%(gid)d:sandbox:%s:/bin/bash\n" % inside.HOME.encode()
GROUP = b"sandbox:x:%(gid)d:\n"
NEEDED = ("bash", "sh", "git", "python3")
TREE_LABEL = "selfplay.tree"
USUAL = (WORKDIR, "/app", "/workspace", "/repo", "/src", "/code")
FOLDERS = ("usr", "etc", "proc", "dev", "sys", "tmp", "home", inside.HOME.strip("/"), WORKDIR.strip("/"))


@dataclass(frozen=True)
class Image:
    """An image that the engine has. `env`: its own environment; `mounts`: of all its containers; `volumes`: folders
    that it asks the engine to keep on the host's disk; `ours`: whether its `python` has our version."""

    name: str
    id: str
    python: str
    ours: bool
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    volumes: tuple[str, ...] = ()


def named(engine: Engine, name: str, owner: tuple[int, int]) -> Image:
    """A user's image under a name of ours, extended with the user that its containers run as.

    Raises `ImageUnusable` when the engine has no image of that name.
    """
    with translated(name):
        said = patiently(lambda: engine.api.inspect_image(name))
        return adopted(engine, said, owner, "", name)


def hidden(engine: Engine, image: Image, place: str, owner: tuple[int, int]) -> Image:
    """The image with a link to `/testbed` in place of its source, so that no sandbox sees the original there."""
    with translated(image.name):
        return adopted(engine, engine.api.inspect_image(image.id), owner, place, image.name)


def adopted(engine: Engine, said: dict[str, Any], owner: tuple[int, int], place: str, name: str) -> Image:
    """The image of this engine's answer, adopted once and later found by a name of ours. `name`: what the user calls
    it."""
    env = variables(said["Config"], name)
    kept = tuple(one for one in volumes(said["Config"], name) if one != place)  # a link to `/testbed` takes its place
    tag = hashlib.sha256(f"{said['Id']} {owner} {place} {ADOPTION}".encode()).hexdigest()[:12]
    if not engine.api.images(f"{ADOPTED}:{tag}"):
        adopt(engine, said["Id"], tag, owner, place, kept)
    return Image(f"{ADOPTED}:{tag}", said["Id"], "python3", ours=False, env=env, volumes=kept)


def adopt(engine: Engine, id: str, tag: str, owner: tuple[int, int], place: str, kept: tuple[str, ...]) -> None:
    """Commit the image with the sandbox's user in its `/etc/passwd` (many programs look up their user's name) and a
    link at `place`. Nothing in the image runs for that: the container is created, but never started."""
    api = engine.api
    with unstarted(engine, id, kept) as container:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, line in (("passwd", PASSWD), ("group", GROUP)):
                data = image_files.text_file(api, container, f"/etc/{name}")
                add_file(tar, f"etc/{name}", data.rstrip(b"\n") + b"\n" + line % {b"uid": owner[0], b"gid": owner[1]})
            if place:
                link = member(place.strip("/"), tarfile.SYMTYPE, 0o777)
                link.linkname = WORKDIR
                tar.addfile(link)
        api.put_archive(container, "/", buffer.getvalue())
        nobodys = " ".join(f'{name}=""' for name in labels())  # else later containers inherit them
        api.commit(container, repository=ADOPTED, tag=tag, changes=[f"LABEL {ADOPTED}={id} {nobodys}"])


@contextlib.contextmanager
def unstarted(engine: Engine, id: str, kept: tuple[str, ...] = ()) -> Iterator[str]:
    """A container of the image that is never started; removed when the context ends, or by the next supervisor. `kept`:
    the image's volumes, of which the engine would copy each to the host's disk, although nothing reads the copy."""
    nowhere = engine.api.create_host_config(tmpfs=dict.fromkeys(kept, "ro"))
    container = engine.api.create_container(id, ["/none"], labels=labels(), host_config=nowhere)["Id"]
    try:
        yield container
    finally:
        engine.api.remove_container(container, force=True, v=True)


def source_places(engine: Engine, image: Image) -> tuple[str, ...]:
    """Folders that may contain a source: by a label, the working directory, or the usual places."""
    with translated(image.name):
        config = engine.api.inspect_image(image.id)["Config"]
    said = [(config.get("Labels") or {}).get(TREE_LABEL), config.get("WorkingDir"), *USUAL]
    places = [named_folder(place, image.name) for place in said if place and place.strip("/")]
    return tuple(dict.fromkeys(place.rstrip("/") for place in places))


def copy_out(engine: Engine, image: Image, place: str) -> IO[bytes] | None:
    """A folder of the image as a tar archive in a temporary file; None if it has no such folder."""
    with translated(image.name), unstarted(engine, image.id, image.volumes) as container:
        return image_files.folder(engine.api, container, place)


def account_files(engine: Engine, image: Image) -> dict[str, bytes]:
    """The image's `passwd` and `group`."""
    with translated(image.name), unstarted(engine, image.id if image.ours else image.name, image.volumes) as container:
        return {name: image_files.text_file(engine.api, container, f"/etc/{name}") for name in ("passwd", "group")}


def system(engine: Engine, owner: tuple[int, int]) -> Image:
    """The image that shows this machine's programs, created if the engine does not have it yet."""
    data = archive(owner)
    name = f"{SYSTEM}:{hashlib.sha256(data).hexdigest()[:12]}"
    with translated(name):
        if not engine.api.images(name):
            engine.api.import_image_from_data(data, repository=SYSTEM, tag=name.partition(":")[2])
        identifier = engine.api.inspect_image(name)["Id"]
    python, prefix = find_interpreter()
    shown = [Path("/usr"), *(Path(place) for place in inside.WHOLE), *(Path("/", root) for root in inside.ROOTS)]
    mounts = [Mount(path, str(path)) for path in shown if path.is_dir() and not path.is_symlink()]
    mounts += [Mount(place, str(place)) for place in python_folders(prefix)]
    return Image(name, identifier, str(python), ours=True, mounts=tuple(mounts))


def archive(owner: tuple[int, int]) -> bytes:
    """The system image's files: equal bytes on equal machines, so that their hash can be the image's name."""
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
            add_file(tar, path.strip("/"), data)
    return buffer.getvalue()


def member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def add_file(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = member(name, tarfile.REGTYPE, 0o644)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def require_programs(sandbox: Sandbox, name: str) -> None:
    """Raises `ImageUnusable`, naming a program that every run needs and the image lacks."""
    for program in NEEDED:
        done = believed_here(sandbox, partial(sandbox.run, ["bash", "-c", f"command -v {program}"], timeout=30))
        if done.exit_code != 0:
            raise ImageUnusable(f"the image {name!r} has no {program}", f"An image needs {', '.join(NEEDED)}.")
