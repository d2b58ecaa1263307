"""Decides which submodules of an untrusted repository the host fetches, from where and as which user. No other module
decides this.

A `.gitmodules` is untrusted, while the credentials and networks of this machine are the user's. So a submodule is
fetched with the user's rights only from the host that the user named, and only if it has the same owner there, so that
a stranger on a large host cannot reach what the user can read. The owner is the first part of the path at a forge, or
the whole folder if the path is that of a file on a machine. From other public hosts it is fetched over https and
without credentials; from anywhere else not at all. No redirect is followed, because it could lead elsewhere.
"""

from selfplay.repository.fetching.gitdir import GitDir, GitError
from selfplay.repository.fetching.nobody import as_nobody
from selfplay.repository.fetching.remotes import remote_of
from selfplay.repository.fetching.running import ProgramBounds
from selfplay.repository.fetching.transport import fetch_exact

BOUNDS = ProgramBounds(seconds=600.0, output=1 << 20, memory=4 << 30, file=2 << 30)
GET = "name a local checkout of the source that holds it (`git submodule update --init` brings it there)"


def receive_submodule(store: GitDir, url: str, commit: str, source: str, anonymous: bool = False) -> str:
    """Fetch one commit of a repository that an untrusted `.gitmodules` names; returns why not, or an empty text.
    `source`: the URL that the user named, empty for a folder of this machine; `anonymous`: a stranger named it."""
    if not source:
        return f"is not fetched for a folder of this machine: {GET}"
    remote = remote_of(url)
    if remote is None:
        return "is not the URL of a remote repository"
    try:
        if not anonymous and remote.is_at(remote_of(source)):
            fetch_exact(store, url, [commit], BOUNDS, "--depth=1")
            return ""
        access = as_nobody(remote)
        if isinstance(access, str):
            return f"is not fetched: {access}; {GET}"
        fetch_exact(store, url, [commit], BOUNDS, "--depth=1", access=access)
    except GitError:
        return f"cannot be fetched: {GET}"
    return ""
