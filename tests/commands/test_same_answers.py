"""Whole runs under Docker: the engine is the one that DOCKER_HOST names (`.ci/docker-engine start`)."""

import dataclasses
import subprocess
from pathlib import Path

import pytest
from run_fixtures import Command, Done

from selfplay.artifact import FILE_NAMES

pytestmark = pytest.mark.docker


@pytest.mark.long
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


@pytest.mark.long
def test_an_image_that_holds_source_and_environment_gives_the_same_bugs(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    subprocess.run([Path(__file__).parents[2] / ".ci" / "docker-image", "selfplay-debian"], check=True, timeout=200)
    elsewhere = dataclasses.replace(selfplay, cache=tmp_path / "cache")
    built = elsewhere("image", "build", shop, "--base", "selfplay-debian", "--tag", "selfplay-test-shop", "--json")
    assert built.code == 0, built.err
    assert built.json["dockerfile"].startswith("FROM selfplay-debian\nCOPY 0 /env\n")
    assert "RUN" not in built.json["dockerfile"]  # what a repository's build runs, it ran in a sandbox
    options = ("--out", tmp_path / "run", "--bugs", 2, "--seed", 3, "--workers", 2, "--json")
    done = elsewhere("curriculum", "image:", *options, "--sandbox", "docker", "--image", "selfplay-test-shop")
    assert done.code == 0, done.err
    made = list(artifacts(tmp_path / "run").values())
    assert len(made) == 2 and all(artifact in artifacts(finished[0]).values() for artifact in made)
    without = elsewhere("validate", tmp_path / "run")
    assert without.code == 2 and "Add --sandbox docker --image NAME" in without.err
