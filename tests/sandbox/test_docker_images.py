"""A source that lies in an image, and images that are built."""

import subprocess
from pathlib import Path

import pytest

from selfplay.repository.errors import SourceError
from selfplay.repository.image import take_source
from selfplay.sandbox import World, open_backend
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.building import Recipe, build
from selfplay.sandbox.docker.client import ImageUnusable

from .attacks import SMALL

pytestmark = pytest.mark.docker


def test_a_source_in_an_image_is_found_copied_without_its_hooks_and_hidden(
    tmp_path: Path,
) -> None:
    docker = open_backend("docker")
    assert isinstance(docker, DockerBackend)
    subprocess.run([Path(__file__).parents[2] / ".ci" / "docker-image", "selfplay-debian"], check=True, timeout=200)
    source = tmp_path / "source"
    for name in (".git/objects/info/alternates", ".git/hooks/post-checkout", ".git/config", ".git/HEAD", "setup.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"original {name}\n")
    (source / "link").symlink_to("/etc/shadow")
    tag = "selfplay-test-source"
    build(docker.engine, Recipe("selfplay-debian", (("/app", source),), labels={"selfplay.tree": "/nowhere"}), tag)
    backend = open_backend("docker", tag)
    assert take_source(backend, None, tmp_path / "out") == "/app"
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if not path.is_dir()}
    assert found == {".git/HEAD", ".git/config", "setup.py", "link"}
    assert "original" not in (tmp_path / "out" / ".git" / "config").read_text()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "setup.py").write_text("broken\n")
    with backend.open(World(tree=(broken,)), SMALL) as sandbox:
        assert sandbox.run("cat /app/setup.py; cd /app && pwd -P", timeout=10).stdout == b"broken\n/testbed\n"
        assert (
            sandbox.run("grep -rs 'original setup.py' / --include=setup.py --exclude-dir=proc", timeout=60).stdout
            == b""
        )
    with pytest.raises(SourceError, match=r"holds no source at /usr/none(.|\n)*image:/path"):
        take_source(backend, "/usr/none", tmp_path / "none")
    with pytest.raises(SourceError, match="Add --sandbox docker --image NAME"):
        take_source(open_backend("bubblewrap"), None, tmp_path / "none")
    with pytest.raises(ImageUnusable, match=r"cannot be built on 'no-such-base'(.|\n)*docker pull no-such-base"):
        build(docker.engine, Recipe("no-such-base", ()), "selfplay-test-none")
