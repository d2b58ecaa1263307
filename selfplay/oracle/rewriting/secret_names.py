"""Makes secret names that look like the suite's own: they are composed of words from its test names.

A special form, such as hexadecimal, would let a patch recognise them without reading a test.
"""

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from selfplay.oracle.errors import OracleError

_COMMON = (
    "default", "empty", "single", "nested", "simple", "order", "value", "names", "keeps", "returns", "handles", "long",
    "first", "last", "without", "missing", "custom", "several", "plain", "short", "inner", "outer", "extra", "same",
)  # fmt: skip
MOST_WORDS = 200
MOST_TRIES, OF_A_LENGTH = 500, 100
_CHOICE = secrets.SystemRandom()
_DRAWN: ContextVar[list[str] | None] = ContextVar("drawn", default=None)


@contextmanager
def remembered() -> Iterator[list[str]]:
    """Collects the secret names drawn in this context."""
    drawn = list[str]()
    token = _DRAWN.set(drawn)
    try:
        yield drawn
    finally:
        _DRAWN.reset(token)


def vocabulary(text: str) -> tuple[str, ...]:
    """The words in the test names of a file."""
    return some_words(re.findall(r"\btest\w*", text))


def some_words(names: Iterable[str]) -> tuple[str, ...]:
    """The words in these names; a selection if there are many."""
    words = {word.lower() for name in names for word in re.findall(r"[A-Za-z]{3,12}", name)} - {"test", "tests"}
    return tuple(sorted(_CHOICE.sample(sorted(words), min(len(words), MOST_WORDS))))


def secret_name(
    words: Collection[str], text: str = "", names: Collection[str] = (), odd: bool | None = None, joint: str = "_",
    length: int = 0,
) -> str:  # fmt: skip
    """A name of four words, from `words` and from common words, that does not occur in `text`. No other name, in
    `names` or remembered, contains it or is part of it, because tests are counted, and names replaced, by searching
    ids. `odd`: the parity of its hash; `length`: its length; `joint`: the separator of words. A text may hold all such
    names: after some tries the name has more words, and another length.

    Raises `OracleError` where the other names are parts of any."""
    pool, drawn = sorted({*words, *_COMMON}), _DRAWN.get()
    others = {*names, *(drawn or ())}
    for tried in range(MOST_TRIES):
        more = tried // OF_A_LENGTH
        name = _long(pool, length, joint) if length and not more else joint.join(_CHOICE.choices(pool, k=4 + more))
        if (odd is None or is_odd(name) == odd) and _apart(name, text, others):
            if drawn is not None:
                drawn.append(name)
            return name
    raise OracleError("its tests' names are so short that no other name can be told from them")


def secret_names(number: int, text: str = "") -> list[str]:
    """So many names of common words that do not occur in `text`, of which none is part of another."""
    with remembered() as drawn:
        for _ in range(number):
            secret_name((), text)
    return drawn


def _apart(name: str, text: str, others: Iterable[str]) -> bool:
    return name not in text and not any(name in other or other in name for other in others)


def _long(pool: Sequence[str], length: int, joint: str) -> str:
    """Four words with this many characters in all; the last is cut or repeated if none fits."""
    first = joint.join(_CHOICE.choice(pool) for _ in range(3))
    left = length - len(first) - len(joint)
    if left < 3:
        first = joint.join(_CHOICE.choice(pool)[:3] for _ in range(3))
        left = length - len(first) - len(joint)
    fit = [word for word in pool if len(word) == left] or [(word * left)[:left] for word in pool]
    return first + joint + _CHOICE.choice(fit)


def as_class(name: str) -> str:
    """The name in the form of a class name."""
    return name.title().replace("_", "")


def is_odd(name: str) -> bool:
    """The parity of the name: the last bit of its SHA-256."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1
