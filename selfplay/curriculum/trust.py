"""What this user has allowed: the commands and sources of runs, remembered by their content, outside of any run.

A run's own setup command runs with a way to the package indexes, and a source is fetched with this user's credentials.
Neither happens because a run's folder says so. It happens when this user typed the same command or source for the same
tree (`selfplay curriculum` remembers it), said yes to it when asked, or gives `--trust`. No mark of ownership is in a
run, where a copy could carry it: a hash of (kind, text, tree) is remembered, so a hostile run can only get what the
user already ran. The notes are in the user's state folder, which no sandbox sees.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs

from selfplay.artifact.reading import MIB, UntrustedDataError, read_named
from selfplay.curriculum.made_at import made_at
from selfplay.curriculum.records import CurriculumError
from selfplay.owned_folders import FolderOfAnother, make_closed, others_may_write, refuse_place_of_another
from selfplay.plain_text import encode

MEMORY = "SELFPLAY_READ_MIB"
BASE_MIB = 200
"""MiB of memory for reading a shared run; every bound on a pool is derived from it."""


WANTS = {
    "setup": "this run wants a command of its own to be run while its environment is built",
    "hosts": "this run wants its build to reach hosts besides the package indexes",
    "source": "the tree this run was made on would be fetched",
    "image": "this run wants the images of its dataset to stand on one of its own",
}
MOST_SHOWN, MOST_ROWS, QUESTION_ROWS = 4_000, 40, 4
"""Characters, rows of the screen, and rows for the question itself: what is above the screen is not seen above it."""
_BLANKS, MOST_BLANKS, MOST_EMPTY = re.compile(r"\s{3,}+"), 8, 2
"""Blanks and empty lines, together; of each so many are shown as they are."""
_BLANK_SIGNS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that are drawn as nothing."""


class NotTrusted(CurriculumError):
    """A run wants something that its user has not allowed."""


@dataclass(frozen=True)
class Wish:
    """Something that a run wants: a kind of `WANTS`, for the tree with id `tree`."""

    kind: str
    text: str
    tree: str

    def words(self) -> str:
        """The wish as a question to the user."""
        return f"{WANTS[self.kind]}:\n    {self._spelled[:MOST_SHOWN]}" + ("" if self.shown_whole else " ...")

    @property
    def shown_whole(self) -> bool:
        """Whether the question holds all of it, so that a yes means what is run."""
        columns, lines = _screen()
        rows = sum(1 + _width(line) // columns for line in self._spelled.split("\n"))
        return len(self._spelled) <= MOST_SHOWN and rows <= min(MOST_ROWS, lines - QUESTION_ROWS)

    @property
    def _spelled(self) -> str:
        """The text, with long blanks and all that is drawn as nothing told: they would hide what follows them."""
        return _BLANKS.sub(_counted, "".join(map(_seen, self.text)))

    def digest(self) -> str:
        """The name of the wish's note in the state folder."""
        return hashlib.sha256(encode(json.dumps([self.kind, self.text, self.tree]))).hexdigest()


def _counted(found: re.Match[str]) -> str:
    """Blanks as they are, or how many there are."""
    lines = found[0].split("\n")
    few = len(lines) <= MOST_EMPTY + 1 and max(map(len, lines)) <= MOST_BLANKS
    return found[0] if few else f" [{len(found[0])} blanks] "


UNKNOWN = os.terminal_size((80, 24))


def _screen() -> os.terminal_size:
    """Columns and lines of the terminal at which questions are asked."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return UNKNOWN
    return size if all(size) else UNKNOWN


def _width(line: str) -> int:
    """The columns that a line takes; a tab may take eight."""
    return sum(8 if sign == "\t" else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line)


def _seen(sign: str) -> str:
    """A character as it is seen, or its number."""
    nothing = unicodedata.category(sign) in ("Cf", "Mn", "Me", "Zs") and sign != " "
    return f"\\u{ord(sign):04x}" if nothing or sign in _BLANK_SIGNS else sign


def state_folder() -> Path:
    """The folder of this user's notes: `$XDG_STATE_HOME/selfplay`, by default below the home folder. Raises
    `CurriculumError`, also if another user may put notes there."""
    try:
        folder = platformdirs.user_state_path("selfplay")
        with contextlib.suppress(OSError):  # what cannot be looked at can be neither read nor written
            refuse_place_of_another(folder)
            if folder.exists() and others_may_write(folder.stat(), folder):
                folder.chmod(0o700)  # notes are nobody else's
        return folder
    except FolderOfAnother as error:
        raise CurriculumError(
            f"no notes can be kept: {error.message}", "Name a folder of your own in XDG_STATE_HOME."
        ) from error
    except RuntimeError as error:
        raise CurriculumError(
            "this user has no home, and so no folder for notes", "Name one in XDG_STATE_HOME."
        ) from error


def require(wishes: Sequence[Wish], trust: bool) -> None:
    """Raises `NotTrusted` for the first wish that is not allowed, unless the user trusts the run."""
    for wish in () if trust else unsettled(wishes):
        raise NotTrusted(wish.words(), "If you trust whoever made the run: the same command with --trust.")


def unsettled(wishes: Sequence[Wish]) -> list[Wish]:
    """The wishes that this user has not allowed yet."""
    folder = state_folder()
    return [one for one in wishes if (folder, one) not in _NOW and not _note("allowed", one.digest()).is_file()]


_NOW: set[tuple[Path, Wish]] = set()
"""What was allowed in this process, by state folder: where no note can be written, a yes counts this time, and for this
wish alone."""


def allow(wish: Wish) -> bool:
    """Remember that the user allows the wish. Returns whether a note could be written."""
    _NOW.add((state_folder(), wish))
    return _write(_note("allowed", wish.digest()))


def remember_run(folder: Path) -> None:
    """Remember that this user made the run in `folder`."""
    _write(_note("runs", _identity(folder)))


def is_own(folder: Path) -> bool:
    """Whether this user made a run in this folder (`_identity`). It lifts bounds on size, spares a sentence, and lets
    `curriculum` go on in it."""
    try:
        return _note("runs", _identity(folder)).is_file()
    except OSError:
        return False


def times() -> int:
    """The user's factor, at least 1, on the bounds for shared runs."""
    said = os.environ.get(MEMORY, "")
    return max(1, int(said) // BASE_MIB) if said.isdecimal() and len(said) < 9 else 1


def seal(data: bytes | memoryview) -> str:
    """A seal over `data` that only this user can make; empty if no key can be stored."""
    key = _key()
    return hmac.new(key, data, hashlib.sha256).hexdigest() if key else ""


def sealed(stream: IO[bytes], said: str) -> bool:
    """Whether this user sealed what is left of the stream, of which only a piece at a time is in memory."""
    key = _key()
    own = hmac.new(key, digestmod=hashlib.sha256)
    while key and (piece := stream.read(MIB)):
        own.update(piece)
    return bool(key) and hmac.compare_digest(own.hexdigest().encode(), encode(said))


def _identity(folder: Path) -> str:
    """Device and inode, and the time at which the folder was made, which no program sets: the number of a folder that
    was deleted is soon another's. Where a file system does not know it, as NFS, the two must do."""
    status = folder.stat()
    return f"{status.st_dev:x}-{status.st_ino:x}-{made_at(folder):x}"


def _note(kind: str, name: str) -> Path:
    return state_folder() / kind / name


def _write(note: Path) -> bool:
    try:
        make_closed(note.parent)
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    return True


def hold_key() -> None:
    """Keep the user's key in memory, for what will not be able to read it (`confinement`)."""
    _HELD[state_folder()] = _key()


def _key() -> bytes:
    """The user's key, made once; empty if it can be neither read nor made."""
    path = state_folder() / "key"
    try:
        if not path.exists():
            make_closed(path.parent)
            fresh = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
            fresh.touch(mode=0o600)
            fresh.write_bytes(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):  # another process made one meanwhile
                os.link(fresh, path)
            fresh.unlink()
        key = read_named(path, 1024)
    except (OSError, UntrustedDataError):
        return _HELD.get(path.parent, b"")
    return key if len(key) >= 32 else b""


_HELD: dict[Path, bytes] = {}
"""State folder -> its key."""
