"""Figures keep what a later version stored, and hold nothing else that this one does not know."""

import sqlite3
from typing import Any

import pytest
from pydantic import ValidationError

from selfplay.curriculum import AttemptFigures, StoredEpisodeFigures
from selfplay.curriculum.records import PlayFigures, plain_row, read_row


@pytest.mark.parametrize("kind", [AttemptFigures, StoredEpisodeFigures])
def test_a_field_that_is_not_known_is_kept_when_read_and_refused_when_made(kind: type[PlayFigures]) -> None:
    read = read_row(kind, '{"calls": 2, "later": 1}')
    assert read.calls == 2 and '"later":1' in read.model_dump_json()
    mistyped: dict[str, Any] = {"call": 2}
    with pytest.raises(ValidationError, match="has no field 'call'"):
        kind(**mistyped)


def test_what_names_and_programs_say_can_be_stored_whatever_bytes_it_is() -> None:
    """A path is any bytes but NUL; half of a pair may come from a model."""
    odd = "left-\udcff \ud83d"
    made = AttemptFigures(player=odd, left_out=(odd,), weaknesses=(odd, "\0"))
    again = read_row(AttemptFigures, made.model_dump_json())
    assert again.left_out == ("left-\\xff \ufffd",) and again == made
    assert StoredEpisodeFigures(files=(odd,)).files == ("left-\\xff \ufffd",)
    row = plain_row((odd, 3, None, "\0"))
    assert row == ("left-\\xff \ufffd", 3, None, "\ufffd")
    assert sqlite3.connect(":memory:").execute("SELECT ?, ?, ?, ?", row).fetchone() == row
