"""Reports how this machine can isolate: tries each backend as it is used, with every promise of the probe."""

from dataclasses import asdict, dataclass, field
from typing import Any

from selfplay.sandbox.backends import BACKENDS, open_backend
from selfplay.sandbox.errors import SandboxError


@dataclass(frozen=True)
class Examined:
    """One backend. `promises`: those that hold, in words; `problem`: the first that does not, or why none could be
    tried."""

    name: str
    works: bool
    versions: dict[str, str] = field(default_factory=dict)
    enforcement: dict[str, str] = field(default_factory=dict)
    promises: tuple[str, ...] = ()
    problem: str = ""
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def examine(name: str, image: str | None = None, runtime: str | None = None) -> Examined:
    """Try one backend. Raises `IsolationUnavailable` for an unknown name."""
    if name not in BACKENDS:
        open_backend(name)
    try:
        backend: Any = open_backend(name, image, runtime)
    except SandboxError as error:
        return Examined(name, False, problem=error.message, hint=error.hint)
    return Examined(name, True, backend.versions(), backend.enforcement(), backend.promises)


def advice(found: list[Examined]) -> tuple[str, ...]:
    """Advice for better isolation here, most useful first."""
    lines = [f"{one.name}: {one.problem}. {one.hint}".replace("..", ".") for one in found if not one.works]
    for one in found:
        weak = [limit for limit, holder in one.enforcement.items() if "alone" in holder or holder == "nothing"]
        if weak:
            lines.append(
                f"{one.name}: no control group limits {', '.join(weak)} of a whole sandbox. Run as root, or in a "
                "session to which systemd delegates them (`systemd-run --user --scope -p Delegate=yes`)."
            )
        if one.works and "runtimes" in one.versions and "runsc" not in one.versions["runtimes"]:
            lines.append(
                "docker: the host's kernel is shared. Install gVisor (`runsc install`) and give `--runtime runsc` "
                "where the code is hostile."
            )
    return tuple(lines)
