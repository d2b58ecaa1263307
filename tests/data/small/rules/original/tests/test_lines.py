import json
import pathlib

import pytest

from rules import lines

CASES = sorted((pathlib.Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_filled(path):
    for case in json.loads(path.read_text()):
        if case["out"] is None:
            with pytest.raises(KeyError):
                lines.filled(case["template"], case["values"])
        else:
            assert lines.filled(case["template"], case["values"]) == case["out"]


def test_names():
    for case in json.loads((pathlib.Path(__file__).parent / "names.json").read_text()):
        assert lines.names(case["template"]) == case["names"]
