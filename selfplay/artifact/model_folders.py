"""What a model's folder may do while a library reads it: nothing of its own runs, and nothing else is read for it.

Weights travel between people as datasets do. Libraries ask on standard input whether a folder's code may run, load
the base model that an adapter names, fetch an attention kernel that a configuration names, and open whatever else a
setting names. `load_model` makes each call that loads, and `refuse_no_model` comes before. Which model it is stays the
user's choice, and so does what it costs to run.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from selfplay.artifact.reading import UntrustedDataError, of_hub, read_named
from selfplay.confinement import confined
from selfplay.untrusted_json import AnswerError, json_value, loose_value

T = TypeVar("T")
MOST_CONFIG: Final = 16 << 20
"""Bytes of a model's `config.json`."""
MOST_SETTINGS: Final = 4_000_000
"""Values in a file of settings: a tokenizer's names each of its added tokens."""
MOST_NAMED: Final = 20_000
"""Texts of a file of settings that may name files: each is looked up. A vocabulary has some that begin with a slash."""
MOST_PATH: Final = 1024
"""Characters of a setting that may be a path; longer ones are chat templates."""
TOKENIZER, SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
_SETTINGS = ("config.json", TOKENIZER, "generation_config.json", SPECIAL_TOKENS)
_SPECIAL = re.compile(r".*tokens?")
"""What a map of special tokens may hold: libraries take any other key of it for an option of the tokenizer."""
_FETCHING = ("gguf_file", "cache_dir", "proxies", "subfolder")
"""Options by which a tokenizer's settings would have another file fetched, or written elsewhere."""
_PATH = re.compile(r"vocab|merges|.*(?:file|path|dir|weights)")
"""Settings that may name a file where one stands; a text that happens to be such a name is none."""
WEIGHTS = (".safetensors", ".bin", ".gguf")
"""Endings of files that may be links: another file is no weights."""
FOLDERS_READ = ("additional_chat_templates",)
"""Folders in a model's that libraries read."""
MOST_ENTRIES: Final = 10_000
"""Files of a model's folder."""
_NO_NUMBER = re.compile(rb"(?<=[\s,:\[])-?(?:Infinity|NaN|\d{17,})(?=[\s,\]}])")


def load_model(load: Callable[..., T], folder: str | Path, **options: Any) -> T:
    """What `load`, a call of a library, makes of a model's folder, its configuration or its tokenizer. Nothing of it
    runs, nothing is fetched, and no file elsewhere is opened, whatever its settings name. Raises what `load` raises,
    `PermissionError` for such a file."""
    place = Path(folder)
    local = partial(load, place, trust_remote_code=False, local_files_only=True, **options)
    return confined(local, [of_hub(place.resolve(), "models") or place, *_linked_weights(place)])


def _linked_weights(folder: Path) -> Iterator[Path]:
    """Files elsewhere that the folder's links say are weights."""
    links = (path for path in _below(folder, 0) if path.is_symlink() and path.suffix in WEIGHTS)
    return (path.resolve() for path in links)


def model_settings(folder: Path) -> dict[str, Any]:
    """A model's `config.json`, with 0 for numbers that are not read: limits of some models are `Infinity`, or have 31
    digits. Raises `UntrustedDataError`."""
    path = folder / "config.json"
    try:
        settings = json_value(_NO_NUMBER.sub(b"0", read_named(path, MOST_CONFIG)))
    except AnswerError as error:
        raise UntrustedDataError(f"{path}: {error}") from error
    if not isinstance(settings, dict):
        raise UntrustedDataError(f"{path} is no table of settings")
    return settings


def refuse_no_model(folder: Path) -> None:
    """Raises `UntrustedDataError` for a folder that is not read as a model."""
    refuse_strange_files(folder)
    if (folder / "adapter_config.json").exists():
        raise UntrustedDataError("it holds an adapter, which names its model; merge the two")
    if not (folder / "config.json").exists() and (folder / "params.json").is_file():  # Mistral's own form
        return
    settings = model_settings(folder)
    if "speculators_config" in settings:
        raise UntrustedDataError("its config.json names another model to load, to speculate for")
    if named := next((one for one in _kernels(settings) if "/" in one), ""):
        raise UntrustedDataError(f"its config.json names a kernel to fetch and run, {named[:100]}")


def refuse_strange_files(folder: Path) -> None:
    """What `refuse_no_model` asks of each file, for calls that load no weights. Raises `UntrustedDataError`."""
    _refuse_strange_files(folder)
    _refuse_named_files(folder)


def _refuse_strange_files(folder: Path) -> None:
    """Raises `UntrustedDataError` for a pipe or device, and for a link of either kind to a file elsewhere: a library
    would read it into prompts, and write it into the next model. Weights may be such links, since other files are no
    weights; so may all of a folder in the hub's cache, to its own blobs."""
    real = folder.resolve()
    own = of_hub(real, "models") or real
    for at, path in enumerate(_below(real, 0)):
        if at >= MOST_ENTRIES:
            raise UntrustedDataError(f"it holds more than {MOST_ENTRIES} files", "Name the folder of one model.")
        to = path.resolve() if path.is_symlink() else path
        if to.is_dir() and path.name not in FOLDERS_READ:
            continue
        if not to.is_file():
            raise UntrustedDataError(f"its {path.relative_to(real)} is no regular file")
        if to.stat().st_nlink > 1 and path.suffix not in WEIGHTS:
            raise UntrustedDataError(
                f"its {path.relative_to(real)} has a second name elsewhere", "Copy the file there."
            )
        if not to.is_relative_to(own) and path.suffix not in WEIGHTS:
            raise UntrustedDataError(
                f"its {path.relative_to(real)} is a link to another folder", "Copy the file there."
            )


def _refuse_named_files(folder: Path) -> None:
    """Raises `UntrustedDataError` for settings that name a file elsewhere: libraries open some of them as they are."""
    own = folder.resolve()
    for path in sorted(path for path in _below(folder, 0) if path.name.endswith(".index.json")):
        weights = _settings(path).get("weight_map")
        for _, name in _texts(weights):
            if PurePosixPath(name).name != name:
                raise UntrustedDataError(f"its {path.name} names weights in another folder, {name[:100]!r}")
    for path in (folder / name for name in _SETTINGS if (folder / name).is_file()):
        settings = _settings(path)
        if odd := _strange_option(path.name, settings):
            raise UntrustedDataError(
                f"its {path.name} holds {odd[:100]!r}, which may have another file read or fetched"
            )
        named = [(key, text) for key, text in {*_texts(settings)} if _may_name_a_file(key, text)]
        if len(named) > MOST_NAMED:
            raise UntrustedDataError(f"its {path.name} holds more than {MOST_NAMED} texts that may name files")
        for _, text in named:
            if _is_file_elsewhere(text, own):
                raise UntrustedDataError(f"its {path.name} names a file that is not its own, {text[:100]!r}")


def _strange_option(name: str, settings: dict[str, Any]) -> str:
    """The first key of a tokenizer's file of settings that is no setting of a tokenizer; empty if there is none."""
    if name == SPECIAL_TOKENS:
        return next((key for key in settings if not _SPECIAL.fullmatch(key)), "")
    return next((key for key in _FETCHING if settings.get(key)), "") if name == TOKENIZER else ""


def _settings(path: Path) -> dict[str, Any]:
    """A file of settings as libraries read it, who take forms that are not strictly JSON."""
    try:
        value = loose_value(read_named(path, MOST_CONFIG), values=MOST_SETTINGS)
    except AnswerError as error:
        raise UntrustedDataError(f"{path}: {error}") from error
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """The texts in a value of JSON, however deep, with the key of each."""
    left = [("", value)]
    while left:
        key, one = left.pop()
        if isinstance(one, str):
            yield key, one
        elif isinstance(one, dict):
            left += one.items()
        elif isinstance(one, list):
            left += ((key, each) for each in one)


def _may_name_a_file(key: str, text: str) -> bool:
    named = text.startswith("/") or ".." in text or _PATH.fullmatch(key)
    return 1 < len(text) < MOST_PATH and "\0" not in text and bool(named)


def _is_file_elsewhere(text: str, own: Path) -> bool:
    try:
        return any(path.is_file() and not path.resolve().is_relative_to(own) for path in (Path(text), own / text))
    except OSError:  # a name that is too long for a file
        return False


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """What is no folder in it, two levels down: libraries look no deeper. Links to folders are yielded. Raises
    `UntrustedDataError` for a folder that cannot be read."""
    try:
        inside = [*islice(folder.iterdir(), MOST_ENTRIES + 1)]
    except OSError as error:
        raise UntrustedDataError(f"its folder {folder.name} cannot be read: {error.strerror}") from error
    for path in inside:
        if not path.is_dir() or path.is_symlink():
            yield path
        elif depth < 2:
            yield from _below(path, depth + 1)


def _kernels(value: Any) -> Iterator[str]:
    """What settings, however deep, say of how attention is computed."""
    if isinstance(value, dict):
        yield from (str(one) for key, one in value.items() if key.endswith("attn_implementation"))
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _kernels(one)
