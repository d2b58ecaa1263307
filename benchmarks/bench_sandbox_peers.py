"""Other projects' sandboxes on this machine: start, a command, and whether what ran past a timeout lives on.

`python -m benchmarks.bench_sandbox_peers [--json]`. Each is installed into an environment of its own in the cache, the
first time. swe-rex's local deployment isolates nothing; mini-swe-agent's bubblewrap environment starts bwrap for each
command, here with the same binary as ours; agentbox-rl starts containers of the engine that DOCKER_HOST names.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Sheet, report
from selfplay.repository.cache import default_cache
from selfplay.sandbox.errors import InsideError, SandboxError
from selfplay.sandbox.programs import find_bwrap

COMMANDS = 60
IMAGE = "selfplay-debian"
ROOT = Path(__file__).parents[1]
PEERS = {"swe-rex": "1.4.0", "mini-swe-agent": "2.4.6", "agentbox-rl": "0.3.0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    report([sheet()], parser.parse_args().json)


def sheet() -> Sheet:
    """Every figure of the table; a peer that cannot be installed or run is named with its reason in the note."""
    figures: list[Figure] = []
    notes = []
    for name in PEERS:
        try:
            figures += of(name, measured(name))
        except (subprocess.SubprocessError, SandboxError, InsideError, OSError, ValueError) as error:
            said = getattr(error, "stderr", None) or str(error)  # a timeout's may be bytes
            text = said.decode(errors="replace") if isinstance(said, bytes) else said
            notes.append(f"{name}: not measured: {text.strip().rpartition(chr(10))[2][:300]}")
    return Sheet(f"sandboxes of other projects, {os.cpu_count()} cores", tuple(figures), "\n".join(notes))


def measured(name: str) -> dict[str, Any]:
    """What a peer's program printed. Raises `CalledProcessError` with its words."""
    arguments = {"mini-swe-agent": [str(find_bwrap())], "agentbox-rl": [IMAGE]}.get(name, [])
    if name == "agentbox-rl":
        subprocess.run([ROOT / ".ci" / "docker-image", IMAGE], check=True, capture_output=True, text=True)
    program = Path(__file__).with_name("peers") / f"{name.replace('-', '_')}.py"
    command = [str(install(name)), "-I", str(program), str(COMMANDS), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


def install(name: str) -> Path:
    """The Python of a peer's environment, made once. Raises `CalledProcessError`."""
    folder = default_cache() / "peers" / f"{name}-{PEERS[name]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        uv = Path(sys.executable).with_name("uv")
        steps: tuple[list[str | Path], ...] = (
            [uv, "venv", "--clear", "--quiet", "--python", sys.executable, folder],
            [uv, "pip", "install", "--quiet", "--python", python, f"{name}=={PEERS[name]}"],
        )
        for command in steps:
            subprocess.run(command, check=True, capture_output=True, text=True)
        (folder / "complete").touch()
    return python


def of(name: str, found: dict[str, Any]) -> list[Figure]:
    label = f"{name} {PEERS[name]}"
    words = {"start": "start", "command": "a command (true)", "end": "end"}
    figures = [
        Figure(f"{label}: {word}", statistics.median(found[key]), "ms") for key, word in words.items() if found.get(key)
    ]
    alive = Figure(f"{label}: processes that outlive a timeout (1: yes)", float(found["survives"]), "")
    return [*figures, alive]


if __name__ == "__main__":
    main()
