"""The rungs of a build, each in a real sandbox: hand-made projects whose tests run only after one is climbed."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from repository_fixtures import git, write

from selfplay.repository import NoTests, Prepared, measure_suite, prepare
from selfplay.repository.building.build import BuildRequest
from selfplay.repository.building.ladder import NEAREST, Look, import_roots, setup_line
from selfplay.repository.fetching.reading import BuildPlan
from selfplay.sandbox import Backend

Build = Callable[[Mapping[str, str]], Prepared]
PASSES = "\n\ndef test_it():\n    assert True\n"
DJANGO = {
    "manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site_4711.settings')\n",
    "requirements.txt": "django<5.3\n", "site_4711/__init__.py": "", "shop/__init__.py": "",
    "site_4711/settings.py": "SECRET_KEY = 'x'\nINSTALLED_APPS = ['shop']\n"
    "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n",
    "shop/models.py": "from django.db import models\n\nclass Good(models.Model):\n    name = models.TextField()\n",
}  # fmt: skip


@pytest.fixture
def build(backend: Backend, cache: Path, tmp_path: Path) -> Build:
    return lambda files: prepare(str(write(tmp_path / "project", files)), backend=backend, cache=cache)


def passes(backend: Backend, prepared: Prepared) -> bool:
    with backend.open(prepared.world()) as sandbox:
        done = sandbox.run("python -m pytest -q -p no:cacheprovider", timeout=120, merge_stderr=True)
    return done.exit_code == 0


def pinned(prepared: Prepared, name: str) -> str:
    return next(line.partition("==")[2] for line in prepared.recorded["lock"] if line.startswith(f"{name}=="))


@pytest.mark.long
def test_an_older_pytest_where_the_errors_speak_of_it(backend: Backend, build: Build) -> None:
    """pytest 8.1 removed this class; 7.4.4 was the last release before 8."""
    prepared = build({"conftest.py": "from pytest import PytestRemovedIn8Warning\n", "test_a.py": PASSES})
    assert pinned(prepared, "pytest") == "7.4.4" and passes(backend, prepared)
    assert any(note.startswith("pytest<8 was installed: more of the tests run under it") for note in prepared.notes)


@pytest.mark.long
def test_the_plugin_of_a_mark_under_strict_marks(backend: Backend, build: Build) -> None:
    marked = "import pytest\n\n@pytest.mark.order(1)" + PASSES.lstrip("\n").join(("\n", ""))
    prepared = build({"pytest.ini": "[pytest]\naddopts = --strict-markers\n", "test_a.py": marked})
    assert "pytest-order was installed because the tests import it" in prepared.notes and passes(backend, prepared)


@pytest.mark.long
def test_a_module_that_only_the_noxfile_declares(backend: Backend, build: Build) -> None:
    nox = "def tests(session):\n    session.install('pytest', 'roman')\n"
    prepared = build({"noxfile.py": nox, "test_a.py": "import roman" + PASSES})
    assert "roman was installed because the tests import it" in prepared.notes and passes(backend, prepared)


@pytest.mark.long
def test_a_module_that_nobody_declares_is_named_with_the_next_step(backend: Backend, build: Build) -> None:
    prepared = build({"test_a.py": "import roman" + PASSES})
    assert not any(line.startswith("roman==") for line in prepared.recorded["lock"])
    with pytest.raises(NoTests) as caught:
        measure_suite(prepared, backend)
    assert caught.value.hint.startswith(
        f"{NEAREST}: 0 are collected, mostly by ModuleNotFoundError: No module named 'roman'"
    )
    assert "--setup" in caught.value.hint


@pytest.mark.long
def test_a_flat_layout_with_a_vendor_folder(backend: Backend, build: Build) -> None:
    """setuptools refuses two top-level packages; the vendored one is imported as if it were installed."""
    prepared = build({
        "pyproject.toml": "[build-system]\nrequires=['setuptools>=77']\nbuild-backend='setuptools.build_meta'\n"
        "[project]\nname='shop'\nversion='1'\n",
        "shop/__init__.py": "import till_4711\n", "vendor/till_4711/__init__.py": "",
        "vendor/other/__init__.py": "", "tests/test_shop.py": "import shop" + PASSES,
    })  # fmt: skip
    assert passes(backend, prepared)
    assert "modules are imported from vendor, too" in prepared.notes


@pytest.mark.long
def test_the_tests_of_manage_py(backend: Backend, build: Build) -> None:
    """Models cannot be imported without settings, so that pytest alone collects nothing."""
    prepared = build({
        **DJANGO,
        "shop/tests.py": "from django.test import TestCase\nfrom shop.models import Good\n\n"
        "class GoodTest(TestCase):\n    def test_made(self):\n        Good.objects.create(name='tea')\n"
        "        self.assertEqual(Good.objects.count(), 1)\n",
    })  # fmt: skip
    suite = measure_suite(prepared, backend)
    assert list(suite.seconds) == ["shop/tests.py::GoodTest::test_made"]
    assert "--ds=site_4711.settings" in suite.options


@pytest.mark.long
@pytest.mark.parametrize("command", [None, "python manage.py test", "python manage.py test shop --keepdb"])
def test_django_tests_beside_plain_ones(backend: Backend, build: Build, command: str | None) -> None:
    """pytest alone finds the plain one, and one that imports its models only when it runs."""
    prepared = build({
        **DJANGO,
        "shop/tests.py": "from django.test import TestCase\n\nclass GoodTest(TestCase):\n    def test_made(self):\n"
        "        from shop.models import Good\n        self.assertEqual(Good.objects.count(), 0)\n",
        "shop/test_plain.py": "def test_plain():\n    pass\n",
    })  # fmt: skip
    suite = measure_suite(prepared, backend, command=command)
    assert sorted(suite.seconds) == ["shop/test_plain.py::test_plain", "shop/tests.py::GoodTest::test_made"]
    assert suite.command is None and "--ds=site_4711.settings" in suite.options


@pytest.mark.long
@pytest.mark.parametrize("command", [None, "python -m unittest discover -s tests/checks -t . -p 'check_*.py'"])
def test_tests_of_unittest_as_tox_calls_it(backend: Backend, build: Build, command: str | None) -> None:
    tox = "[tox]\n[testenv]\ncommands = python -m unittest discover -s tests/checks -t . -p 'check_*.py'\n"
    case = "import unittest\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n        import shop\n"
    files = {"shop.py": "", "tests/__init__.py": "", "tests/checks/__init__.py": "", "tests/checks/check_a.py": case}
    prepared = build(files if command else {**files, "tox.ini": tox})
    suite = measure_suite(prepared, backend, command=command)
    assert list(suite.seconds) == ["tests/checks/check_a.py::Case::test_it"]
    assert suite.command is None


@pytest.mark.long
def test_versions_of_the_day_of_the_commit(
    backend: Backend, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest 7.1.2 came in April 2022, 7.1.3 in August."""
    folder = write(tmp_path / "dated", {"test_a.py": PASSES})
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2022-06-01T12:00:00Z")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        git(folder, *command)
    prepared = prepare(str(folder), backend=backend, cache=cache)
    assert (prepared.recorded["as_of"], pinned(prepared, "pytest")) == ("2022-06-03", "7.1.2")


@pytest.mark.long
def test_what_the_trial_leaves_is_not_a_part_of_the_tree(build: Build) -> None:
    leaving = "\n\ndef test_it():\n    import os\n    os.mkdir('left')\n    open('left/behind', 'w').close()\n"
    assert not (build({"test_a.py": leaving}).tree / "left").exists()


def test_import_roots_are_folders_that_hold_the_module() -> None:
    tracked = dict.fromkeys(("a/lib/m/__init__.py", "a/lib/m/x.py", "deep/er/m.py", "p/__init__.py", "p/q.py"), "")
    request = BuildRequest(BuildPlan("python"), None, tracked)
    assert import_roots(request, ["m.x"]) == {"a/lib"}  # as deep as the other, and before it
    assert import_roots(request, ["q", "unknown"]) == set()  # a part of a package is no module of its own


def test_the_better_look_has_more_that_passes() -> None:
    none, half, whole = (Look(("t",) * 9, 0, 10, passed, "") for passed in (0, 5, 10))
    assert whole.better(half) and half.better(none) and not none.better(none)
    assert Look(("t",), 0, 0, 0, "").better(Look((), 3, 0, 0, ""))
    assert not none.fine and half.fine and not Look((), 0, 0, 0, "").fine


def test_the_setup_line_is_what_was_done() -> None:
    plan = BuildPlan("python", project=True, extras=("test",), requirement_files=("dev.txt",), packages=("a>1",))
    assert setup_line(BuildRequest(plan, None, {})) == "pip install -e '.[test]' -r dev.txt 'a>1' pytest"
    plan = BuildPlan("python", project=True, extras=("test-$(id)", "'`id`"))
    line = setup_line(BuildRequest(plan, None, {}))
    assert shlex.split(line) == ["pip", "install", "-e", ".[test-$(id),'`id`]", "pytest"] and '"$(' not in line
