"""What a removal leaves standing is found, and what was there before, or may still be filled, is not."""

import time
from textwrap import dedent

import pytest

from selfplay.believable.scaffolds import scaffolds

BEFORE = """
class Basket:
    def __init__(self, strict):
        self.lines = []
        self.mode = None
        self._log = []
        self.strict = strict

    def add(self, line, count=1):
        if count > 1:
            self.mode = "many"
        self.lines.append((line, count))
        self._log.append(line)
        return len(self._log)

    def found(self, words, at=0):
        result, seen, marked = [], set(), False
        for word in words:
            if word.startswith("#"):
                marked = True
            if word in seen:
                continue
            seen.add(word)
            result.append(word[at:])
        if marked:
            result.sort()
        if not result:
            return None
        return result
"""


def after(*pairs: tuple[str, str]) -> str:
    text = BEFORE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("            result.append(word[at:])\n", "", ["Basket.found no longer reads its parameter at",
                                                        "Basket.found no longer sets result"]),
        ("            if word.startswith(\"#\"):\n                marked = True\n", "",
         ["Basket.found no longer sets marked"]),
        ("            if word in seen:\n                continue\n", "", ["Basket.found fills seen for nothing"]),
        ("            seen.add(word)\n", "", ["Basket.found no longer sets seen"]),
        ("        if count > 1:\n            self.mode = \"many\"\n", "", []),
        ("        return len(self._log)\n", "        return 1\n", ["Basket fills self._log for nothing"]),
        ("word[at:]", "word", ["Basket.found no longer reads its parameter at"]),
        ("return None\n", "return result\n", ["nothing depends on not result in Basket.found"]),
        ("        if not result:\n            return None\n", "", []),
        ("result.sort()", "result.reverse()", []),
    ],
)  # fmt: skip
def test_what_is_left_standing_is_told(old: str, new: str, said: list[str]) -> None:
    assert scaffolds(BEFORE, after((old, new))) == said


def test_a_field_that_is_read_and_never_set_is_told() -> None:
    reads = "        self.lines.append((line, count))\n"
    more = "        if self.mode:\n            line = line.upper()\n" + reads
    unset = after((reads, more), ('            self.mode = "many"\n', "            count = 1\n"))
    assert scaffolds(after((reads, more)), unset) == ["Basket no longer sets self.mode"]


@pytest.mark.parametrize(
    "use", ["fill(found)", "found[0] = 1", "found += [1]", "other = found; other.append(1)", "yield found"]
)
def test_what_may_still_be_filled_is_not_told(use: str) -> None:
    """A list that is handed on, or changed in any way."""
    text = "def f(fill):\n    found = []\n    found.append(2)\n    USE\n    return found\n"
    assert scaffolds(text, text.replace("    found.append(2)\n", "").replace("USE", use)) in (
        [], ["f no longer reads its parameter fill"]
    )  # fmt: skip


def test_what_stood_there_before_is_not_told() -> None:
    text = dedent("""
        def f(self, unread, x):
            kept = []
            if x:
                return kept
            return kept
    """)
    assert scaffolds(text, text.replace("def f", "\ndef f")) == []


def test_a_function_that_reads_all_its_names_by_text_is_left_alone() -> None:
    text = "def f(a, b):\n    found = []\n    found.append(a)\n    return b % locals()\n"
    assert scaffolds(text, text.replace("    found.append(a)\n", "")) == []


LOOP = """
def f(self, tokens):
    at, token = tokens.next(0)
    while token:
        before = tokens.before(at)
        if before:
            tokens.group(before, at)
        at, token = tokens.next(at)
    return tokens
"""


def test_a_loop_that_only_moves_on_is_told() -> None:
    idle = LOOP.replace("        if before:\n            tokens.group(before, at)\n", "")
    assert scaffolds(LOOP, idle.replace("        before = tokens.before(at)\n", "")) == [
        "nothing depends on token in f"
    ]
    assert scaffolds(LOOP, idle.replace("return tokens", "return at")) == []
    assert scaffolds(LOOP, idle.replace("        before = tokens.before(at)\n", "        print(at)\n")) == []


def test_a_number_that_is_handed_on_cannot_be_set_there() -> None:
    text = "def f(comma, place):\n    shift = 0\n    if comma:\n        shift = -2\n    place(comma, shift)\n"
    assert scaffolds(text, text.replace("    if comma:\n        shift = -2\n", "")) == ["f no longer sets shift"]


@pytest.mark.slow
def test_a_long_text_costs_in_proportion() -> None:
    """Loops in loops in functions in functions, with a long body; and five thousand functions."""
    deep = "".join(f"{' ' * at}{'def f(a):' if at % 2 else 'for b in a:'}\n" for at in range(1, 90))
    deep = f"if 1:\n{deep}" + f"{' ' * 91}x = [a]\n" * 900
    wide = "".join(f"def f{at}(a):\n    x = []\n    x.append(a)\n    return x\n" for at in range(5_000))
    began = time.process_time()
    scaffolds(deep, deep.replace("x = [a]", "x = [b]"))
    assert len(scaffolds(wide, wide.replace("    x.append(a)\n", ""))) == 10_000
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("def f(a):\n    for b in a:\n        try:\n            return g(b)\n        except E:\n            pass\n",
         "        try:\n            return g(b)\n        except E:\n            pass\n", "        return g(b)\n",
         "nothing depends on a in f"),
        ("def f(a, b):\n    a = a or b.c\n    return a, b\n", "a or b.c", "a", "nothing depends on a = a in f"),
        ("class A:\n    def f(self, b):\n        self.c = b\n        return b\n\n    def g(self):\n"
         "        return self.c\n", "        self.c = b\n", "", "A no longer sets self.c"),
    ],
)  # fmt: skip
def test_what_is_done_once_or_not_at_all_is_told(text: str, old: str, new: str, said: str) -> None:
    assert scaffolds(text, text.replace(old, new)) == [said]


def test_a_long_chain_of_conditions_costs_in_proportion() -> None:
    """Each `elif` stands in the `else` of the one before."""
    arms = "".join(f"    elif a == {at} and {'a + ' * 20} 1:\n        x = {at}\n" for at in range(1, 60))
    text = f"def f(a):\n    if a == 0:\n        x = 1\n{arms}    return x\n"
    began = time.process_time()
    assert scaffolds(text, text.replace("x = 1\n", "x = 7\n", 1)) == []
    assert time.process_time() - began < 5


def test_definitions_of_one_name_are_told_apart() -> None:
    """A getter and its setter, below a line with a form feed, which ends no line of Python."""
    text = (
        "class A:\n    # \x0c\n    @property\n    def p(self):\n        r = []\n        r.append(1)\n        return r\n"
    )
    text += "    @p.setter\n    def p(self, value):\n        self.v = value\n"
    assert scaffolds(text, text.replace("        r.append(1)\n", "")) == ["A.p no longer sets r"]


@pytest.mark.parametrize("line", ["self.limit = limit\n", "self.limit: int\n", "self.limit += 1\n"])
def test_a_field_is_set_by_an_assignment_alone(line: str) -> None:
    text = "class A:\n    def f(self, limit):\n        self.limit = limit\n        return limit\n"
    text += "    def g(self):\n        limit = 3\n        " + line + "        return self.limit, limit\n"
    said = [] if line.startswith("self.limit = ") else ["A no longer sets self.limit"]
    assert scaffolds(text, text.replace("        self.limit = limit\n", "", 1)) == said


def test_what_else_binds_a_name_is_no_scaffold() -> None:
    text = "def f(p):\n    json = None\n    if p:\n        import json\n    p.append(1)\n    return json\n"
    assert scaffolds(text, text.replace("    p.append(1)\n", "")) == []
    text = "def f(q):\n    global COUNT\n    for x in q:\n        COUNT += 1\n        g(x)\n"
    assert scaffolds(text, text.replace("        g(x)\n", "")) == []
