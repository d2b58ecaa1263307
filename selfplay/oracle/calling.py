"""Runs calls of the program in a process of its own, outside the tests' runner and folder; reads the signed record."""

import json
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from selfplay.oracle import inside
from selfplay.oracle.signed import BrokenRecord, Signed, read_signed
from selfplay.oracle.world import Task
from selfplay.sandbox import WORKDIR, Backend, Limits
from selfplay.workbench.running import Request, Run, run_tests

SECONDS = 1.0
"""How long one call may take."""
_PARSER = 'print(\'{"calls": "passed"}\')\n'


@dataclass(frozen=True)
class Calls:
    """`python`, `paths`: how the program is loaded. `modules`: module -> its name in the calls. `sources`: name of a
    probe -> the call."""

    python: str = ""
    paths: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def make_calls(
    backend: Backend, task: Task, calls: Calls, diffs: Sequence[str], seconds: float, limits: Limits,
    hash_seed: str = "0", traced: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> tuple[Signed, Run]:  # fmt: skip
    """What the calls did, and the run; nothing when the record is broken or does not end. Raises `SandboxError`.

    `traced`: functions, by file and first line, whose lines that run are an outcome, too, at the place `lines`; for the
    original alone."""
    key, record = secrets.token_hex(32), f"/tmp/selfplay-{secrets.token_hex(8)}"
    order = {
        "record": record, "paths": list(calls.paths), "modules": dict(calls.modules), "seconds": SECONDS,
        "traced": {f"{WORKDIR}/{path}": list(lines) for path, lines in traced.items()},
        "calls": [[name, source] for name, source in calls.sources.items()],
    }  # fmt: skip
    request = Request(
        task.world, _script(calls.python, hash_seed), _PARSER, seconds, limits, diffs=tuple(diffs),
        restore=task.artifact.test_files, stdin=f"{key}{json.dumps(order)}".encode(), read=(record,),
    )  # fmt: skip
    run = run_tests(backend, request)
    try:
        found, ended = read_signed(run.found.get(record, b""), key)
    except BrokenRecord:
        return {}, run
    return found if ended else {}, run


def _script(python: str, hash_seed: str) -> str:
    """Starts the caller in an empty folder, with built-ins of its own."""
    text = "".join(inside.text(name) for name in ("selfplay_plain.py", "selfplay_caller.py"))
    program = inside.apart(f"{text}\nselfplay_caller()\n", "caller")
    return (
        f'cd "$(mktemp -d)" || exit 97\nexport PYTHONHASHSEED={hash_seed} PYTHONDONTWRITEBYTECODE=1\n'
        f"exec {shlex.quote(python)} -c {shlex.quote(program)}\n"
    )
