"""Figures keep what a later version stored, and hold nothing else that this one does not know."""

from typing import Any

import pytest
from pydantic import ValidationError

from selfplay.curriculum import AttemptFigures, StoredEpisodeFigures
from selfplay.curriculum.records import PlayFigures, read_row


@pytest.mark.parametrize("kind", [AttemptFigures, StoredEpisodeFigures])
def test_a_field_that_is_not_known_is_kept_when_read_and_refused_when_made(kind: type[PlayFigures]) -> None:
    read = read_row(kind, '{"calls": 2, "later": 1}')
    assert read.calls == 2 and '"later":1' in read.model_dump_json()
    mistyped: dict[str, Any] = {"call": 2}
    with pytest.raises(ValidationError, match="has no field 'call'"):
        kind(**mistyped)
