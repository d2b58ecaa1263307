"""A source that lies in an image, and images that are built."""

import io
import subprocess
from pathlib import Path

import pytest

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.image import take_source
from selfplay.sandbox import IsolationUnavailable, World, open_backend
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.building import ImageRecipe, build
from selfplay.sandbox.docker.client import ImageUnusable
from selfplay.sandbox.docker.image import unstarted
from selfplay.sandbox.docker.labels import labels

from .attacks import SMALL

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def debian() -> None:
    subprocess.run([Path(__file__).parents[2] / ".ci" / "docker-image", "selfplay-debian"], check=True, timeout=200)


def test_a_source_in_an_image_is_found_copied_without_its_hooks_and_hidden(
    tmp_path: Path,
) -> None:
    docker = open_backend("docker")
    assert isinstance(docker, DockerBackend)
    source = tmp_path / "source"
    for name in (".git/objects/info/alternates", ".git/hooks/post-checkout", ".git/config", ".git/HEAD", "setup.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"original {name}\n")
    (source / "link").symlink_to("/etc/shadow")
    tag = "selfplay-test-source"
    build(docker.engine, ImageRecipe("selfplay-debian", (("/app", source),), labels={"selfplay.tree": "/nowhere"}), tag)
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
    with pytest.raises(SourceError, match=r"contains no source at /usr/none(.|\n)*image:/path"):
        take_source(backend, "/usr/none", tmp_path / "none")
    with pytest.raises(SourceError, match="Add --sandbox docker --image NAME"):
        take_source(open_backend("bubblewrap"), None, tmp_path / "none")
    with pytest.raises(ImageUnusable, match=r"cannot be built on 'no-such-base'(.|\n)*docker pull no-such-base"):
        build(docker.engine, ImageRecipe("no-such-base", ()), "selfplay-test-none")


def derived(docker: DockerBackend, tag: str, lines: str) -> str:
    """An image built from ours by lines that run nothing."""
    dockerfile = io.BytesIO(f"FROM selfplay-debian\n{lines}\n".encode())
    assert not [
        line for line in docker.engine.api.build(fileobj=dockerfile, tag=tag, rm=True, decode=True) if "error" in line
    ]
    return tag


def test_volumes_of_an_image_are_no_place_to_write_without_limit() -> None:
    docker = open_backend("docker")
    assert isinstance(docker, DockerBackend)
    tag = derived(docker, "selfplay-test-volumes", "VOLUME /var/tmp\nVOLUME /home\nVOLUME /testbed")
    with open_backend("docker", tag).open(World(), SMALL) as sandbox:
        said = sandbox.run(
            "stat -c %a /var/tmp; echo > /var/tmp/file; ls -A /var/tmp; df --output=size /home", timeout=10
        )
        assert said.stdout.split() == [b"755", b"1K-blocks", b"4"] and b"Read-only file system" in said.stderr
        assert sandbox.run("echo > /testbed/file && echo > ~/file", timeout=10).exit_code == 0


def test_what_adopting_an_image_leaves_is_swept_and_marks_no_later_container() -> None:
    docker = open_backend("docker")
    assert isinstance(docker, DockerBackend)
    api, adopted = docker.engine.api, open_backend("docker", "selfplay-debian")
    assert isinstance(adopted, DockerBackend)
    with unstarted(docker.engine, "selfplay-debian") as container:
        assert labels().items() <= api.inspect_container(container)["Config"]["Labels"].items()
    assert {api.inspect_image(adopted.image.name)["Config"]["Labels"][name] for name in labels()} == {""}


def test_an_image_without_python_is_called_what_the_user_calls_it() -> None:
    docker = open_backend("docker")
    assert isinstance(docker, DockerBackend)
    tag = derived(docker, "selfplay-test-no-python", "ENV PATH=/nowhere")
    with pytest.raises(IsolationUnavailable, match=f"the image '{tag}' cannot start Python"):
        open_backend("docker", tag)
