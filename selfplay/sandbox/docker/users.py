"""Gives every container its own uid, so that none uses up what the kernel counts per user: an ordinary user's, too.

An engine cannot show files as another owner's. So a world with a mount that only the common owner may use runs as that
owner; the copied tree belongs to the container's uid anyway. Each container gets an `/etc/passwd` with its own number,
so that programs find their user's name.
"""

import stat
import tempfile
import threading
from pathlib import Path

from selfplay.sandbox import owners
from selfplay.sandbox.docker.client import Engine
from selfplay.sandbox.docker.image import Image, account_files
from selfplay.sandbox.identity import Identity, slots
from selfplay.sandbox.protocol import Mount, World


class Users:
    """Hands out uids, and the files that name them."""

    def __init__(self, engine: Engine, common: Identity) -> None:
        self._engine, self._common = engine, common
        self._slots = None if engine.remaps_users else slots()
        self._lock = threading.Lock()
        self._texts: dict[str, dict[str, bytes]] = {}
        self._folder: Path | None = None

    @property
    def apart(self) -> bool:
        """Whether containers have uids of their own."""
        return self._slots is not None

    def take(self, world: World) -> int:
        """A uid that no live container has; the common uid if the world needs it, or none is free."""
        if self._slots is None or any(self._owners_alone(mount) for mount in world.mounts):
            return self._common.uid
        return self._slots.take() or self._common.uid

    def give_back(self, uid: int) -> None:
        """Take back the uid of a container that is gone."""
        if self._slots is not None and uid in self._slots:
            self._slots.give_back(uid)

    def files(self, image: Image, uid: int) -> tuple[Mount, ...]:
        """The mounts that name the uid inside; none for the common uid, which the image names."""
        if uid == self._common.uid:
            return ()
        with self._lock:
            if image.name not in self._texts:
                self._texts[image.name] = account_files(self._engine, image)
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix=owners.marked()))
                self._folder.chmod(0o755)
            place = self._folder / f"{uid}-{image.name.rpartition(':')[2]}"
            if not place.exists():
                place.mkdir()
                for name, text in self._texts[image.name].items():
                    (place / name).write_bytes(renumbered(text, self._common.uid, uid))
                    (place / name).chmod(0o644)
        return tuple(Mount(place / name, f"/etc/{name}") for name in self._texts[image.name])

    def close(self) -> None:
        """Remove the files."""
        with self._lock:
            if self._folder is not None:
                owners.remove(self._folder)
            self._folder = None

    def _owners_alone(self, mount: Mount) -> bool:
        found = mount.source.stat()
        closed = stat.S_ISSOCK(found.st_mode) or not found.st_mode & stat.S_IROTH
        return found.st_uid == self._common.uid and closed


def renumbered(text: bytes, old: int, new: int) -> bytes:
    """The lines of `passwd` or `group` with one number replaced."""
    lines = [line.split(b":") for line in text.splitlines()]
    changed = [[b"%d" % new if word == b"%d" % old else word for word in words] for words in lines]
    return b"".join(b":".join(words) + b"\n" for words in changed)
