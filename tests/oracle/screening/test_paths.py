"""What a path is to a run of the tests, however it is written."""

from dataclasses import replace

import hand_made
import pytest
from trees import Tree

from selfplay.oracle.screening.paths import Places

PYTHON = hand_made.artifact("python")
CLIENT = "class Client:\n    def open(self):\n        return 1\n"
STEERS = """
conftest.py store/conftest.py tests/conftest.py pytest.ini tests/pytest.ini .pytest.ini pytest.toml .pytest.toml
sitecustomize.py store/usercustomize.py x.pth .env .env.test .envrc .python-version .npmrc .mocharc.json jest.config.js
vite.config.ts bunfig.toml deno.jsonc .gitconfig .bashrc phpunit.xml .cargo/config.toml bin/python bin/bash PyTest.INI
"""
LEFT_BEHIND = """
store/shop.py.orig store/shop.py.rej store/data.bak store/shop.py~
store/__pycache__/shop.cpython-311.pyc store/shop.pyc __pycache__/conftest.pyc node_modules/a/jest.config.js
.venv/lib/sitecustomize.py venv/pyvenv.cfg store.egg-info/entry_points.txt x.dist-info/METADATA x.dist-info .coverage
.pytest_cache/v/x .hypothesis/x .mypy_cache/x htmlcov/index.html .gitattributes .gitmodules x/site-packages/a.pth
"""
TESTS = """
tests/test_prices.py tests/test_new.py test_repro.py store/test_x.py tests/data/input.json Tests/TEST_prices.py
tests/te\uff53t_prices.py tests .coveragerc noxfile.py store/testing/x.py lib/a.spec.ts
tests/__init__.py spec/models/user_spec.rb
"""
PROGRAM = """
store/shop.py store/new.py repro.py README.md CHANGELOG.md tox.ini setup.cfg pyproject.toml
package.json .gitignore store/spec/openapi.py
.env.example lib/jest-report.js docs/testing.md store/contest.py store/pytest_like.pyi bin/tool requirements.txt
store/license.py lib/license-checker.js store/authors.py notice.py copying-files.txt
copying.py store/copying.js store/data/authors.txt store/LICENSE docs/security.md
"""
ELSEWHERE = """
.github/workflows/ci.yml .github/workflows/test.yml .gitlab-ci.yml .travis.yml .vscode/settings.json
.idea/workspace.xml .circleci/config.yml LICENSE License.md COPYING.LESSER .pre-commit-config.yaml CODEOWNERS
Dockerfile uv.lock
"""


@pytest.mark.parametrize(
    ("paths", "kind"),
    [
        (STEERS, "steers"),
        (LEFT_BEHIND, "left-behind"),
        (ELSEWHERE, "elsewhere"),
        (TESTS, "tests"),
        (PROGRAM, "program"),
    ],
)
def test_what_a_new_path_is(paths: str, kind: str) -> None:
    places = Places(PYTHON, Tree({"store/shop.py": ""}))
    found = {path: places.of(path, new=True).kind for path in paths.split()}
    assert set(found.values()) == {kind}, found


def test_the_files_of_the_bug_are_the_programs_whatever_their_names() -> None:
    bug = "diff --git a/store/test_client.py b/store/test_client.py\n--- a/store/test_client.py\n"
    own = replace(PYTHON, bug_inject=f"{bug}+++ b/store/test_client.py\n@@ -1 +1 @@\n-a\n+b\n")
    assert Places(own, Tree()).of("store/test_client.py").kind == "program"
    assert Places(PYTHON, Tree()).of("store/test_client.py").kind == "tests"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("web/test.py", CLIENT, "program"),  # a test client is the program's
        ("web/test.py", None, "tests"),  # a new one would be collected as tests
        ("web/test.py", "def test_x(): ...\n", "tests"),
        ("web/tests.py", "import unittest\nclass A(unittest.TestCase): ...\n", "tests"),
        ("web/testing.py", f"{CLIENT}\n    def assert_status(self, code): ...\n", "tests"),  # what tests claim with
        ("tests/test.py", CLIENT, "tests"),
        ("web/conftest.py", CLIENT, "steers"),
        ("web/test_x.py", CLIENT, "tests"),
    ],
)
def test_a_module_of_the_program_may_be_called_test(path: str, text: str | None, kind: str) -> None:
    tree = Tree({} if text is None else {path: text})
    assert Places(PYTHON, tree).of(path).kind == kind


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"web/test/__init__.py": "", "web/test/client.py": CLIENT}, "program"),
        ({"web/test/__init__.py": "", "web/test/client.py": "def assert_equal(): ...\n"}, "tests"),
        ({"web/test/__init__.py": "", "web/test/test_a.py": ""}, "tests"),
        ({"web/test/client.py": CLIENT}, "tests"),  # no package
    ],
)
def test_a_package_of_the_program_may_be_called_test(files: dict[str, str], kind: str) -> None:
    assert Places(PYTHON, Tree(files)).of("web/test/client.py").kind == kind
    assert Places(PYTHON, Tree(files)).of("web/test/test_b.py").kind == "tests"


def test_a_package_called_venv_is_the_programs_where_it_was() -> None:
    path = "tool/venv/make.py"
    assert Places(PYTHON, Tree({path: ""})).of(path).kind == "program"
    assert Places(PYTHON, Tree()).of(path).kind == "left-behind"


def test_what_only_a_configuration_refers_to_may_be_new() -> None:
    places = Places(PYTHON, Tree())
    for path in (".env.example", "lib/jest-report.js"):
        assert [places.of(path, new=new).kind for new in (True, False)] == ["program", "steers"]
