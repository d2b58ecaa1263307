"""Which commands of other runners pytest can take over, and what it then runs."""

from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository.suites.as_pytest import AsPytest, as_pytest

FILES = {
    "manage.py": "",
    "shop/__init__.py": "",
    "shop/tests.py": "",
    "shop/checks/check_a.py": "",
    "tests/test_b.py": "",
}
ALL = AsPytest()
DJANGO = AsPytest((), "test*.py", django=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = write(tmp_path / "tree", FILES)
    (made / "link").symlink_to(tmp_path)
    return made


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python -m unittest", ALL),
        ("python3.11 -m unittest discover -v -b", ALL),
        ("/usr/bin/python3 -m unittest discover tests", AsPytest(("tests",))),
        ("python -m unittest discover -s shop/checks -t . -p 'check_*.py'", AsPytest(("shop/checks",), "check_*.py")),
        (
            "python -m unittest discover --start-directory=shop --pattern=check_*.py",
            AsPytest(("shop",), "check_*.py"),
        ),
        ("python -m unittest discover shop 'check*.py' .", AsPytest(("shop",), "check*.py")),
        ("python -m unittest tests.test_b shop/tests.py", AsPytest(("tests/test_b.py", "shop/tests.py"), "*.py")),
        ("python -m unittest -v tests.test_b.SomeTest.test_it", AsPytest(("tests/test_b.py",), "*.py")),
        ("python manage.py test", DJANGO),
        ("./manage.py test --settings=site.settings -v 2", DJANGO),
        ("python3 manage.py test shop --keepdb", AsPytest(("shop",), "test*.py", django=True)),
        ("python manage.py test shop.tests.SomeTest", AsPytest(("shop/tests.py",), "test*.py", django=True)),
    ],
)
def test_what_pytest_runs_instead(tree: Path, command: str, expected: AsPytest) -> None:
    assert as_pytest(command, tree) == expected


@pytest.mark.parametrize(
    "command",
    [
        "", "'", "pytest", "pytest -k unittest", "make test", "python -m pytest tests", "python setup.py test",
        "python manage.py check", "python -m unittest discover -k one", "python -m unittest nowhere",
        "python -m unittest discover -s nowhere", "python -m unittest discover -s ../other",
        "python -m unittest discover -s /etc", "python -m unittest discover -s link",
        "python -m unittest discover -s link/tree/shop",
        f"python -m unittest discover -s {'a' * 300}", "python -m unittest discover -p '-c evil'",
        "FLAG=1 python -m unittest",  # what it sets, pytest would not
        "cd shop && python -m unittest",
    ],
)  # fmt: skip
def test_any_other_command_runs_as_it_is(tree: Path, command: str) -> None:
    assert as_pytest(command, tree) is None
