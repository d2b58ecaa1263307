"""A model's folder of others: nothing of it runs while it is read."""

import ast
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

import selfplay
from selfplay.artifact.model_folders import model_settings, refuse_no_model
from selfplay.artifact.reading import UntrustedDataError


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"config.json": "{}"}, ""),
        ({"config.json": '{"time_step_limit": [0.0, Infinity], "x": -Infinity, "y":NaN}'}, ""),
        ({"config.json": '{"attn_implementation": "sdpa"}'}, ""),
        ({"config.json": "{}", "adapter_config.json": "{}"}, "adapter"),
        ({"config.json": "[]"}, "no table"),
        ({"config.json": "[" * 5000}, "config.json"),
        ({}, "config.json"),
        ({"config.json": '{"attn_implementation": "some/kernel"}'}, "kernel"),
        ({"params.json": "{}"}, ""),
        ({"config.json": '{"speculators_config": {"verifier": {"name_or_path": "other/model"}}}'}, "another model"),
        ({"config.json": '{"a": {"b": [{"attn_implementation": "some/kernel"}]}}'}, "kernel"),
        ({"config.json": '{"text_config": {"_attn_implementation": "some/kernel:f"}}'}, "kernel"),
    ],
)
def test_what_is_not_read_as_a_model(files: dict[str, str], why: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UntrustedDataError, match=why) if why else nullcontext():
        refuse_no_model(tmp_path)


def test_a_hubs_name_is_left_to_the_library() -> None:
    refuse_no_model("some/model")


def test_numbers_that_json_lacks_become_zero_and_texts_stay(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 9, "limit": Infinity, "said": "to Infinity"}')
    assert model_settings(tmp_path) == {"vocab_size": 9, "limit": 0, "said": "to Infinity"}
    (tmp_path / "config.json").write_text(json.dumps({"x": "y" * (16 << 20)}))
    with pytest.raises(UntrustedDataError):
        model_settings(tmp_path)


def test_no_call_that_loads_lets_a_folder_s_code_run() -> None:
    """Transformers asks on standard input where `trust_remote_code` is not given."""
    root, seen = Path(selfplay.__file__).parent, 0
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "from_pretrained":
                continue
            said = ast.unparse(node)
            seen += 1
            assert "**LOADING" in said or said.split(".")[-2] == "GenerationConfig", f"{path}: {said}"
    assert seen > 8
