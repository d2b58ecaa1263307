"""Secret names that look like the suite's own: they are composed of the words in its test names.

A special form (hexadecimal, for example) would let a patch recognise them without reading a test.
"""

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable

_COMMON = (
    "default", "empty", "single", "nested", "simple", "order", "value", "names", "keeps", "returns", "handles", "long",
    "first", "last", "without", "missing", "custom", "several", "plain", "short", "inner", "outer", "extra", "same",
)  # fmt: skip
MOST_WORDS = 200
_CHOICE = secrets.SystemRandom()


def vocabulary(text: str) -> tuple[str, ...]:
    """The words of the test names in a file."""
    return some_words(re.findall(r"\btest\w*", text))


def some_words(names: Iterable[str]) -> tuple[str, ...]:
    """The words in these names; a selection if there are many."""
    words = {word.lower() for name in names for word in re.findall(r"[A-Za-z]{3,12}", name)} - {"test", "tests"}
    return tuple(sorted(_CHOICE.sample(sorted(words), min(len(words), MOST_WORDS))))


def secret_name(words: Collection[str], taken: Collection[str], odd: bool | None = None, joint: str = "_") -> str:
    """A name of four words, from these and from words that any suite could use, that does not occur in the texts
    `taken`. `odd` asks for this parity of its hash; `joint` separates the words."""
    pool = sorted({*words, *_COMMON})
    while True:
        name = joint.join(_CHOICE.choice(pool) for _ in range(4))
        if (odd is None or is_odd(name) == odd) and not any(name in text for text in taken):
            return name


def is_odd(name: str) -> bool:
    """The last bit of the name's SHA-256."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1
