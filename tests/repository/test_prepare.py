"""Real builds in real sandboxes: hand-made projects, each in a style of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from repository_fixtures import git, write

from selfplay.repository import BuildFailed, NoInterpreter, Prepared, SourceError, prepare, rebuild, write_original
from selfplay.sandbox import Backend

Make = Callable[..., Path]
SRC = {
    "pyproject.toml": "[build-system]\nrequires=['setuptools>=77']\nbuild-backend='setuptools.build_meta'\n"
    "[project]\nname='demo-pkg'\ndynamic=['version']\n"
    "[project.optional-dependencies]\ntest=['no-such-distribution-4711']\n"
    "[tool.setuptools.dynamic]\nversion={attr='demo_pkg.VERSION'}\n",
    "src/demo_pkg/__init__.py": "VERSION = '1.0'\n",
    "src/demo_pkg/core.py": "def double(x):\n    return 2 * x\n",
    "tests/test_core.py": "from demo_pkg.core import double\n\ndef test_double():\n    assert double(2) == 4\n",
}


def inside(backend: Backend, prepared: Prepared, command: str, *, history: bool = True) -> str:
    with backend.open(prepared.world(history=history)) as sandbox:
        return sandbox.run(command, timeout=60, merge_stderr=True).text.strip()


@pytest.fixture(scope="module")
def src_layout(tmp_path_factory: pytest.TempPathFactory, backend: Backend, cache: Path) -> Prepared:
    folder = write(tmp_path_factory.mktemp("src") / "demo project ü", SRC)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first"), ("tag", "v1.0")):
        git(folder, *command)
    write(folder, {"src/demo_pkg/core.py": SRC["src/demo_pkg/core.py"] + "\nUNUSED = 1\n"})
    git(folder, "commit", "-qam", "second")
    return prepare(str(folder), backend=backend, cache=cache)


@pytest.mark.long
def test_the_project_is_imported_from_the_tree(backend: Backend, src_layout: Prepared) -> None:
    where = inside(backend, src_layout, "python -c 'import demo_pkg.core as m; print(m.__file__)'")
    assert where == "/testbed/src/demo_pkg/core.py"
    assert "1 passed" in inside(backend, src_layout, "python -m pytest -q -p no:cacheprovider")
    assert inside(backend, src_layout, "find /env -name core.py -path '*demo*'") == ""


def test_extras_that_do_not_install_are_notes(src_layout: Prepared) -> None:
    assert "the extra test does not install" in src_layout.notes


def test_history_is_usable_inside_and_clean(backend: Backend, src_layout: Prepared) -> None:
    assert inside(backend, src_layout, "git log --format=%s") == "second\nfirst"
    assert inside(backend, src_layout, "git status --short") == ""
    assert "+UNUSED = 1" in inside(backend, src_layout, "git show HEAD")
    assert inside(backend, src_layout, "git rev-parse 'HEAD^{tree}'") == src_layout.tree_hash
    assert inside(backend, src_layout, "ls -a | grep -x .git", history=False) == ""


def test_the_environment_cannot_be_written(backend: Backend, src_layout: Prepared) -> None:
    assert "Read-only" in inside(backend, src_layout, "touch /env/x")
    assert inside(backend, src_layout, "touch src/x && ls src/x") == "src/x"


def test_a_sandbox_has_a_file_system_of_its_own_for_it(src_layout: Prepared) -> None:
    """So its locks hold up no neighbour's: `tests/sandbox/test_own_files.py`."""
    assert {mount.target for mount in src_layout.mounts if mount.own} >= {"/env", "/tools"}


def test_byte_code_lies_in_a_layer_of_its_own(src_layout: Prepared) -> None:
    assert src_layout.bytecode is not None
    names = {path.name.split(".")[0] for path in src_layout.bytecode.rglob("*.pyc")}
    assert {"core", "test_core"} <= names
    assert not list(src_layout.tree.rglob("*.pyc"))


def test_a_second_time_nothing_is_built(backend: Backend, src_layout: Prepared, cache: Path) -> None:
    said: list[str] = []
    again = prepare(src_layout.source, backend=backend, cache=cache, progress=said.append)
    assert again == src_layout and said == []


@pytest.mark.slow
def test_rebuilding_from_the_plain_tree(backend: Backend, src_layout: Prepared, cache: Path, tmp_path: Path) -> None:
    write_original(src_layout, tmp_path / "original", backend)
    assert not (tmp_path / "original" / ".git").exists()
    again = rebuild(tmp_path / "original", src_layout.recorded, backend=backend, cache=cache)
    assert (again.tree, again.tree_hash, again.env) == (src_layout.tree, src_layout.tree_hash, src_layout.env)
    (tmp_path / "original" / "new.py").touch()
    with pytest.raises(SourceError, match="is not the recorded tree"):
        rebuild(tmp_path / "original", src_layout.recorded, backend=backend, cache=cache)


def test_a_command_runs_in_no_other_tree(backend: Backend, src_layout: Prepared, cache: Path) -> None:
    """A source may be another tree tomorrow: it is refused before anything of it runs."""
    with pytest.raises(SourceError, match="is not the recorded tree"):
        prepare(src_layout.source, backend=backend, cache=cache, setup="exit 1", tree="0" * 40)
    with pytest.raises(BuildFailed):
        prepare(src_layout.source, backend=backend, cache=cache, setup="exit 1", tree=src_layout.tree_hash)


@pytest.mark.slow
def test_a_copy_in_the_environment_is_replaced(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """`pip install .` copies the project: bugs in the tree would not be seen, and the copy would show the fix."""
    folder = write(tmp_path / "copied", SRC)
    prepared = prepare(str(folder), backend=backend, cache=cache, setup="pip install --quiet . && touch generated.txt")
    assert "a copy of the project was removed from the environment: demo_pkg" in prepared.notes
    with backend.open(prepared.world()) as sandbox:  # nor is its digest there, against which a solver could try texts
        listed = sandbox.run("cat /env/lib/python3*/site-packages/demo*.dist-info/RECORD", timeout=20)
    assert "METADATA,sha256=" in listed.text and "demo_pkg/" not in listed.text
    command = "cd /; python -c 'import demo_pkg.core as m; print(m.__file__)'"
    assert inside(backend, prepared, command) == "/testbed/src/demo_pkg/core.py"
    assert (prepared.tree / "generated.txt").exists()
    assert inside(backend, prepared, "git status --short") == ""


@pytest.mark.long
def test_flat_modules_without_packaging_and_a_missing_import(backend: Backend, cache: Path, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "flat", {"tool.py": "import iniconfig\n", "test_tool.py": "import tool, toml\ndef test(): pass\n"}
    )
    prepared = prepare(str(folder), backend=backend, cache=cache)
    assert "toml was installed because the tests import it" in prepared.notes
    assert "1 passed" in inside(backend, prepared, "python -m pytest -q -p no:cacheprovider")


@pytest.mark.slow
def test_a_build_that_fails_names_step_lines_and_log(backend: Backend, cache: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "broken", {"setup.py": "raise SystemExit('no compiler for you')\n"})
    with pytest.raises(BuildFailed) as caught:
        prepare(str(folder), backend=backend, cache=cache)
    assert "installing the project without extras exited" in str(caught.value)
    log = Path(str(caught.value).rpartition("The whole log: ")[2])
    assert "no compiler for you" in log.read_text()
    assert not list((cache / "environments").glob(".*"))  # no staging folder stays


@pytest.mark.slow
def test_a_setup_command_that_fails(backend: Backend, cache: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "other", {"package.json": "{}"})
    with pytest.raises(BuildFailed, match="the setup command exited 3"):
        prepare(str(folder), backend=backend, cache=cache, setup="exit 3")


@pytest.mark.slow
def test_other_languages_are_prepared_without_an_environment(backend: Backend, cache: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {"Makefile": "check:\n\ttrue\n", "main.c": ""})
    prepared = prepare(str(folder), backend=backend, cache=cache, setup="mkdir out && echo built > out/made")
    assert (prepared.language, prepared.mounts) == ("c", ())
    assert (
        inside(backend, prepared, "cat out/made; git status --short; git log --format=%s") == "built\nc as it was found"
    )


def test_no_interpreter_fits(backend: Backend, cache: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "old", {"pyproject.toml": "[project]\nname='x'\nrequires-python='<3.0'\n"})
    with pytest.raises(NoInterpreter, match=r"needs Python <3\.0, but this machine has .*3\."):
        prepare(str(folder), backend=backend, cache=cache)


@pytest.mark.long
def test_a_release_of_a_real_project(backend: Backend, cache: Path) -> None:
    prepared = prepare("pypi:sqlparse==0.5.3", backend=backend, cache=cache, releases=2)
    assert inside(backend, prepared, "git log --format=%s") == "sqlparse 0.5.3\nsqlparse 0.5.2\nsqlparse 0.5.1"
    assert "461 passed" in inside(backend, prepared, "python -m pytest -q -p no:cacheprovider")


def test_a_backend_without_an_image_says_so(backend) -> None:
    assert backend.image_id == ""
