"""Versions in texts of strangers."""

from pathlib import Path

import pytest
from packaging.version import Version

from selfplay.package_versions import LONGEST_VERSION, version_of
from selfplay.repository.building.interpreters import Interpreter, choose


def test_a_version_is_read_as_packages_state_it() -> None:
    assert version_of("1.2rc1+cu118") == Version("1.2rc1+cu118")
    longest = "1." + "9" * (LONGEST_VERSION - 2)
    assert str(version_of(longest)) == longest


@pytest.mark.parametrize("text", ["", "latest", "1 2", " 1", "1\n", "1." + "9" * LONGEST_VERSION, "1!" + "9" * 5000])
def test_what_is_none_has_none(text: str) -> None:
    """Python makes no number of more than 4,300 digits, and says so with an error of its own."""
    assert version_of(text) is None


@pytest.mark.parametrize("requires", [">=3." + "9" * 5000, "==3." + "9" * 5000 + ".*", "nonsense"])
def test_a_range_that_cannot_be_read_allows_any_python(tmp_path: Path, requires: str) -> None:
    here = Interpreter("3.11.4", tmp_path / "python", None)
    assert choose(requires, available=(here,)) == here
