"""Brings a build's results out of its sandbox within one budget, or raises a `BuildFailed` that says why not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.repository.errors import BadStream, BuildFailed, TooLarge
from selfplay.repository.files.unpack import Inside, StreamBounds, Unpacked, Where, bring_out
from selfplay.sandbox import MIB, Backend, InsideError, Limits, Sandbox

MOST_ENTRIES = 250_000
"""The most files and folders of one build; an environment of the whole scientific stack has a third of that."""


class BuildResults:
    """Fills folders of `staging`, which together may hold as much as the build's disk.

    `places`: absolute folders to which links may lead.
    """

    def __init__(self, staging: Path, backend: Backend, limits: Limits, places: tuple[str, ...]) -> None:
        self.staging, self.backend, self.limits, self.places = staging, backend, limits, places
        self._left = StreamBounds(limits.disk_bytes, MOST_ENTRIES)

    def take(
        self,
        sandbox: Sandbox,
        folder: str,
        name: str,
        what: str,
        *,
        where: Where | None = None,
        listing: str | None = None,
        given: bool = False,
    ) -> Unpacked:
        """Bring `folder` inside into the folder `name` of the staging; `what`: its name for the user.

        `where`: as for `bring_out`; `listing`: as in `Inside`; `given`: its owner becomes the sandboxes' user, who may
        change it. Installers leave files of git's names in an environment, which sandboxes alone see. Raises
        `BuildFailed`.
        """
        with self._explained(what):
            result = bring_out(
                Inside(sandbox, folder, self.backend.python, listing), self.staging / name, self._left,
                places=self.places, owner=self.backend.owner() if given else None, where=where, git=True,
            )  # fmt: skip
        self._left = self._left.less(result)
        return result

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except TooLarge as error:
            most = f"{self.limits.disk_bytes // MIB} MiB and {MOST_ENTRIES} files"
            hint = (
                f"Everything a build leaves may take {most} together. Install less, with commands of your own: --setup."
            )
            raise BuildFailed(f"the build leaves too much: {what} brought it to {error.message}", hint) from error
        except BadStream as error:
            hint = (
                "It changed the programs that it runs on. Look at what it installs, or give the commands with --setup."
            )
            raise BuildFailed(f"what the build left cannot be used ({what}): {error.message}", hint) from error
        except InsideError as error:
            raise BuildFailed(f"what the build left cannot be read ({what}): {error.message}", error.hint) from error
