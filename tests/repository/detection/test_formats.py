"""INI files as `configparser` reads them, and what is not read at all."""

from configparser import RawConfigParser
from pathlib import Path

from selfplay.repository.detection.formats import MAX_BYTES, read_ini, read_toml

ORDINARY = """# a comment
[metadata]
name = thing
Home-Page: https://a.example/b=c

[options]
install_requires =
    one>=1
    # two

    three ; python_version < "3.12"
package_dir =
    = src
empty =
; another comment
[options.extras_require]
test = pytest
[metadata]
license = MIT
"""


def test_an_ordinary_file_reads_as_configparser_reads_it(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text(ORDINARY)
    config = RawConfigParser(strict=False)
    config.read_string(ORDINARY)
    expected = {name: {key: value.split() for key, value in config.items(name)} for name in config.sections()}
    found = read_ini(tmp_path / "setup.cfg")
    assert {name: {key: value.split() for key, value in table.items()} for name, table in found.items()} == expected


def test_what_is_no_ini_file_is_empty(tmp_path: Path) -> None:
    for text in ("name = thing\n", "[metadata]\nname\n", "[metadata]\nname = a\nstray\n", "[metadata\nname = a\n"):
        (tmp_path / "setup.cfg").write_text(text)
        assert read_ini(tmp_path / "setup.cfg") == {}, text
    assert read_ini(tmp_path / "absent") == {}


def test_a_file_too_large_or_behind_a_link_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("a = 1\n")
    assert read_toml(file) == {"a": 1}
    (tmp_path / "link").symlink_to(file)
    assert read_toml(tmp_path / "link") == {}
    file.write_text("a = 1\n" + "#" * MAX_BYTES)
    assert read_toml(file) == {}


def test_toml_nested_too_deeply_is_empty(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("a = " + "[" * 10_000)
    assert read_toml(tmp_path / "pyproject.toml") == {}
