"""YAML is read into plain values, and every fault of a text is one `TrainingError`."""

import json
import random
from pathlib import Path

import pytest

from selfplay.errors import SelfplayError
from selfplay.loop.config import load_config
from selfplay.loop.errors import TrainingError
from selfplay.loop.yaml_text import read_yaml

PIECES = [
    "!!int ", "!!float ", "!!bool ", "!!null ", "!!timestamp ", "!!binary ", "!!set ", "!!omap ", "!!pairs ",
    "!!str ", "!!map ", "!!seq ", "!!python/object:os.system ", "!x ", "!<tag:> ", "%YAML 1.1\n", "%TAG ! x:\n",
    "---\n", "...\n", "&a ", "*a", "*a ", "<<: ", "<<: *a\n", "? ", ": ", ":\n  ", "- ", "-\n ", "[", "]", "{", "}",
    ", ", "\n", "\t", "  ", "x", "y: ", "play: ", "recipe: ", "source", "seed: ", "5", "-", "0x", "0b", "0o9",
    "1:2:3", "1e400", ".inf", ".nan", "9" * 5000, "0x" + "f" * 5000, "1:" * 900 + "1", "2026-13-45",
    "2026-01-01T25:61:61", "=", "null", "~", "true", '"', "'", "\\x4", '"\\U99999999"', '"\\ud800"', '"\\x"', "|\n",
    "|9\n", ">-\n  ", "#", "@", "`", "\x00", "\x85", "\ufeff",
]  # fmt: skip
WHOLE = [
    "seed: 2026-99-99", "created: 2026-13-45", "a: !!int x", "a: !!int ''", "a: !!float x", "a: !!bool x",
    "a: !!set {b}", f"a: {'9' * 5000}", f"a: 0x{'f' * 5000}", "a: !!binary é", "a: !!timestamp x", "a: !!omap [b]",
    "&a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "? [a]\n: b", "? {a: b}\n: c", "1: 2", "null: 2", "[" * 5000,
    "{a: " * 5000, "*a", "a: b: c", "a: '", 'a: "\\U99999999"', 'a: "\\ud800"', "a: \x07", "--- a\n--- b", "a: =",
    "%YAML 9.9\n--- a", "a: !!python/name:os.system",
    "\n".join([f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]" for n in range(9)]),
]  # fmt: skip


def test_a_name_is_given_once() -> None:
    for text in ("steps: 1\nseed: 2\nsteps: 3", "play: {calls: 1, 'calls': 2}"):
        with pytest.raises(TrainingError, match="is given twice"):
            read_yaml(text, "the text")
    merged = "a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, x: 3}\nd: [{x: 1}, {x: 2}]"
    assert read_yaml(merged, "the text") == {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}, "d": [{"x": 1}, {"x": 2}]}


def read(text: str) -> None:
    """The value is plain, so JSON can hold it; or there is one typed error of two short lines."""
    try:
        json.dumps(read_yaml(text, "the text")).encode()
    except TrainingError as error:
        assert error.hint and len(error.message) < 500 and "\n" not in error.message
        for raw in ("unicode string", "int()", "codec", "Traceback", "datetime", "must be in"):
            assert raw not in error.message, error.message


@pytest.mark.parametrize("text", WHOLE)
def test_hostile_texts(text: str) -> None:
    read(text)


def test_texts_of_random_pieces() -> None:
    draw = random.Random(0)
    for _ in range(3000):
        read("".join(draw.choices(PIECES, k=draw.randint(1, 12))))


@pytest.mark.slow
@pytest.mark.parametrize("text", WHOLE)
def test_neither_a_file_nor_an_override_raises_anything_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(TrainingError):
        load_config(tmp_path / "a.yaml")
    for name in ("seed", "model", "source", "play.context", "recipe.lr", "cluster", "setup", "play", "no.such"):
        try:
            load_config("tiny_cpu", [f"{name}={text}"]).binding()
        except TrainingError as error:
            assert error.hint or error.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n  b: !!int x", "the text is not YAML: line 2, column 6: this is no whole number of at most 64 bits"),
        ("a: [", "the text is not YAML: line 1, column 5: expected the node content"),
        ("a: !!timestamp x", "line 1, column 4: no setting has the tag 'timestamp'"),
        ("a: \x07", "it holds a character that YAML forbids, at 3"),
        ('a: "\\ud800"', "it holds half of a character"),
        ("5: a", "the text: 5 is not the name of a setting"),
        ("&a [*a]", "the text holds more than 10000 values"),
        ("[" * 5000, "it is nested too deeply"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SelfplayError) as refused:
        read_yaml(text, "the text")
    assert said in refused.value.message


def test_a_date_is_a_text() -> None:
    assert read_yaml("[2026-01-01, 2026-13-45, 1.5, 0x10, yes, ~, &a [b], *a]", "") == [
        "2026-01-01", "2026-13-45", 1.5, 16, True, None, ["b"], ["b"],
    ]  # fmt: skip
