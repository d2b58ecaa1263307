"""The connection to the engine: found through `DOCKER_HOST` like in any Docker client, with its errors translated.

Permanent refusals (a missing image, a full disk, no permission) are raised at once. Only a broken connection is
retried, because only that may work a moment later: ours to the engine, or the engine's to the program that starts its
containers, which it starts again when that dies.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound, TLSParameterError
from requests.exceptions import RequestException

from selfplay.errors import in_words
from selfplay.sandbox.errors import Cause, IsolationUnavailable, MachineError, SandboxError, SandboxLost, WorldRefused

OLDEST_API = (1, 40)
SECONDS = 60.0
TRIES, PAUSE_SECONDS = 3, 0.2
HOW_TO_START = (
    "Start one (`systemctl start docker`, or `.ci/docker-engine start` in a checkout of selfplay), set DOCKER_HOST to "
    "its address, or use `--sandbox bubblewrap`, which needs none."
)
AWAY = re.compile(
    r"containerd\S{0,200}: connect: |: unavailable$|transport is closing$|ttrpc: closed|deadline exceeded$"
)
"""How an engine says that it does not reach containerd; the words of gRPC."""
Value = TypeVar("Value")


class EngineUnavailable(IsolationUnavailable):
    """No engine answers, it is too old, or this user may not use it."""


class EngineLost(EngineUnavailable, SandboxLost):
    """No engine answers: there is none, or it went away with its live sandboxes. `away`: there was one a moment ago,
    which may come back."""

    def __init__(self, message: str, hint: str = "", *, away: bool = False) -> None:
        SandboxLost.__init__(self, message, hint, Cause.OUTSIDE)
        self.away = away


class ImageUnusable(WorldRefused):
    """The image does not exist, or lacks what every sandbox needs."""


class EngineDiskFull(MachineError):
    """The engine's own disk is full or read-only: it can create no container."""


@dataclass(frozen=True)
class Engine:
    """A connection, and the engine's report about itself. `machine`: as `platform.machine` names it."""

    api: Any
    version: str
    api_version: str
    machine: str
    runtimes: tuple[str, ...]
    storage: str
    cgroup_version: str
    remaps_users: bool


def connect() -> Engine:
    """The engine that DOCKER_HOST names, else the machine's own. Raises `EngineUnavailable` with advice."""
    try:
        client = docker.DockerClient.from_env(version="auto", timeout=SECONDS, max_pool_size=64)
        said, about = client.api.version(), client.api.info()
    except TLSParameterError as error:
        raise EngineUnavailable(f"the Docker client cannot be set up: {error}", "Look at DOCKER_CERT_PATH.") from error
    except (DockerException, RequestException, ValueError) as error:  # ValueError: its port is not a number
        raise unreachable(error) from error
    if numbers(said["ApiVersion"]) < OLDEST_API:
        raise EngineUnavailable(
            f"the Docker engine {said['Version']} speaks API {said['ApiVersion']}, and {text(OLDEST_API)} is needed",
            "Use an engine of version 19.03 or newer.",
        )
    return Engine(
        client.api,
        said["Version"],
        said["ApiVersion"],
        about.get("Architecture", ""),
        tuple(sorted(about.get("Runtimes") or ())),
        about.get("Driver", ""),
        about.get("CgroupVersion", "1"),
        any(name in line for line in about.get("SecurityOptions") or () for name in ("userns", "rootless")),
    )


def unreachable(error: Exception) -> EngineLost:
    """The error that says why no engine answers, found among the causes: the library wraps the kernel's error several
    times."""
    reasons = list(causes(error))
    if any(isinstance(reason, PermissionError) or "Permission denied" in str(reason) for reason in reasons):
        return EngineLost(
            "this user may not use the Docker engine: its socket gives no permission",
            "Add the user to the group that owns the socket (often `docker`), or run the engine rootless.",
        )
    # A socket file that refuses was made by an engine; an address that refuses may never have had one.
    local = os.environ.get("DOCKER_HOST", "unix://").startswith("unix://")
    broken = [reason for reason in reasons if isinstance(reason, ConnectionError)]
    away = any(local or not isinstance(reason, ConnectionRefusedError) for reason in broken)
    return EngineLost(f"no Docker engine answers: {innermost(error)}", HOW_TO_START, away=away)


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, the errors it contains, and their causes."""
    for cause in chain(error):
        yield from (cause, *(argument for argument in cause.args if isinstance(argument, BaseException)))


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error, its cause, and so on, each once: where several threads raise one error of a shared run again, it may
    become the context of what is its own."""
    seen, cause = set[int](), error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]


def innermost(error: BaseException) -> str:
    """The shortest correct sentence among wrapped errors."""
    *_, last = chain(error)
    return in_words(last)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@contextmanager
def translated(image: str = "") -> Iterator[None]:
    """Translates the engine's refusals inside the context to our errors."""
    try:
        yield
    except ImageNotFound as error:
        raise missing(image) from error
    except APIError as error:
        raise refused(error, image) from error
    except (RequestException, DockerException) as error:
        raise unreachable(error) from error


def missing(image: str) -> ImageUnusable:
    return ImageUnusable(
        f"the engine has no image {image!r}",
        f"`docker pull {image}`, or build one with `selfplay image build SOURCE --base IMAGE`.",
    )


def refused(error: APIError, image: str) -> SandboxError:
    """Translate an engine's error to one of ours, with advice."""
    said = str(error.explanation or error)
    if AWAY.search(said):
        return EngineLost(f"the Docker engine does not reach what starts its containers: {said[-300:]}", away=True)
    if "no space left on device" in said or ("read-only file system" in said and "mountpoint" not in said):
        return EngineDiskFull(f"the Docker engine cannot write: {said}", "Free its disk: `docker system prune`.")
    if isinstance(error, NotFound) and "No such image" in said:
        return missing(image)
    if "invalid reference format" in said:
        return ImageUnusable(f"{image!r} is not an image's name", "NAME or NAME:TAG, as `docker images` lists them.")
    if "executable file not found" in said or "no such file or directory: unknown" in said:
        return ImageUnusable(
            f"the image {image!r} cannot start Python: {last_words(said)}",
            "An image needs bash and a python3 (3.9 or newer) on its PATH.",
        )
    if "bind source path does not exist" in said:
        return EngineUnavailable(
            f"the engine does not see this machine's files: {last_words(said)}",
            "The engine must run on the same machine as selfplay, and see the same folders.",
        )
    if "setting rlimit" in said:  # a rootless engine's own are lower
        return EngineUnavailable(
            f"the engine may not set a container's resource limits: {said[-300:]}",
            "Its own are lower than a sandbox's (1 MiB of locked memory, 1024 pending signals, 4096 open files): raise "
            "them where it is started (`systemctl --user edit docker`: LimitMEMLOCK, LimitSIGPENDING, LimitNOFILE).",
        )
    if "nknown runtime" in said or ("untime" in said and "not found" in said):
        return EngineUnavailable(f"the engine lacks the runtime: {said}", "Install gVisor and register `runsc`.")
    return MachineError(f"the Docker engine refused: {said}")


def last_words(said: str) -> str:
    return said.rpartition("exec: ")[2].strip()[-300:]


def patiently(action: Callable[[], Value]) -> Value:
    """Run `action`, and repeat it after a moment if the connection to the engine broke. Raises the last error."""
    for left in reversed(range(TRIES)):
        try:
            return action()
        except RequestException:
            if not left:
                raise
            time.sleep(PAUSE_SECONDS)
    raise AssertionError("unreachable")
