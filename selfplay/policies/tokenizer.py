"""A Hugging Face tokenizer with the interface that the chat format needs. Needs `transformers`, but not torch."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from selfplay.agent.model import ModelError
from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import load_model, refuse_strange_files
from selfplay.plain_text import well_formed
from selfplay.version import DISTRIBUTION

WHERE_MODELS_ARE = "Name a folder that holds a model (selfplay model fetch smollm2 makes one), or a hub's name."


class HfTokenizer:
    """Wraps a tokenizer; `eos`: every id that ends generation in the model's generation settings."""

    def __init__(self, tokenizer: Any, name: str, eos: Sequence[int] = ()) -> None:
        self._tokenizer, self.name = tokenizer, name
        own = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self.eos = tuple(dict.fromkeys([*own, *eos]))
        added = {number: str(token) for number, token in tokenizer.added_tokens_decoder.items()}
        added |= dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))
        control = {number: name for number, name in added.items() if len(name) > 1 and name.strip()}  # others are text
        self._special = frozenset(control)
        names = sorted(control.values(), key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, names)) or "(?!)")

    def render(self, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
        if not self._tokenizer.chat_template:
            raise ModelError(
                f"{self.name}: the tokenizer has no chat template",
                "Use the instruction-tuned model, or put a chat_template.jinja beside its tokenizer.json.",
            )
        try:
            text: str = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages], tokenize=False, add_generation_prompt=answer
            )
        except Exception as error:  # a template is a program
            raise ValueError(f"{self.name}: its chat template failed: {_said(error)}") from error
        return text

    def encode(self, text: str, special: bool) -> list[int]:
        with _told(f"{self.name}: its tokenizer cannot read a text"):
            ids: list[int] = self._tokenizer(
                well_formed(text), add_special_tokens=False, split_special_tokens=not special, verbose=False
            ).input_ids
        if special or self._special.isdisjoint(ids) or not self.names_special(text):
            return ids
        return [number for piece in self._pieces(text) for number in self.encode(piece, False)]

    def _pieces(self, text: str) -> list[str]:
        """The text, cut inside the names of added tokens, which the tokenizer would otherwise read as special."""
        cuts = [0, *(match.start() + 1 for match in self._names.finditer(text)), len(text)]
        return [text[begin:end] for begin, end in pairwise(cuts)]

    def decode(self, ids: Sequence[int]) -> str:
        with _told(f"{self.name}: its tokenizer cannot write tokens as text"):
            text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def is_special(self, token: int) -> bool:
        return token in self._special

    def names_special(self, text: str) -> bool:
        return self._names.search(text) is not None


def load_tokenizer(model: str) -> HfTokenizer:
    """The tokenizer of a local folder or a hub model. Raises `ModelError`."""
    transformers = imported("transformers", "transformers")
    if model.startswith(("/", ".", "~")) and not Path(model).is_dir():
        raise ModelError(f"{model}: no tokenizer can be loaded: there is no such folder", WHERE_MODELS_ARE)
    transformers.utils.logging.disable_progress_bar()
    with _told(f"{model}: no tokenizer can be loaded", WHERE_MODELS_ARE):
        folder = model_folder(model, weights=False)
        refuse_strange_files(folder)
        tokenizer = load_model(transformers.AutoTokenizer.from_pretrained, folder)
        found = HfTokenizer(tokenizer, model, _generation_ends(transformers, folder))
    return found


@contextmanager
def _told(what: str, hint: str = "Use the tokenizer that the model was published with.") -> Iterator[None]:
    """Raises `ModelError` for whatever is raised: a folder of others makes the library raise anything, and a panic of
    its compiled part is no `Exception`."""
    try:
        yield
    except (ModelError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ModelError(f"{what}: {_said(error)}", hint) from error


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _generation_ends(transformers: Any, folder: Path) -> list[int]:
    """The ids that end generation in the model's own settings; empty if there are no settings."""
    if not Path(folder, "generation_config.json").is_file():
        return []
    ends = load_model(transformers.GenerationConfig.from_pretrained, folder).eos_token_id
    return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)


def imported(module: str, extra: str) -> Any:
    """A module of an optional extra. Raises a `ModelError` that says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ModelError(
            f"{module} is not installed: {error}", f"Install it: pip install '{DISTRIBUTION}[{extra}]'"
        ) from error
