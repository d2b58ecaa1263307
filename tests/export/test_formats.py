"""The names that the command line knows are those of the formats that are written."""

from selfplay.export.dataset import FORMATS
from selfplay.export.formats import FORMS, GRADED_FORMS


def test_every_name_has_a_format() -> None:
    assert FORMATS.keys() == set(FORMS)


def test_a_tool_grades_the_log_of_what_has_a_script() -> None:
    assert {form for form, made in FORMATS.items() if made.script} == set(GRADED_FORMS)
