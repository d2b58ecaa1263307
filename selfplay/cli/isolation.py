"""Options that say where untrusted code runs; the same for every command that runs it."""

from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.conflicts import refuse_isolation

if TYPE_CHECKING:
    from selfplay.sandbox import Backend

SandboxOption = Annotated[str, typer.Option("--sandbox", help="bubblewrap, or docker (DOCKER_HOST says which engine).")]
ImageOption = Annotated[
    str | None, typer.Option("--image", help="Docker: an image with bash and Python, instead of this machine's /usr.")
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option("--allow-host", help="HOST or HOST:PORT that the build may reach besides the indexes. Repeatable."),
]
RuntimeOption = Annotated[str | None, typer.Option("--runtime", help="Docker: a runtime such as gVisor's runsc.")]


def opened(sandbox: str, image: str | None, runtime: str | None) -> "Backend":
    """The requested backend."""
    refuse_isolation(sandbox, image, runtime)
    from selfplay.sandbox import open_backend

    return open_backend(sandbox, image, runtime)
