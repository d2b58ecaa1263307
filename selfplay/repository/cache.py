"""The cache of built environments: one folder per content key, complete or absent.

A builder holds the key's file lock, works in a staging folder beside the final one, and renames it into place. A kill
leaves only a staging folder, which the next builder of that key removes.
"""

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from selfplay.errors import in_a_line
from selfplay.formatting import Say, shortened
from selfplay.owned_folders import FolderOfAnother, is_machines, make_closed, others_may_write, refuse_place_of_another
from selfplay.repository.disk import VARIABLE, cache_error
from selfplay.repository.errors import CacheError
from selfplay.sandbox.owners import remove
from selfplay.user_paths import expanded


def default_cache() -> Path:
    """`$SELFPLAY_CACHE`, else the user's cache folder; for root the machine's, since sandboxes drop root's
    privileges. Raises `CacheError`."""
    if chosen := os.environ.get(VARIABLE):
        return expanded(chosen, CacheError).absolute()
    try:
        return (platformdirs.site_cache_path if os.geteuid() == 0 else platformdirs.user_cache_path)("selfplay")
    except RuntimeError as error:
        raise CacheError("this user has no home, and so no folder for a cache", f"Name one in {VARIABLE}.") from error


def check_cache(cache: Path) -> None:
    """Create the folder, closed to others: root's cache holds checkouts that only root may read, and sandboxes get
    them without their path. Raises `CacheError` if it cannot be created or written to, or if another user may change
    what is in it: environments, and the trees that a bug's tests are restored from."""
    try:
        _refuse_others(cache)
        make_closed(cache)
        known = cache.stat()
        if not os.environ.get(VARIABLE) and known.st_uid == os.geteuid():
            cache.chmod(0o700)  # one of an earlier version
        with tempfile.TemporaryFile(dir=cache):
            pass
    except FolderOfAnother as error:
        raise _of_another(error) from error
    except OSError as error:
        plain = OSError(error.errno, error.strerror, os.fspath(cache))  # drops the name of the temporary file
        told = cache_error(plain, cache)
        hint = told.hint if told else f"Set {VARIABLE} to a folder you can write to."
        raise CacheError(f"the cache folder {str(cache)[:300]} cannot be used: {error.strerror}", hint) from error


def _refuse_others(cache: Path) -> None:
    """A volume of a container may be the machine's, and open to all."""
    known = cache.stat() if cache.exists() else None
    if known is None or not is_machines(known.st_uid):
        refuse_place_of_another(cache)
    chosen = known is not None and known.st_uid == os.geteuid() != 0 and os.environ.get(VARIABLE)
    if known is not None and chosen and others_may_write(known, cache):
        raise FolderOfAnother(f"another user may write to {shortened(cache)}")


def _of_another(error: FolderOfAnother) -> CacheError:
    return CacheError(f"the cache cannot be used: {error.message}", f"Set {VARIABLE} to a folder of your own.")


def why_unusable(cache: Path) -> str:
    """Why nothing can be kept in the cache, and what to do; empty where it can. Nothing is made."""
    try:
        _refuse_others(cache)
        place = next(one for one in (cache, *cache.parents) if one.exists())
        if os.access(place, os.W_OK | os.X_OK):
            return ""
        code = errno.EROFS if os.statvfs(place).f_flag & os.ST_RDONLY else errno.EACCES
    except FolderOfAnother as error:
        return in_a_line(_of_another(error))
    except OSError as error:
        code = error.errno or errno.EACCES
    told = cache_error(OSError(code, os.strerror(code)), cache)
    return in_a_line(told) if told else f"the cache folder {cache} cannot be used: {os.strerror(code)}"


def build_once(final: Path, build: Callable[[Path], None], waiting: Say) -> Path:
    """Return `final`; `build(staging)` builds it if it does not exist. One process builds, the others wait."""
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    with _locked(final.with_name(f"{final.name}.lock"), waiting):
        if final.is_dir():
            return final
        for left in final.parent.glob(f".{final.name}.*"):
            remove(left)
        staging = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
        staging.chmod(0o755)
        try:
            build(staging)
            staging.rename(final)
        except BaseException:
            remove(staging)
            raise
    return final


@contextlib.contextmanager
def _locked(path: Path, waiting: Say) -> Iterator[None]:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(lock, "r+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting("another process is building the same environment: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def give(folder: Path, owner: tuple[int, int]) -> None:
    """Change the owner of a folder and its contents to a sandbox's user; links are never followed."""
    if os.geteuid() != 0:
        return
    for here, names, files in os.walk(folder):
        for name in (*names, *files):
            os.lchown(os.path.join(here, name), *owner)  # noqa: PTH118 - once per file of an environment
    os.lchown(folder, *owner)
