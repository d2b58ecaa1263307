"""`selfplay image build`: a repository, its history and its environment as one image, which `--image` then runs."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from selfplay.formatting import Say
from selfplay.repository import prepare
from selfplay.sandbox import WORKDIR
from selfplay.sandbox.docker.building import ImageRecipe, build
from selfplay.sandbox.docker.opening import docker_backend
from selfplay.sandbox.retry import again


@dataclass(frozen=True)
class Built:
    """The image and its contents."""

    tag: str
    id: str
    source: str
    revision: str
    tree_hash: str
    dockerfile: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def build_image(
    source: str,
    base: str,
    tag: str | None = None,
    setup: str | None = None,
    progress: Say = lambda line: None,
    allow_hosts: tuple[str, ...] = (),
) -> Built:
    """Prepare `source` in sandboxes of `base`, then build an image of it. Raises the errors of preparing and of the
    engine."""
    backend = docker_backend(base)
    prepared = again(lambda: prepare(source, backend=backend, setup=setup, allow_hosts=allow_hosts, progress=progress))
    progress("building the image")
    folders = [(mount.target, mount.source) for mount in prepared.mounts]
    folders += [(WORKDIR, prepared.tree), (WORKDIR, prepared.history)]
    labels = {"selfplay.source": prepared.source, "selfplay.tree_hash": prepared.tree_hash}
    env = {name: value for name, value in prepared.env.items() if not name.startswith("GIT_")}
    recipe = ImageRecipe(base, tuple(folders), env, labels)
    tag = tag or f"selfplay/{plain_name(prepared.source)}:{prepared.tree_hash[:12]}"
    id = build(backend.engine, recipe, tag)
    return Built(tag, id, prepared.source, prepared.revision, prepared.tree_hash, recipe.dockerfile())


def plain_name(source: str) -> str:
    """The last part of a source's name, as an image name."""
    last = re.split(r"[/:]", source.removesuffix("/").partition("==")[0])[-1].removesuffix(".git")
    return re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "source"
