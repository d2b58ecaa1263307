"""A path with `~` is a folder, or a typed error; pathlib's own words for it are used in one place alone."""

import os
import pwd
import re
from pathlib import Path

import pytest

import selfplay
from selfplay.errors import SelfplayError
from selfplay.user_paths import expanded, home

PACKAGE = Path(selfplay.__file__).parent
RAISING = re.compile(r"\.expanduser\(\)|\bPath\.home\(\)")


def nobody(*_: object) -> None:
    raise KeyError("no such user")


def test_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/x", SelfplayError) == tmp_path / "x" and home() == tmp_path
    assert expanded("x/~y", SelfplayError) == Path("x/~y")


def test_without_a_home_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert home() is None
    for text in ("~", "~/x", "~nosuchuser"):
        with pytest.raises(SelfplayError, match="no home of a user is known by that name"):
            expanded(text, SelfplayError)


def test_no_other_module_asks_pathlib() -> None:
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    assert {os.fspath(path.relative_to(PACKAGE)) for path, text in texts.items() if RAISING.search(text)} == {
        "user_paths.py"
    }
