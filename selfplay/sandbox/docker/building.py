"""Builds an image with folders of this machine: a generated Dockerfile that copies and sets variables, and runs
nothing.

The repository's build already ran, in a sandbox, so no step of `docker build` executes untrusted code.
"""

import json
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.sandbox.docker.client import Engine, ImageUnusable, translated
from selfplay.sandbox.docker.image import TREE_LABEL, add_file
from selfplay.sandbox.protocol import WORKDIR


@dataclass(frozen=True)
class ImageRecipe:
    """`folders`: path in the image -> the folders copied there, one over the other."""

    base: str
    folders: tuple[tuple[str, Path], ...]
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def dockerfile(self) -> str:
        """The text of the generated Dockerfile."""
        lines = [f"FROM {self.base}"]
        lines += [f"COPY {number} {place}" for number, (place, _) in enumerate(self.folders)]
        lines += [f"ENV {name}={json.dumps(value)}" for name, value in sorted(self.env.items())]
        labels = {TREE_LABEL: WORKDIR, **self.labels}
        lines += [f"LABEL {name}={json.dumps(value)}" for name, value in sorted(labels.items())]
        return "\n".join([*lines, f"WORKDIR {WORKDIR}", ""])


def build(engine: Engine, recipe: ImageRecipe, tag: str) -> str:
    """Build the image and return its id. Raises `ImageUnusable` with the builder's error."""
    with tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as tar:
            add_file(tar, "Dockerfile", recipe.dockerfile().encode())
            for number, (_, folder) in enumerate(recipe.folders):
                tar.add(folder, str(number), filter=as_root)
        context.seek(0)
        with translated(recipe.base):
            said = list(
                engine.api.build(fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True, decode=True)
            )
    errors = [line["error"] for line in said if "error" in line]
    if errors:
        raise ImageUnusable(
            f"the image cannot be built on {recipe.base!r}: {errors[0].strip()}",
            f"Is the base there? `docker pull {recipe.base}`; it needs bash, git and a Python.",
        )
    with translated(tag):
        return str(engine.api.inspect_image(tag)["Id"])


def as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Change the owner to root, readable by all: the sandbox user owns nothing in it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    if not entry.issym():
        entry.mode |= 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
