import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from repository_fixtures import write

from selfplay.repository.detection.detect import detect
from selfplay.repository.fetching.quarantine import check
from selfplay.repository.fetching.reading import BuildPlan, MalformedAnswer, ReaderAnswer, SourceFound, decoded, encoded

NAMES = st.text(max_size=6) | st.sampled_from(["python", "version", "extras", "markers", "path", "x", "where"])
ARGUMENTS = (
    "name", "version", "python_requires", "extras_require", "tests_require", "install_requires", "package_dir",
)  # fmt: skip


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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8)
    | st.sampled_from(["", ">=3.8", "==9.*.*", "^1", "|| 3", "../..", "x[y", "\ud800", "a\0b", "9" * 5000, "-e ."]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
KEYS = (
    "project", "tool", "build-system", "dependency-groups", "name", "version", "requires-python", "dependencies",
    "optional-dependencies", "poetry", "flit", "hatch", "pdm", "setuptools", "metadata", "module", "requires-extra",
    "extras", "group", "dev-dependencies", "python", "package-mode", "packages", "find", "where", "package-dir", "envs",
    "default", "test", "",
)  # fmt: skip


def toml(value: object) -> str:
    """A value in TOML's inline notation; what TOML cannot say becomes a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) < 2**63:
        return str(value)
    if isinstance(value, float):
        return repr(value) if "." in repr(value) else "nan"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(str(value).encode("utf-8", "replace").decode(), ensure_ascii=True).replace("\\/", "/")


def shaped(depth: int = 4) -> st.SearchStrategy[object]:
    """Tables with the names that are looked for, holding anything."""
    inner = VALUES if depth == 0 else VALUES | shaped(depth - 1)
    return st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)


@pytest.mark.slow
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(shaped(), st.dictionaries(st.sampled_from(ARGUMENTS), VALUES), st.text(max_size=200), st.binary(max_size=200))
def test_whatever_the_files_hold_there_is_a_plan_that_the_host_accepts(document, arguments, ini, noise) -> None:
    """TOML, setup.py, setup.cfg, tox.ini and PKG-INFO with every type in the place of every other."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        (tree / "pyproject.toml").write_text("\n".join(f"{toml(key)} = {toml(item)}" for key, item in document.items()))
        given_words = ", ".join(f"{key}={item!r}" for key, item in arguments.items())
        (tree / "setup.py").write_bytes(f"setup({given_words})".encode("utf-8", "surrogatepass"))
        (tree / "setup.cfg").write_text(f"[metadata]\nname = {ini}\n[options]\n{ini}", "utf-8", "replace")
        (tree / "PKG-INFO").write_bytes(b"Name: " + noise + b"\nRequires-Python: " + noise + b"\n\n" + noise)
        (tree / "tox.ini").write_bytes(b"[testenv]\ndeps =\n  " + noise)
        plan = detect(tree)
    found = SourceFound("0" * 40, "0" * 40, {"a": "0" * 40}, "r", None, (), plan)
    assert decoded(SourceFound, encoded(found)) == found
    check(found)
    if plan.requires_python is not None:
        SpecifierSet(plan.requires_python)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"null", b"[" * 100_000, b'{"found": 1}', b'{"found": null}', b"\xff",
        *(
            json.dumps({**json.loads(encoded(ReaderAnswer())), name: value}).encode()
            for name, value in [
                ("wanted", 3), ("wanted", [{"url": 1, "commit": "x"}]), ("closed", None), ("problem", [1]),
                ("problem", "x" * 20_000), ("closed", "x" * 20_000), ("closed", "a\0b"), ("found", {"commit": "x"}),
                ("other", 1),
            ]
        ),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_refused(answer: bytes) -> None:
    with pytest.raises(MalformedAnswer):
        decoded(ReaderAnswer, answer)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("found", {"commit": "../../etc"}), ("found", {"tree_hash": "HEAD"}), ("found", {"tracked": {"../a": "x"}}),
        ("found", {"tracked": {"/a": "x"}}), ("plan", {"language": "../c"}),
        ("plan", {"requires_python": "==" + "9" * 300}),
    ],
)  # fmt: skip
def test_a_name_that_could_lead_elsewhere_is_refused(part: str, change: dict[str, Any]) -> None:
    found = SourceFound("0" * 40, "0" * 40, {}, "r", None, (), BuildPlan("c"))
    with pytest.raises(MalformedAnswer):
        check(replace(found, **(change if part == "found" else {"plan": replace(found.plan, **change)})))
