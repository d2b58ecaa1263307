"""What a model's folder may do while a library reads it: nothing of its own runs, and nothing else is read for it.

Weights travel between people as datasets do. Libraries ask on standard input whether a folder's code may run, load
the base model that an adapter names, and fetch an attention kernel that a configuration names. `LOADING` goes with
each call that loads, and `refuse_no_model` comes before. Which model it is stays the user's choice, and so does what
it costs to run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypedDict

from selfplay.artifact.reading import UntrustedDataError, read_named
from selfplay.untrusted_json import AnswerError, json_value
from selfplay.user_paths import expanded

MOST_CONFIG: Final = 16 << 20
"""Bytes of a model's `config.json`."""
_NO_NUMBER = re.compile(rb"(?<=[\s,:\[])-?(?:Infinity|NaN)(?=[\s,\]}])")


class Loading(TypedDict):
    """Options of a call that loads."""

    trust_remote_code: bool


LOADING: Final[Loading] = {"trust_remote_code": False}
"""Of every call that loads a model, its configuration or its tokenizer."""


def model_settings(folder: Path) -> dict[str, Any]:
    """A model's `config.json`, with 0 for numbers that JSON does not have: some models' limits are `Infinity`. Raises
    `UntrustedDataError`."""
    try:
        settings = json_value(_NO_NUMBER.sub(b"0", read_named(folder / "config.json", MOST_CONFIG)))
    except AnswerError as error:
        raise UntrustedDataError(f"{folder / 'config.json'}: {error}") from error
    if not isinstance(settings, dict):
        raise UntrustedDataError(f"{folder / 'config.json'} is no table of settings")
    return settings


def refuse_no_model(model: str | Path) -> None:
    """Raises `UntrustedDataError` for a folder that is not read as a model; a hub's name is none."""
    folder = expanded(str(model), UntrustedDataError)
    if not folder.is_dir():
        return
    if (folder / "adapter_config.json").exists():
        raise UntrustedDataError("it holds an adapter, which names its model; merge the two")
    if not (folder / "config.json").exists() and (folder / "params.json").is_file():  # Mistral's own form
        return
    settings = model_settings(folder)
    if "speculators_config" in settings:
        raise UntrustedDataError("its config.json names another model to load, to speculate for")
    if named := next((one for one in _kernels(settings) if "/" in one), ""):
        raise UntrustedDataError(f"its config.json names a kernel to fetch and run, {named[:100]}")


def _kernels(value: Any) -> Iterator[str]:
    """What settings, however deep, say of how attention is computed."""
    if isinstance(value, dict):
        yield from (str(one) for key, one in value.items() if key.endswith("attn_implementation"))
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _kernels(one)
