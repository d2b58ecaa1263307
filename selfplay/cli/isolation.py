"""Options that say where untrusted code runs, the same for every command that runs some."""

from typing import Annotated

import typer

SandboxOption = Annotated[str, typer.Option("--sandbox", help="bubblewrap, or docker (DOCKER_HOST says which engine).")]
ImageOption = Annotated[
    str | None, typer.Option("--image", help="Docker: an image with bash and Python, instead of this machine's /usr.")
]
RuntimeOption = Annotated[str | None, typer.Option("--runtime", help="Docker: a runtime such as gVisor's runsc.")]
