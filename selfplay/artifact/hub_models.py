"""A hub's model becomes a folder before anything reads it: who made it is as much a stranger as who made a folder, so
the same is refused of both, and no library gets a hub's name, for which it would look up and fetch what it likes."""

import importlib
from pathlib import Path
from typing import Final

from selfplay.artifact.reading import UntrustedDataError
from selfplay.user_paths import expanded

SETTINGS: Final = ("*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken", "*.bpe", "*.codes", "*.spm", "*.vocab")
"""Files of a model but its weights."""
SAFE, PICKLED = "*.safetensors", "pytorch_model*.bin"
OTHER_FORMS = ("*/*.safetensors", "*/*.bin", "consolidated*")
"""Weights once more, for other programs."""


def model_folder(model: str | Path, weights: bool) -> Path:
    """The folder of a model: the one that is named, or the one in which the hub's library keeps a hub's model, fetched
    if it is not there; `weights`: with these. Raises `UntrustedDataError` without that library, and what it raises."""
    folder = expanded(str(model), UntrustedDataError)
    if folder.is_dir():
        return folder
    found = _fetched(str(model), [*SETTINGS, *([SAFE] if weights else [])])
    if weights and not [*found.glob(SAFE)]:
        return _fetched(str(model), [*SETTINGS, PICKLED])
    return found


def _fetched(name: str, files: list[str]) -> Path:
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise UntrustedDataError(
            f"{name} is no folder, and there is no library that fetches models", "`make models` installs it."
        ) from error
    return Path(hub.snapshot_download(name, allow_patterns=files, ignore_patterns=[*OTHER_FORMS]))
