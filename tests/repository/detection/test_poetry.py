"""Expected values are Poetry's documented examples (docs, "Dependency specification") unless a comment derives them."""

import sys

import pytest
from packaging.requirements import Requirement

from selfplay.repository.detection.poetry import python_range, requirements

# The tables of "Caret requirements", "Tilde requirements" and "Wildcard requirements"; bounds as short as they can be.
DOCUMENTED = {
    "^1.2.3": ">=1.2.3,<2", "^1.2": ">=1.2,<2", "^1": ">=1,<2", "^0.2.3": ">=0.2.3,<0.3", "^0.0.3": ">=0.0.3,<0.0.4",
    "^0.0": ">=0.0,<0.1", "^0": ">=0,<1",
    "~1.2.3": ">=1.2.3,<1.3", "~1.2": ">=1.2,<1.3", "~1": ">=1,<2",
    "*": None, "1.*": "==1.*", "1.2.*": "==1.2.*",
    ">= 1.2.0": ">=1.2.0", "> 1": ">1", "< 2": "<2", "!= 1.2.3": "!=1.2.3", "==1.2.3": "==1.2.3", "1.2.3": "==1.2.3",
    ">= 1.2, < 1.5": ">=1.2,<1.5", "~=3.8": "~=3.8",
}  # fmt: skip
DERIVED = {
    "^3.8 <3.13": ">=3.8,<4,<3.13",  # a blank means "and", as a comma does
    "2.7.*|^3.4": ">=3.4,<4",  # the last alternative; one bar is read like two
    ">=2.7, !=3.0.*, !=3.1.*": ">=2.7,!=3.0.*,!=3.1.*",
    "^1.2b1": ">=1.2b1,<2",
    "~1!2.3": ">=1!2.3,<1!2.4",  # the epoch belongs to both ends
    "3.X": "==3.*", "=3.9.1": "==3.9.1", "v3.9.1": "==3.9.1",
    "3.11": "==3.11.*",  # of an interpreter: any 3.11
    "": None, "junk": None, "^junk": None, "^3.*": None, ">=": None, "^": None, "<>3": None, "^3 ||": None,
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "expected"), (DOCUMENTED | DERIVED).items())
def test_ranges(constraint: str, expected: str | None) -> None:
    assert python_range(constraint) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("^1.2", ["x<2,>=1.2"]),  # the packaging library sorts the clauses
        ("*", ["x"]),
        ("1.2", ["x==1.2"]),
        ("^2.7 || ^3.6", ["x<4,>=3.6"]),
        ({"version": "^1", "extras": ["b", "a"], "optional": True, "source": "pypi"}, ["x[a,b]<2,>=1"]),
        ({"version": "*", "markers": "python_version < '3.8'"}, ['x; python_version < "3.8"']),
        ({"version": "^1", "platform": "darwin || linux"},
         ['x<2,>=1; sys_platform == "darwin" or sys_platform == "linux"']),
        ({"version": "*", "platform": "!=win32"}, ['x; sys_platform != "win32"']),
        ([{"version": "^1", "python": "<3.8"}, {"version": "^2", "python": "^3.8.1"}],
         ['x<2,>=1; python_version < "3.8"', 'x<3,>=2; python_version < "4" and python_full_version >= "3.8.1"']),
        ({"path": "../x"}, []), ({"git": "https://host/x"}, []), ({"file": "x.whl"}, []),
        ("junk", []), (5, ["x==5"]), ({"version": "^1", "extras": 5}, []), ({"version": "*", "markers": "("}, []),
        ([], []), (None, []), ({"version": None}, []), ({"python": "junk"}, []),
    ],
)  # fmt: skip
def test_requirements(entry: object, expected: list[str]) -> None:
    assert list(requirements({"python": "^3.9", "x": entry})) == expected


@pytest.mark.parametrize("name", ["", "a b", "x;", "[y]"])
def test_a_name_that_is_no_name_is_left_out(name: str) -> None:
    assert requirements({name: "*"}) == ()


@pytest.mark.parametrize(
    ("python", "holds"),
    [("^2.7 || ^3.6", True), ("2.7.*", False), (f"{sys.version_info[0]}.{sys.version_info[1]}.*", True), ("*", True)],
)
def test_a_python_decides_whether_a_dependency_is_wanted(python: str, holds: bool) -> None:
    """On this interpreter: a Python 3 of at least 3.11."""
    (text,) = requirements({"x": {"version": "*", "python": python, "markers": "python_version > '3'"}})
    marker = Requirement(text).marker
    assert marker is not None and marker.evaluate() is holds
