"""Builds an image with folders of this machine: a generated Dockerfile that copies and sets variables, and runs
nothing.

The repository's build already ran, in a sandbox, so no step of `docker build` executes untrusted code. A base may bring
steps of its own, for the engine to run in every build on it: it is refused. The build has no network.
"""

import json
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound
from docker.utils import parse_repository_tag

from selfplay.sandbox.docker.client import Engine, ImageUnusable, translated
from selfplay.sandbox.docker.image import TREE_LABEL, add_file
from selfplay.sandbox.docker.image_settings import refuse_triggers
from selfplay.sandbox.protocol import WORKDIR

NEEDS = "A base needs bash, git and a Python."


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
    looked_at = replace(recipe, base=checked_base(engine, recipe.base))
    with tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as tar:
            add_file(tar, "Dockerfile", looked_at.dockerfile().encode())
            for number, (_, folder) in enumerate(recipe.folders):
                tar.add(folder, str(number), filter=as_root)
        context.seek(0)
        settings = {"custom_context": True, "tag": tag, "rm": True, "forcerm": True, "network_mode": "none"}
        with translated(recipe.base):
            errors = failures(engine.api.build(fileobj=context, decode=True, **settings))
    if errors:
        raise ImageUnusable(f"the image cannot be built on {recipe.base!r}: {errors[0]}", NEEDS)
    with translated(tag):
        return str(engine.api.inspect_image(tag)["Id"])


def checked_base(engine: Engine, base: str) -> str:
    """The id of the base, which is pulled if the engine lacks it: by its name, another image could be built on than was
    looked at. Raises `ImageUnusable`."""
    api = engine.api
    with translated(base):
        try:
            said = api.inspect_image(base)
        except ImageNotFound:
            repository, tag = parse_repository_tag(base)
            try:
                errors = failures(api.pull(repository, tag or "latest", stream=True, decode=True))
            except APIError as error:
                errors = [str(error.explanation or error)]
            if errors:
                hint = f"Is the base there? `docker pull {base}`; {NEEDS}"
                raise ImageUnusable(f"the image cannot be built on {base!r}: {errors[0]}", hint) from None
            said = api.inspect_image(base)
    refuse_triggers(said["Config"], base)
    return str(said["Id"])


def failures(lines: Iterable[dict[str, Any]]) -> list[str]:
    """What went wrong, of the engine's report."""
    return [str(line["error"]).strip() for line in lines if "error" in line]


def as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Change the owner to root, readable by all: the sandbox user owns nothing in it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    if not entry.issym():
        entry.mode |= 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
