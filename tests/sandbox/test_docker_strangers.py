"""What a stranger's image asks of the engine, holds for its accounts, and says as an agent of its own."""

import base64
import contextlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from selfplay.sandbox import IsolationUnavailable, SandboxLost, World, container_cpu, live
from selfplay.sandbox.docker import image, image_files
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.building import ImageRecipe, build
from selfplay.sandbox.docker.client import ImageUnusable
from selfplay.sandbox.probe import probe

from .attacks import SMALL
from .hostile_images import derived, of_its_own_agent

docker_alone = pytest.mark.docker


@docker_alone
def test_a_base_that_wants_to_run_something_is_refused(docker: DockerBackend, debian: str, tmp_path: Path) -> None:
    base = derived(docker.engine, "selfplay-test-onbuild", "ONBUILD RUN id > /ran")
    built = f"selfplay-test-onbuilt-{os.getpid()}"
    (tmp_path / "file").write_text("content")
    for name in (base, f"{base}:latest"):
        with pytest.raises(ImageUnusable, match=rf"'{name}' wants to run(.|\n)*ONBUILD 'RUN id(.|\n)*without ONBUILD"):
            build(docker.engine, ImageRecipe(name, (("/testbed", tmp_path),)), built)
    assert docker.engine.api.images(built) == []


class Builder:
    """An engine's API that has no image until it has pulled one, and remembers what it was asked for."""

    def __init__(self, **config: Any) -> None:
        self.config, self.pulled, self.asked = config, list[tuple[str, str]](), dict[str, Any]()

    def inspect_image(self, name: str) -> dict[str, Any]:
        if name != "made" and not self.pulled:
            raise ImageNotFound("no such image")
        return {"Id": f"id of {name}", "Config": self.config}

    def pull(self, repository: str, tag: str, **_: Any) -> Iterator[dict[str, Any]]:
        self.pulled.append((repository, tag))
        yield {"status": "Pulling"}
        if repository == "gone":
            yield {"error": "the connection was reset"}

    def build(self, fileobj: Any, **asked: Any) -> Iterator[dict[str, Any]]:
        with tarfile.open(fileobj=fileobj) as tar:
            text = tar.extractfile("Dockerfile")
            assert text is not None
            self.asked = {**asked, "text": text.read().decode()}
        yield {"stream": "ok"}


def test_a_build_has_no_network_and_its_base_is_the_one_that_was_looked_at() -> None:
    engine: Any = SimpleNamespace(api=Builder())
    build(engine, ImageRecipe("python:3.12-slim", ()), "made")
    assert engine.api.pulled == [("python", "3.12-slim")] and engine.api.asked["network_mode"] == "none"
    assert engine.api.asked["text"].startswith("FROM id of python:3.12-slim\n")
    build(engine, ImageRecipe("registry:5000/team/base", ()), "made")  # there now: not pulled again
    assert len(engine.api.pulled) == 1
    engine.api = Builder(OnBuild=["RUN evil"])
    with pytest.raises(ImageUnusable, match="ONBUILD 'RUN evil'"):
        build(engine, ImageRecipe("registry:5000/team/base", ()), "made")
    assert engine.api.pulled == [("registry:5000/team/base", "latest")] and not engine.api.asked
    engine.api = Builder()
    with pytest.raises(
        ImageUnusable, match=r"cannot be built on 'gone': the connection was reset(.|\n)*docker pull gone"
    ):
        build(engine, ImageRecipe("gone", ()), "made")


@docker_alone
def test_no_volume_of_an_image_reaches_the_host_s_disk(docker: DockerBackend, debian: str) -> None:
    lines = 'VOLUME ["/data/.", "/./var//spool", "/opt/../srv", "/usr/local/share/"]'
    backend = DockerBackend(derived(docker.engine, "selfplay-test-volume-names", lines))
    with contextlib.closing(backend), backend.open(World(), SMALL) as sandbox:
        said = docker.engine.api.inspect_container(sandbox.id)  # type: ignore[attr-defined]
        assert {mount["Type"] for mount in said["Mounts"]} == {"bind"}
        for place in ("/data", "/var/spool", "/srv", "/usr/local/share"):
            done = sandbox.run(f"df --output=size {place} | tail -1; echo > {place}/file", timeout=10)
            assert done.stdout.split() == [b"4"] and b"Read-only" in done.stderr, place


@docker_alone
def test_reading_an_image_copies_none_of_its_volumes_to_the_host_s_disk(
    docker: DockerBackend, debian: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("content")
    build(docker.engine, ImageRecipe(debian, (("/app", tmp_path),)), "selfplay-test-kept-base")
    tag = derived(docker.engine, "selfplay-test-kept", 'VOLUME ["/app/.", "/etc"]', "selfplay-test-kept-base")
    with contextlib.closing(DockerBackend(tag)) as backend:
        with image.unstarted(docker.engine, tag, backend.image.volumes) as container:
            assert docker.engine.api.inspect_container(container)["Mounts"] == []
        archive = backend.copy_out("/app")
        assert archive is not None
        with archive, tarfile.open(fileobj=archive) as tar:
            assert "app/file" in tar.getnames()
        assert set(image.account_files(docker.engine, backend.image)) == {"passwd", "group"}
        assert b"sandbox:x:" in image.account_files(docker.engine, backend.image)["passwd"]


def imported(docker: DockerBackend, tag: str, *members: tarfile.TarInfo) -> str:
    """An image of these files alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    docker.engine.api.import_image_from_data(buffer.getvalue(), repository=tag, tag="latest")
    return tag


@docker_alone
@pytest.mark.parametrize(
    "members",
    [
        (image.member("etc/passwd", tarfile.DIRTYPE, 0o755), "etc/passwd/big", 8 << 20),
        (image.member("etc/group", tarfile.FIFOTYPE, 0o644), "etc/file", 1),
        (image.member("etc", tarfile.DIRTYPE, 0o755), "etc/passwd", (1 << 20) + 1),
    ],
    ids=["a folder", "a pipe", "too large"],
)
def test_accounts_that_are_no_small_file_are_refused(docker: DockerBackend, members: tuple[Any, str, int]) -> None:
    first, name, size = members
    file = image.member(name, tarfile.REGTYPE, 0o644)
    file.size = size
    tag = imported(docker, "selfplay-test-accounts", first, file)
    with pytest.raises(ImageUnusable, match=r"/etc/(passwd|group) of the image is no file of at most 1048576 bytes"):
        DockerBackend(tag)


@docker_alone
def test_a_place_that_is_a_pipe_is_no_source(docker: DockerBackend) -> None:
    """An engine that is asked for it answers never, and cannot remove the container again."""
    tag = imported(docker, "selfplay-test-pipe", image.member("app", tarfile.FIFOTYPE, 0o644))
    backend = DockerBackend(tag)
    with contextlib.closing(backend):
        assert backend.copy_out("/app") is None and backend.copy_out("/none") is None


class Archive:
    """An engine's API with one path, whose archive does not end."""

    base_url, api_version, timeout = "http://engine", "1.41", 60

    def __init__(self, mode: int) -> None:
        self.mode, self.read = mode, 0

    def head(self, _: str, **asked: Any) -> SimpleNamespace:
        assert asked == {"params": {"path": "/etc/passwd"}, "timeout": 60}
        said = base64.b64encode(json.dumps({"mode": self.mode, "size": 100}).encode())
        return SimpleNamespace(status_code=200, ok=True, headers={"X-Docker-Container-Path-Stat": said})

    def get_archive(self, *_: str) -> tuple[Iterator[bytes], None]:
        return self.pieces(), None

    def pieces(self) -> Iterator[bytes]:
        while True:
            self.read += 1 << 16
            yield bytes(1 << 16)


def test_a_file_is_counted_while_it_is_read_and_a_link_is_no_accounts() -> None:
    api = Archive(0o644)
    with pytest.raises(ImageUnusable, match="/etc/passwd of the image is too large"):
        image_files.text_file(api, "container", "/etc/passwd")
    assert api.read <= 2 << 20
    link = Archive(image_files.GO_MODE_LINK | 0o777)
    assert image_files.text_file(link, "container", "/etc/passwd") == b"" and not link.read


SPEAKS = {
    "byte by byte": 'for byte in pack([b"data", bytes(1000)]):\n    os.write(1, bytes([byte])); time.sleep(0.5)',
    "errors without end": 'while True:\n    os.write(2, b"x" * 65536)',
}


@docker_alone
@pytest.mark.parametrize("how", SPEAKS)
def test_an_image_s_agent_that_never_ends_its_answer_is_lost_in_time(
    docker: DockerBackend, debian: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(live, "GRACE_SECONDS", 2.0)
    body = f"request()\n{SPEAKS[how]}\n"
    backend = of_its_own_agent(docker, "selfplay-test-slow-agent", body)
    with contextlib.closing(backend), backend.open(World(), SMALL) as sandbox:
        began = time.monotonic()
        with pytest.raises(SandboxLost, match="did not answer within"):
            sandbox.run("true", timeout=0.5)
        assert time.monotonic() - began < 15


@docker_alone
@pytest.mark.parametrize("said", ['"nan", 0.0', '0.0, "inf"', "-1.0, 0.0", "0.0, -1.0"])
def test_an_image_s_agent_is_not_believed_an_impossible_time(
    docker: DockerBackend, debian: str, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    added = list[float]()
    monkeypatch.setattr(container_cpu, "add", added.append)
    body = f'while True:\n    request(); done(b"", *map(float, ({said})))\n'
    backend = of_its_own_agent(docker, "selfplay-test-odd-times", body)
    with (
        contextlib.closing(backend),
        backend.open(World(), SMALL) as sandbox,
        pytest.raises(SandboxLost, match="took no possible time"),
    ):
        sandbox.run("true", timeout=5)
    assert added == []


@docker_alone
@pytest.mark.parametrize("answer", [b"/usr/bin/x\n", b"\xff\xfe=\xff", b"pids=\xc2\xb2\n", b"=" * 1000])
def test_an_image_s_agent_that_answers_the_probe_with_nonsense_is_a_typed_error(
    docker: DockerBackend, debian: str, answer: bytes
) -> None:
    backend = of_its_own_agent(docker, "selfplay-test-nonsense", f"while True:\n    request(); done({answer!r})\n")
    with contextlib.closing(backend), pytest.raises(IsolationUnavailable, match="the canary did not say anything of"):
        probe(backend)
