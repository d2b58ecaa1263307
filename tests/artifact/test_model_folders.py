"""A model's folder of others: nothing of it runs while it is read."""

import ast
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import selfplay
from selfplay.artifact import model_folders
from selfplay.artifact.model_folders import (
    MOST_NAMED,
    load_model,
    model_settings,
    refuse_no_model,
    refuse_strange_files,
)
from selfplay.artifact.reading import UntrustedDataError
from selfplay.confinement.landlock import landlock_version


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


def test_numbers_that_json_lacks_become_zero_and_texts_stay(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 9, "limit": Infinity, "said": "to Infinity"}')
    assert model_settings(tmp_path) == {"vocab_size": 9, "limit": 0, "said": "to Infinity"}
    (tmp_path / "config.json").write_text(json.dumps({"x": "y" * (16 << 20)}))
    with pytest.raises(UntrustedDataError):
        model_settings(tmp_path)


def test_only_load_model_loads() -> None:
    root, seen = Path(selfplay.__file__).parent, 0
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                said = ast.unparse(node.func)
                assert not said.endswith("from_pretrained"), f"{path}: {said}"
                seen += said == "load_model"
    assert seen > 8


def test_nothing_of_a_folder_runs_or_is_fetched(tmp_path: Path) -> None:
    def given(model: str | Path, **options: object) -> object:
        return options

    assert load_model(given, tmp_path, dtype=1) == {"trust_remote_code": False, "local_files_only": True, "dtype": 1}


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock: doctor says so")
def test_while_a_folder_loads_no_file_elsewhere_can_be_opened(tmp_path: Path) -> None:
    model, elsewhere, cached = tmp_path / "model", tmp_path / "elsewhere", hub_cache(tmp_path / "hub")
    model.mkdir()
    (model / "config.json").write_text("{}")
    elsewhere.mkdir()
    for name in ("weights.safetensors", "vocab.json", "other.safetensors"):
        (elsewhere / name).write_text("x")
    (model / "weights.safetensors").symlink_to(elsewhere / "weights.safetensors")
    for name in ("config.json", "weights.safetensors"):
        assert load_model(lambda folder, at=name, **options: (folder / at).read_text(), model)
    for name in ("vocab.json", "other.safetensors"):
        with pytest.raises(PermissionError):
            load_model(lambda folder, at=name, **options: (elsewhere / at).read_text(), model)
    assert load_model(lambda folder, **options: (folder / "config.json").read_text(), cached)


def deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def hub_cache(at: Path) -> Path:
    """A folder as the hub's cache has it: each file is a link to a blob."""
    blobs, made = at / "models--o--n" / "blobs", at / "models--o--n" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    made.mkdir(parents=True)
    (blobs / "1").write_text("{}")
    (made / "config.json").symlink_to("../../blobs/1")
    return made


def plain(at: Path) -> Path:
    (at / "model").mkdir()
    (at / "model" / "config.json").write_text("{}")
    return at / "model"


@pytest.mark.parametrize("name", ["chat_template.jinja", "additional_chat_templates/tool.jinja", "model.safetensors"])
def test_a_file_with_a_second_name_is_no_part_of_a_model(name: str, tmp_path: Path) -> None:
    """A hard link to a file of the host: what `tar` makes of a member that names one."""
    folder, private = plain(tmp_path), tmp_path / "key"
    private.write_text("secret")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).hardlink_to(private)
    taken = name.endswith(".safetensors")
    with nullcontext() if taken else pytest.raises(UntrustedDataError, match=f"its {name} has a second name elsewhere"):
        refuse_strange_files(folder)


def test_settings_that_may_name_very_many_files_are_refused(tmp_path: Path) -> None:
    """Each was looked up twice: 900,000 of them held the check for 19 s."""
    folder = plain(tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps({"x": [f"/nowhere/{n}" for n in range(MOST_NAMED)]}))
    refuse_strange_files(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"x": [f"/nowhere/{n}" for n in range(MOST_NAMED + 1)]}))
    with pytest.raises(UntrustedDataError, match="holds more than 20000 texts that may name files"):
        refuse_strange_files(folder)


@pytest.mark.parametrize("made", [plain, hub_cache])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("chat_template.jinja", "its chat_template.jinja is a link to another folder"),
        ("additional_chat_templates/tool.jinja", "its additional_chat_templates/tool.jinja is a link"),
        ("model.safetensors", ""),
    ],
)
def test_no_file_of_the_host_is_read_as_a_part_of_a_model(
    made: Callable[[Path], Path], name: str, why: str, tmp_path: Path
) -> None:
    """A template that was a link to a private key came into prompts, and into the model that a training wrote."""
    folder, private = made(tmp_path), tmp_path / "key"
    private.write_text("secret")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(private)
    with pytest.raises(UntrustedDataError, match=why) if why else nullcontext():
        refuse_no_model(folder)
    with pytest.raises(UntrustedDataError, match=why) if why else nullcontext():
        refuse_strange_files(folder)


def test_a_linked_folder_a_pipe_and_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plain(tmp_path)
    refuse_no_model(folder)
    (folder / "additional_chat_templates").symlink_to(tmp_path)
    with pytest.raises(UntrustedDataError, match="its additional_chat_templates is no regular file"):
        refuse_no_model(folder)
    (folder / "additional_chat_templates").rename(folder / "latest")  # a folder that no library reads
    refuse_no_model(folder)
    os.mkfifo(folder / "vocab.json")
    with pytest.raises(UntrustedDataError, match=r"its vocab\.json is no regular file"):
        refuse_no_model(folder)
    (folder / "vocab.json").unlink()
    monkeypatch.setattr(model_folders, "MOST_ENTRIES", 1)
    (folder / "more").touch()
    with pytest.raises(UntrustedDataError, match="more than 1 files"):
        refuse_no_model(folder)


def test_settings_may_have_forms_that_libraries_read(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    (folder / "tokenizer_config.json").write_text('\ufeff{"a": 1e400, "a": 123456789012345678901234567890, "b": NaN}')
    (folder / "special_tokens_map.json").write_text("[]")
    refuse_no_model(folder)
    (folder / "sub").mkdir()
    (folder / "sub/e.safetensors.index.json").write_text('{"weight_map": {"w": "/dev/zero"}}')
    with pytest.raises(UntrustedDataError, match=r"its e\.safetensors\.index\.json names weights in another folder"):
        refuse_no_model(folder)


@pytest.mark.parametrize(
    ("file", "settings", "why"),
    [
        ("model.safetensors.index.json", {"weight_map": {"w": "../key"}}, "names weights in another folder"),
        ("model.safetensors.index.json", {"weight_map": {"w": "/etc/passwd"}}, "names weights in another folder"),
        ("pytorch_model.bin.index.json", {"weight_map": {"w": "a/b.bin"}}, "names weights in another folder"),
        ("model.safetensors.index.json", {"weight_map": {"w": "model-00001-of-00002.safetensors"}}, ""),
        ("tokenizer_config.json", {"vocab": "/etc/passwd"}, "names a file that is not its own, '/etc/passwd'"),
        ("tokenizer_config.json", {"a": [{"merges": "../key"}]}, "names a file that is not its own"),
        ("tokenizer_config.json", {"vocab": "key"}, "names a file that is not its own"),  # where one stands
        ("tokenizer_config.json", {"unk_token": "key"}, ""),
        ("tokenizer_config.json", {"name_or_path": "/nowhere/model", "tokenizer_file": "/nowhere/tokenizer.json"}, ""),
        ("tokenizer_config.json", {"tokenizer_file": "/etc/passwd"}, "names a file that is not its own"),
        ("tokenizer_config.json", {"gguf_file": "a.gguf"}, "holds 'gguf_file', which may have another file read"),
        ("tokenizer_config.json", {"cache_dir": "/home"}, "holds 'cache_dir'"),
        ("tokenizer_config.json", {"cache_dir": None, "gguf_file": ""}, ""),
        ("special_tokens_map.json", {"merges_file": "/etc/passwd"}, "holds 'merges_file'"),
        ("special_tokens_map.json", {"name_or_path": "a/b"}, "holds 'name_or_path'"),
        (
            "special_tokens_map.json",
            {"eos_token": "</s>", "additional_special_tokens": ["/"], "image_token": "<i>"},
            "",
        ),
        ("tokenizer_config.json", {"vocab": "x" * 300, "deep": deep(900)}, ""),
        ("config.json", {"transformers_weights": "../key"}, "names a file that is not its own"),
        (
            "tokenizer_config.json",
            {"model_max_length": 10**30, "unk_token": "/", "chat_template": "x" * 5000, "a": "..", "b": "\0"},
            "",
        ),
    ],
)
def test_settings_name_no_file_of_the_host(
    file: str, settings: dict[str, object], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of another folder were loaded, and written into the next model."""
    folder = plain(tmp_path)
    (tmp_path / "key").write_text("secret")
    (folder / file).write_text(json.dumps(settings))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UntrustedDataError, match=why) if why else nullcontext():
        refuse_no_model(folder)
    with pytest.raises(UntrustedDataError, match=why) if why else nullcontext():
        refuse_strange_files(folder)
