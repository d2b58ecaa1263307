"""A model server that tests talk to."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Serving:
    """vLLM's server on this machine: its process, base URL and the model's name there."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    model: str = "smollm2"
