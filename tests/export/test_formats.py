"""The names that the command line knows are those of the formats that are written."""

import tomllib

import pytest

from selfplay.export.dataset import FORMATS
from selfplay.export.formats import FORMS, GRADED_FORMS
from selfplay.export.harbor import toml_text


def test_every_name_has_a_format() -> None:
    assert FORMATS.keys() == set(FORMS)


def test_a_tool_grades_the_log_of_what_has_a_script() -> None:
    assert {form for form, made in FORMATS.items() if made.script} == set(GRADED_FORMS)


@pytest.mark.parametrize("text", ["a\U0001f600b", '\x7f\0\n"\\', "\u00e9\u2028", "\ud7ff\U0010ffff"])
def test_any_text_is_a_string_of_toml(text: str) -> None:
    """A licence is a stranger's text: as JSON a letter beyond U+FFFF is two halves, which TOML refuses."""
    assert tomllib.loads(f"x = {toml_text(text)}") == {"x": text}
    assert tomllib.loads(f"x = {toml_text(text + chr(0xD83D))}")["x"].startswith(text), "half a letter"
