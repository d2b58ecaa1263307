"""The commands of tox and nox that run a project's tests."""

from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository.detection.declared_commands import MOST, declared_commands

TOX = """
[tox]
envlist = py3
[testenv]
commands =
    pip list
    - python -m unittest discover \\
        -s checks {posargs}
    {envpython} -m pytest {posargs:tests}
[testenv:lint]
commands = ruff check .
[testenv:cov]
commands = pytest --cov={env:NAME}
"""
NOX = """
import nox
@nox.session
def tests(session):
    session.install("pytest")
    session.run("pytest", "-q", *session.posargs)
    session.run("python", "manage.py", "test", env={"A": "1"})
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tox.ini": TOX}, ("python -m unittest discover  -s checks", "python -m pytest tests")),
        ({"noxfile.py": NOX}, ("pytest -q", "python manage.py test")),
        (
            {"pyproject.toml": "[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ncommands = python -m unittest\n'''\n"},
            ("python -m unittest",),
        ),
        ({"pyproject.toml": "[tool.tox.env_run_base]\ncommands = [['pytest', 'a b'], ['x']]\n"}, ("pytest 'a b'",)),
        ({"tox.toml": "[env_run_base]\ncommands = [['python', '-m', 'unittest']]\n"}, ("python -m unittest",)),
        ({"tox.ini": "[testenv]\n", "noxfile.py": "def (", "pyproject.toml": "[tool]\ntox = 3\n"}, ()),
    ],
)
def test_what_is_declared(tmp_path: Path, files: dict[str, str], expected: tuple[str, ...]) -> None:
    assert declared_commands(write(tmp_path / "tree", files)) == expected


def test_of_many_commands_some_are_read(tmp_path: Path) -> None:
    lines = "".join(f"    pytest tests/{number}\n" for number in range(1000))
    assert len(declared_commands(write(tmp_path / "tree", {"tox.ini": f"[testenv]\ncommands =\n{lines}"}))) == MOST
