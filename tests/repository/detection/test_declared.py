"""Names that a project declares anywhere, and the URL of its repository: read as data."""

from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository.detection.declared import declared_names, home_of, repository_url

FILES = {
    "pyproject.toml": "[project]\ndependencies=['Alpha_One>=1']\n[project.optional-dependencies]\n"
    "x=['beta[extra]; python_version>\"3\"']\n"
    "[dependency-groups]\ntest=['gamma', {include-group='x'}]\n[tool.poetry.group.dev.dependencies]\ndelta='^1'\n",
    "setup.cfg": "[options]\ninstall_requires =\n    epsilon\n[options.extras_require]\nt =\n    zeta<2\n",
    "tox.ini": "[testenv:py]\ndeps =\n    eta\n    py3: theta\n",
    "requirements/tests.txt": "# a comment\niota==1 --hash=sha256:00\n-r other.txt\n",
    "noxfile.py": "def tests(session):\n    session.install('kappa')\n",
    "setup.py": "raise SystemExit\nsetup(tests_require=['lambda'])\n",
}


def test_every_place_counts(tmp_path: Path) -> None:
    names = declared_names(write(tmp_path, FILES))
    wanted = {"alpha-one", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda"}
    assert wanted <= set(names)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://github.com/hukkin/tomli", "https://github.com/hukkin/tomli"),
        ("https://github.com/hukkin/tomli/issues", "https://github.com/hukkin/tomli"),
        ("https://gitlab.com/a/b.git", "https://gitlab.com/a/b"),
        ("https://github.com/sponsors/hynek", ""),
        ("https://github.com/hukkin", ""),
        ("https://github.com.evil.org/a/b", ""),
        ("https://user@github.com/a/b", ""),
        ("https://github.com/../b", ""),
        ("http://github.com/a/b", ""),
        ("https://localhost/a/b", ""),
        ("file:///etc/passwd", ""),
    ],
)
def test_repositories_on_well_known_hosts(url: str, plain: str) -> None:
    assert repository_url(url) == plain


def test_the_header_names_the_repository_and_the_text_below_does_not(tmp_path: Path) -> None:
    head = "Metadata-Version: 2.1\nName: x\nProject-URL: Docs, https://x.readthedocs.io\n"
    below = "\nSee https://github.com/some/other"
    assert home_of(write(tmp_path, {"PKG-INFO": head + below})) == ""
    named = "Project-URL: Source, https://github.com/own/x\n"
    assert home_of(write(tmp_path, {"PKG-INFO": head + named + below})) == "https://github.com/own/x"


def test_a_repository_that_an_old_description_names_is_not_the_projects(tmp_path: Path) -> None:
    """Metadata before 2.1 hold the description among the headers, its lines indented."""
    head = "Metadata-Version: 1.1\nName: x\nHome-page: http://example.org/x\nDescription: used by\n"
    other = "        .. _Zipline: https://github.com/quantopian/zipline\nPlatform: UNKNOWN\n"
    assert home_of(write(tmp_path, {"PKG-INFO": head + other})) == ""
    assert home_of(write(tmp_path, {"PKG-INFO": f"{head}{other}Project-URL: Code, https://github.com/own/x\n"})) == (
        "https://github.com/own/x"
    )
