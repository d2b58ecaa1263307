"""Exports of three hand-made bugs in three languages, and logs of their evaluation, made in this project's sandbox.

The tools run in environments of their own (`make interop`), as programs: nothing of them is imported here."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hand_made
import pools
import pytest
from bench_fixtures import Bench, backend, bench, shared, worlds

from selfplay.artifact import Artifact, Bug
from selfplay.commands.export import ExportOrder, run_export
from selfplay.export.formats import Form
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world
from selfplay.sandbox import Backend, Limits
from selfplay.validators import validate

__all__ = ["backend", "bench", "shared", "worlds"]
ROOT = Path(__file__).parents[1]
ENVIRONMENTS = Path(os.environ.get("SELFPLAY_INTEROP", ROOT / ".venv-interop"))
DRIVERS = Path(__file__).parent / "interop" / "datasets" / "drivers"
LANGUAGES = ("python", "javascript", "c")
Tool = Callable[..., Any]
Log = Callable[[dict[str, Any], str], str]


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """`tool(environment, driver, *arguments)`: what a driver prints as JSON, run by the interpreter of a tool."""

    cache = tmp_path_factory.mktemp("cache")  # `datasets` keeps what it read, by path: of an earlier session, too

    def run(environment: str, driver: str, *arguments: object, cwd: Path | None = None) -> Any:
        python = ENVIRONMENTS / environment / "bin" / "python"
        if environment == "harbor" and not python.exists():
            pytest.skip("Harbor needs Python 3.12 or newer, which `make interop` did not find on this machine")
        assert python.exists(), f"{python} is missing: `make interop` makes it"
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        offline = {
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "MSWEA_SILENT_STARTUP": "1",
            "HF_HOME": str(cache),
        }
        done = subprocess.run(
            [python, DRIVERS / driver, *map(str, arguments)], capture_output=True, text=True, timeout=280, cwd=cwd,
            env={**clean, **offline},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
        return json.loads(done.stdout.rpartition("RESULT ")[2])

    return run


@pytest.fixture(scope="session")
def bugs(bench: Bench) -> dict[str, tuple[Bug, Artifact]]:
    """Language -> a valid bug, with the tests that its checks measured."""
    found = {}
    for language in LANGUAGES:
        artifact = hand_made.artifact(language)
        validation = validate(artifact, bench(language, artifact))
        assert validation.valid, validation.verdicts
        found[language] = pools.measured(language, validation)
    return found


@pytest.fixture(scope="session")
def exported(bugs: dict[str, tuple[Bug, Artifact]], tmp_path_factory: pytest.TempPathFactory) -> Callable[[Form], Path]:
    """The three bugs in a format."""
    folder = tmp_path_factory.mktemp("exported")
    runs = [
        pools.pool(folder / language, hand_made.original(language), [bugs[language]], language)
        for language in LANGUAGES
    ]
    made: dict[str, Path] = {}

    def export(form: Form, **how: Any) -> Path:
        key = f"{form} {how}"
        if key not in made:
            made[key] = folder / f"out-{len(made)}"
            run_export(ExportOrder(runs, made[key], form, **how))
        return made[key]

    return export


@pytest.fixture(scope="session")
def log(backend: Backend, worlds: dict[str, Any], bugs: dict[str, tuple[Bug, Artifact]]) -> Iterator[Log]:
    """`log(row, patch, command)`: what the evaluation of a patch prints, in the world that an agent's image has."""

    def run(row: dict[str, Any], patch: str, script: str) -> str:
        language = row["ssr_source"].removeprefix("pypi:").removesuffix("==1")
        task = Task(worlds[language], bugs[language][1])
        with open_world(backend, task, Limits()) as world:
            sandbox = world.sandbox
            if patch:
                applied = sandbox.run(["git", "apply", "--verbose", "-"], timeout=60, stdin=patch.encode())
                assert applied.exit_code == 0, applied.text
            sandbox.write_file("/tmp/eval.sh", script.encode())
            done = sandbox.run(["bash", "-c", "bash /tmp/eval.sh 2>&1"], timeout=120)
        return done.stdout.decode("utf-8", "replace")

    yield run
