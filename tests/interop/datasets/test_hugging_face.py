"""`datasets.load_dataset` opens a dataset's folder: its types, its splits, and as a stream."""

from collections.abc import Callable
from pathlib import Path

import pools
import pytest
from interop_datasets import LANGUAGES, Tool

from selfplay.export.dataset import FORMATS
from selfplay.export.formats import Form


@pytest.mark.parametrize("form", ["hf", "swebench", "swesmith", "r2e", "harbor"])
def test_every_format_opens_with_its_types(exported: Callable[..., Path], tool: Tool, form: Form) -> None:
    out = exported(form)
    (split,) = tool("swebench", "open_dataset.py", out).values()
    assert split["rows"] == len(LANGUAGES) and split["streams"]
    wanted = dict(FORMATS[form].columns)
    assert {name: _kind(feature) for name, feature in split["features"].items()} == wanted
    assert split["first"] == pools.rows(out)[0]


def _kind(feature: str) -> str:
    if feature.startswith("List({"):
        return "entities"
    return "list" if feature.startswith("List(") else feature.removeprefix("Value('").removesuffix("')")


def test_a_split_has_both_parts(exported: Callable[..., Path], tool: Tool) -> None:
    found = tool("swebench", "open_dataset.py", exported("hf", train=0.67))
    assert {name: split["rows"] for name, split in found.items()} == {"train": 2, "test": 1}  # three repositories
