"""selfplay's own command, as benchmarks that take it from nothing call it."""

import subprocess
import sys
from pathlib import Path

SELFPLAY = str(Path(sys.executable).with_name("selfplay"))


def selfplay(*arguments: object, again: str) -> None:
    """Run a command of selfplay. Ends the program with its exit code when it fails. `again`: what goes on then."""
    command = [SELFPLAY, *map(str, arguments)]
    print(f"$ selfplay {' '.join(command[1:])}", flush=True)
    code = subprocess.run(command).returncode
    if code:
        sys.exit(f"`selfplay {arguments[0]}` ended with {code}; `{again}` goes on where it stopped")


def small_model() -> str:
    """The folder of SmolLM2-135M, which is fetched where it is not there."""
    made = subprocess.run([SELFPLAY, "model", "fetch", "smollm2"], stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout.strip()
