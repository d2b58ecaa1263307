"""What rebuilds the images of a dataset where this package is not: per environment the original tree, a Dockerfile and
the locked packages; and one script that builds them, and each bug's image on top.

A bug's image has the broken tree in `/testbed` as one commit, with everything a build generated: no history, no tests
that decide, no script of ours.
"""

import gzip
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

from selfplay.artifact.environment import Environment, recorded_environment
from selfplay.export import inside
from selfplay.export.columns import as_json
from selfplay.export.pools import PoolBug

ENVIRONMENTS = "environments"
GIT = "apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*"
_PRETEND = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION")


def environment_files(bugs: Iterable[PoolBug]) -> dict[str, bytes]:
    """Path in the dataset -> content, for every environment of these bugs."""
    found: dict[str, bytes] = {"build_images.py": inside.text("build_images.py").encode()}
    trees: dict[str, bytes] = {}
    for one in bugs:
        place = f"{ENVIRONMENTS}/{one.environment}"
        if f"{place}/Dockerfile" in found:
            continue
        known = recorded_environment(one.bug.environment)
        tree = one.bug.tree_hash
        trees[tree] = trees.get(tree) or packed_tree(one.original)
        found[f"{place}/original.tar.gz"] = trees[tree]
        found[f"{place}/Dockerfile"] = dockerfile(known).encode()
        found[f"{place}/requirements.txt"] = "".join(f"{line}\n" for line in known.lock).encode()
        found[f"{place}/setup.sh"] = setup_script(known).encode()
        found[f"{place}/environment.json"] = (as_json(one.bug.environment) + "\n").encode()
    return found


def dockerfile(known: Environment) -> str:
    """The image of a repository with its environment. `BASE` is an argument: a base of one's own may stand there."""
    base = known.image or f"python:{_minor(known.python)}-slim" if known.python else known.image or "debian:stable-slim"
    variables = {"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= dict.fromkeys(_PRETEND, known.version or "0.0.0")
    return "\n".join([
        f"ARG BASE={base}",
        "FROM ${BASE}",
        f"RUN command -v git || ({GIT})",
        "ENV " + " ".join(f"{name}={value}" for name, value in variables.items()),
        "WORKDIR /testbed",
        "ADD original.tar.gz /testbed/",
        "COPY requirements.txt setup.sh /selfplay/",
        "RUN bash /selfplay/setup.sh && rm -rf /selfplay",
        "",
    ])  # fmt: skip


def _minor(version: str | None) -> str:
    return ".".join((version or "3").split(".")[:2])


def setup_script(known: Environment) -> str:
    """What installs the environment, in `/testbed`: the user's own command, or the locked packages and the project."""
    lines = ["set -eu"]
    if known.setup:
        lines.append(known.setup)
    if known.python:
        lines += [
            "[ ! -s /selfplay/requirements.txt ] || pip install --no-cache-dir -r /selfplay/requirements.txt",
            "if [ -e pyproject.toml ] || [ -e setup.py ]; then",
            "  pip install --no-cache-dir --no-deps --editable . ||",
            '    pwd > "$(python -c \'import sysconfig; print(sysconfig.get_path("purelib"))\')/testbed.pth"',
            "fi",
        ]
    return "\n".join(lines) + "\n"


def packed_tree(tree: Path) -> bytes:
    """A tree as an archive whose bytes depend on its names, modes and contents alone."""
    stream = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as pressed,
        tarfile.open(fileobj=pressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(_files(tree), key=os.fsencode):
            _add(archive, tree, path)
    return stream.getvalue()


def _files(tree: Path) -> Iterable[str]:
    for here, folders, names in os.walk(tree):
        links = [name for name in folders if Path(here, name).is_symlink()]
        for name in (*names, *links):
            yield str(Path(here, name).relative_to(tree))


def _add(archive: tarfile.TarFile, tree: Path, path: str) -> None:
    file, info = tree / path, tarfile.TarInfo(path)
    if file.is_symlink():
        info.type, info.linkname = tarfile.SYMTYPE, str(file.readlink())
        archive.addfile(info)
    elif file.is_file():
        data = file.read_bytes()
        info.size, info.mode = len(data), 0o755 if file.stat().st_mode & 0o100 else 0o644
        archive.addfile(info, io.BytesIO(data))
