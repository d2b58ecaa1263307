"""Every regular expression of the package takes time in proportion to the length of its text, whatever the text.

`package_patterns` finds them all, `attack_texts` makes hostile texts from each, `pattern_growth` measures. A new one
needs no line here: only one that is known at run time only, or whose texts are short.
"""

import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import package_patterns
import pytest
from package_patterns import Found, Unknown
from pattern_growth import grows

from selfplay.oracle.screening import paths
from selfplay.repository.detection.detect import PLUGINS

SINGLE = {"LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY"}


@dataclass(frozen=True)
class Exempt:
    """A pattern that may take longer, since its texts are short: why, and the constant (file, name) of their bound."""

    reason: str
    bound: tuple[str, str]


EXEMPT = {
    "selfplay/oracle/rewriting/shell_claims.py:_CLAIM": Exempt(
        "a longer line is left as it is", ("selfplay/oracle/rewriting/shell_claims.py", "LONGEST_LINE")
    ),
}
MOST_CHARACTERS = 1_000
"""A text of an exempt pattern may have so many."""
Use = tuple[str | bytes, int, str]
"""A pattern, its flags and its mode."""
AT_RUN_TIME: dict[str, Callable[[], list[Use]]] = {
    "selfplay/oracle/screening/paths.py:_names": lambda: [
        (one.pattern, one.flags, "match")
        for one in vars(paths).values()
        if isinstance(one, re.Pattern) and one.pattern.startswith("(?s:")
    ],
    "selfplay/policies/tokenizer.py:__init__": lambda: [(r"<\|im_start\|>|<\|im_end\|>|<s>", 0, "search")],
    "selfplay/repository/detection/detect.py:plugins_in": lambda: [
        (use, re.MULTILINE, "search") for use in PLUGINS.values()
    ],
}
"""Patterns that no constant holds, or others like them."""
MENDED: list[Use] = [
    (r"(^|\s+)#.*$", 0, "search"),
    (r"(.+?)__(.+)\.([^.]+)", 0, "fullmatch"),
    (r"@[^/]*$", 0, "search"),
    (r"\(((?:[^()\\]|\\.|\([^()\\]*\))*)\)|<([0-9A-Fa-f\s]+)>|\bT([jJdDm*])", re.DOTALL, "search"),
    (r"[A-Za-z0-9]+(?=[^A-Za-z0-9]*\.\w+$)", 0, "search"),
    (r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")", 0, "search"),
    (r"index \S+\.\.\S+(?: \d{6})?", 0, "fullmatch"),
    (r"(\.[*xX])+$", 0, "search"),
    (r"^\s*worktree\s*=\s*(.*?)\s*$", re.MULTILINE | re.IGNORECASE, "search"),
    (r"^[ \t]*worktree[ \t]*=\s*(.*?)\s*$", re.MULTILINE, "search"),
    (r"^\s*objectformat\s*=\s*\"?sha256", re.MULTILINE | re.IGNORECASE, "search"),
    (r"(?:.*/)?(?:tests?/.*|test[^/]*\.py|[^/]*_tests?\.py)", re.IGNORECASE, "fullmatch"),
    (r"([!#-]{1,256}):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*", 0, "fullmatch"),
    (r"[('\"\s/]/testbed/([^\s'\":()]+\.[cm]?[jt]sx?)\b", 0, "search"),
    (r"([\w.@+-]+):(\d{1,6})", 0, "search"),
    (r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", 0, "search"),
    (r"'?(\w+)'? (?:object )?has no attribute '(\w+)'", 0, "search"),
    (r"^\s*require\b", re.MULTILINE, "search"),
]
"""What the package had, and what it had in mind: each took seconds for some text."""
KNOWN_FAULTS: list[Use] = [
    (r"(a+)+$", 0, "search"), (r"(?:a{1,50}){1,50}b", 0, "search"), (r".*,.*,.*x", 0, "search"),
    (r"x.*ab.*c", 0, "match"), (r"<!--.*?-->", re.DOTALL, "search"), (r"([^,]*,)*[^;]*;x", 0, "search"),
]  # fmt: skip
SOUND = (
    r"\w+", r"(?<!\s)\s+$", r"(?m)^[ \t]*x", r"'[^']*'", r"\b\w+\(", r"[\w.]{1,200}!", r"(?:/[\w.+-]{1,100}){1,20}",
    r"/\*(?:[^*]|\*(?!/))*(?:\*/)?", r"a(?:b|c)*+d",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """A collection of garbage takes as long as everything that tests have imported."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def found() -> list[Found | Unknown]:
    return list(package_patterns.found())


@pytest.mark.slow
def test_every_pattern_of_the_package_takes_linear_time(found: list[Found | Unknown]) -> None:
    known = [one for one in found if isinstance(one, Found)]
    uses = {(one.source, one.flags, mode): one.place for one in known for mode in one.modes}
    assert len(uses) > 200, "patterns are not found any more"
    guilty = {place: text for use, place in uses.items() if (text := grows(*use))}
    assert {place: text for place, text in guilty.items() if place not in EXEMPT} == {}
    assert set(EXEMPT) <= set(guilty), "what is linear needs no exemption"


def _remembered(tree: Any) -> Iterator[str]:
    """The repeats without a bound that the matcher may have to go back into: it remembers each of their steps, in
    hundreds of bytes."""
    for name, value in tree:
        kind = str(name)
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            _, most, item = value
            alone = len(item) == 1 and str(item[0][0]) in SINGLE
            if str(most) == "MAXREPEAT" and not alone:
                yield str(item)
            yield from _remembered(item)
        elif kind == "SUBPATTERN":
            yield from _remembered(value[-1])
        elif kind == "BRANCH":
            for one in value[1]:
                yield from _remembered(one)


@pytest.mark.slow
def test_no_pattern_takes_memory_for_each_step_of_a_text() -> None:
    """4 MB of JavaScript took 640 MB: such a repeat is possessive (`*+`), or of single characters."""
    patterns = [one for one in package_patterns.found() if isinstance(one, Found) and "/inside/" not in one.place]
    assert len(patterns) > 200
    kept = {one.place: said for one in patterns if (said := list(_remembered(_parser.parse(one.source, one.flags))))}
    assert kept == {}
    steps, none = (list(_remembered(_parser.parse(rf"'(?:[^']|\\.)*{end}", 0))) for end in ("'", "+'x*"))
    assert steps and not none


def test_what_is_exempt_has_short_texts() -> None:
    for exempt in EXEMPT.values():
        assert exempt.reason and package_patterns.known(*exempt.bound) <= MOST_CHARACTERS


@pytest.mark.slow
def test_patterns_that_are_known_at_run_time_are_listed(found: list[Found | Unknown]) -> None:
    assert {one.place for one in found if isinstance(one, Unknown)} == set(AT_RUN_TIME)


@pytest.mark.slow
@pytest.mark.parametrize("place", AT_RUN_TIME)
def test_patterns_that_are_known_at_run_time_take_linear_time(place: str) -> None:
    uses = AT_RUN_TIME[place]()
    assert uses and [text for use in uses if (text := grows(*use))] == []


@pytest.mark.slow
@pytest.mark.parametrize("source, flags, mode", [*MENDED, *KNOWN_FAULTS])
def test_patterns_that_take_longer_are_found(source: str | bytes, flags: int, mode: str) -> None:
    assert grows(source, flags, mode) != ""


@pytest.mark.slow
@pytest.mark.parametrize("source", SOUND)
def test_patterns_that_take_linear_time_are_not_found(source: str) -> None:
    assert grows(source) == ""
