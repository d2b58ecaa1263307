"""A model's folder of others: its code does not run, whatever is answered on standard input; errors are typed."""

import asyncio
import io
import json
import shutil
from pathlib import Path

import pytest
from models.update.conftest import tiny_folder

from selfplay import confinement
from selfplay.agent.model import ModelError
from selfplay.confinement.landlock import landlock_version
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.policies.transformers_model import TransformersModel
from selfplay.train.errors import TrainError
from selfplay.train.model import load_scorer


@pytest.fixture(scope="module")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)


@pytest.fixture
def strange(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to change. Everything is answered with yes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
    return Path(shutil.copytree(tiny, tmp_path / "strange"))


def changed(folder: Path, name: str, **more: object) -> None:
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}))


def test_code_of_the_folder_does_not_run(strange: Path) -> None:
    ran = strange / "ran"
    (strange / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass C: pass\n")
    parts = dict.fromkeys(("AutoConfig", "AutoModelForCausalLM"), "own.C")
    changed(strange, "config.json", model_type="own", architectures=["C"], auto_map=parts)
    changed(strange, "tokenizer_config.json", tokenizer_class="C", auto_map={"AutoTokenizer": ["own.C", None]})
    with pytest.raises(ModelError):
        load_tokenizer(str(strange))
    with pytest.raises(ModelError):
        asyncio.run(TransformersModel.open(str(strange)))
    with pytest.raises(TrainError):
        load_scorer(strange)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", "[]"), ("tokenizer_config.json", "[]"), ("tokenizer.json", "[]"), ("tokenizer.json", "{}")],
)
def test_files_of_another_shape_are_a_typed_error(name: str, text: str, strange: Path) -> None:
    (strange / name).write_text(text)
    if name == "config.json":
        with pytest.raises(ModelError):
            asyncio.run(TransformersModel.open(str(strange)))
    else:
        with pytest.raises(ModelError, match="no tokenizer can be loaded"):
            load_tokenizer(str(strange))


def test_a_tokenizer_of_a_strange_class_is_a_typed_error(tmp_path: Path) -> None:
    """It has none of what all others have: the tokenizer's own constructor of ours failed on it."""
    (tmp_path / "config.json").write_text('{"model_type": "rag"}')
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "RagTokenizer"}')
    with pytest.raises(ModelError, match="no tokenizer can be loaded"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "a"}},
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}},
        {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}},
    ],
)
def test_a_tokenizer_that_panics_is_a_typed_error(changes: dict[str, object], strange: Path) -> None:
    """A panic of its compiled part is no `Exception`: the command ended with its traceback."""
    changed(strange, "tokenizer.json", **changes)
    with pytest.raises(ModelError, match=r"its tokenizer cannot read a text|no tokenizer can be loaded"):
        load_tokenizer(str(strange)).encode("some words", False)


def test_a_link_to_a_file_of_the_host_is_no_template(strange: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    (strange / "chat_template.jinja").unlink(missing_ok=True)
    (strange / "chat_template.jinja").symlink_to(tmp_path / "private")
    with pytest.raises(ModelError, match="is a link to another folder"):
        load_tokenizer(str(strange))


def test_a_template_that_fails_is_a_typed_error(strange: Path) -> None:
    (strange / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    with pytest.raises(ValueError, match="chat template failed: ZeroDivisionError"):
        load_tokenizer(str(strange)).render([{"role": "user", "content": "x"}], True)


def test_no_other_model_is_read_in_its_place(strange: Path, tiny: Path) -> None:
    (strange / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": str(tiny), "peft_type": "LORA"})
    )
    with pytest.raises(ModelError, match="it holds an adapter"):
        asyncio.run(TransformersModel.open(str(strange)))
    with pytest.raises(TrainError, match="it holds an adapter"):
        load_scorer(strange)


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock: doctor says so")
def test_a_library_opens_no_file_elsewhere_whatever_nobody_thought_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line of such a file becomes a token. What is known to name files is refused; here nothing is."""
    private, folder = tmp_path / "id_rsa", tmp_path / "model"
    folder.mkdir()
    private.write_text("PRIVATE\nKEY\n[UNK]\n")
    (folder / "config.json").write_text('{"model_type": "esm"}')
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "EsmTokenizer"}')
    (folder / "special_tokens_map.json").write_text(json.dumps({"vocab_file": str(private)}))
    with pytest.raises(ModelError, match="holds 'vocab_file'"):
        load_tokenizer(str(folder))
    monkeypatch.setattr("selfplay.policies.tokenizer.refuse_strange_files", lambda model: None)
    with pytest.raises(ModelError, match="Unable to load vocabulary"):
        load_tokenizer(str(folder))
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    assert load_tokenizer(str(folder)).decode([0, 1]).split() == ["PRIVATE", "KEY"]
