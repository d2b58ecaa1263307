"""Whole runs under Docker: the engine is the one that DOCKER_HOST names (`.ci/docker-engine start`)."""

import dataclasses
from pathlib import Path

from selfplay.artifact import FILE_NAMES

from .conftest import Command, Done


def test_docker_makes_the_same_bugs_from_the_same_seed(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    """The environment, too, is built in a container: the cache is another one."""
    tmp_path.chmod(0o755)
    elsewhere = dataclasses.replace(selfplay, cache=tmp_path / "cache")
    options = ("--bugs", 4, "--seed", 3, "--workers", 2, "--json", "--sandbox", "docker")
    done = elsewhere("curriculum", shop, "--out", tmp_path / "run", *options)
    assert done.code == 0, done.err
    bubblewrap, docker = artifacts(finished[0]), artifacts(tmp_path / "run")
    assert docker == bubblewrap and len(docker) == 4
    assert done.json["cost"]["suite_runs_worth"] > 3  # containers are not our children, yet their time is counted


def artifacts(run: Path) -> dict[str, dict[str, bytes]]:
    return {
        bug.name: {name: (bug / name).read_bytes() for name in FILE_NAMES.values()} for bug in (run / "bugs").iterdir()
    }
