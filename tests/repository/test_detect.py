from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository.detect import detect


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"pyproject.toml": "[project]\nname='x'\nrequires-python='>=3.9'\n[project.optional-dependencies]\n"
                               "tests=['pytest']\ndev=['ruff']\n"},
            {"name": "x", "requires_python": ">=3.9", "project": True, "extras": ("tests",)}, id="pep621-extras",
        ),
        pytest.param(
            {"pyproject.toml": "[project]\nname='x'\n[dependency-groups]\nunit-tests=['pytest']\ndocs=['sphinx']\n"},
            {"groups": ("unit-tests",), "extras": ()}, id="pep735",
        ),
        pytest.param(
            {"pyproject.toml": "[tool.poetry]\nname='x'\n[tool.poetry.dependencies]\npython='^3.9'\nrich='^13.1'\n"
                               "[tool.poetry.group.test.dependencies]\npytest='~8.1'\nmine={path='../mine'}\n"},
            {"name": "x", "project": True, "packages": ("pytest<8.2,>=8.1",), "requires_python": ">=3.9,<4",
             "dependencies": ("rich<14,>=13.1",)}, id="poetry",
        ),
        pytest.param(
            {"pyproject.toml": "[build-system]\nrequires=['flit_core']\n[tool.flit.metadata]\nmodule='x'\n"
                               "[tool.flit.metadata.requires-extra]\ntest=['pytest']\n"},
            {"name": "x", "project": True, "extras": ("test",)}, id="flit",
        ),
        pytest.param(
            {"pyproject.toml": "[project]\nname='x'\n[tool.hatch.envs.default]\ndependencies=['pytest-mock']\n"},
            {"packages": ("pytest-mock",)}, id="hatch",
        ),
        pytest.param(
            {"setup.cfg": "[metadata]\nname=x\n[options]\npython_requires=>=3.8\npackage_dir=\n  =src\n"
                          "[options.extras_require]\ntesting=\n  pytest\n"},
            {"name": "x", "requires_python": ">=3.8", "extras": ("testing",), "roots": ("src",)}, id="setup.cfg",
        ),
        pytest.param(
            {"setup.py": "from setuptools import setup\nextras={'test': [], 'docs': read()}\n"
                         "setup(name='x', extras_require=extras, tests_require=['mock'], python_requires='>=3')\n"},
            {"name": "x", "extras": ("test",), "packages": ("mock",), "requires_python": ">=3"}, id="setup.py",
        ),
        pytest.param({"setup.py": "print 'python 2'\n"}, {"project": True, "name": None}, id="setup.py-unparsable"),
        pytest.param(
            {"requirements.txt": "rich", "requirements/test.txt": "pytest", "a.py": ""},
            {"project": False, "requirement_files": ("requirements/test.txt", "requirements.txt")}, id="requirements",
        ),
        pytest.param(
            {"setup.py": "", "tox.ini": "[testenv]\ndeps =\n  mock\n  py27: enum34\n  -rreq.txt\n  {x}y\n"},
            {"packages": ("mock",)}, id="tox",
        ),
        pytest.param(
            {"setup.py": "", "tests/test_a.py": "def test_a(mocker): pass\n"},
            {"packages": ("pytest-mock",)}, id="plugin",
        ),
        pytest.param({"pyproject.toml": "not = [toml", "a.py": ""}, {"language": "python", "project": False}, id="bad"),
        pytest.param({"src/ns/pkg/__init__.py": ""}, {"language": "python", "roots": ("src",)}, id="namespace"),
        pytest.param({"a.py": "", "test_a.py": ""}, {"language": "python", "roots": (".",)}, id="flat"),
        pytest.param({"package.json": "{}", "tool.py": ""}, {"language": "javascript"}, id="node"),
        pytest.param({"Makefile": "", "a.c": ""}, {"language": "c"}, id="c"),
        pytest.param({"go.mod": ""}, {"language": "go"}, id="go"),
        pytest.param({"README": ""}, {"language": "unknown"}, id="nothing"),
    ],
)  # fmt: skip
def test_plans(tmp_path: Path, files: dict[str, str], expected: dict[str, object]) -> None:
    plan = detect(write(tmp_path, files))
    assert {name: getattr(plan, name) for name in expected} == expected
