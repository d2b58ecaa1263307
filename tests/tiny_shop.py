"""The files of a small shop and what they were before, for `tiny_repository`."""

from collections.abc import Mapping

PYPROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "tinyshop"
version = "1.0"
"""
PRICES = '''"""Prices in cents."""


def total(items, discount=0):
    """The sum of (price, count) pairs, less a discount in percent."""
    result = 0
    for price, count in items:
        if count < 0:
            raise ValueError("negative count")
        result += price * count
    if discount:
        result -= result * discount // 100
    return result


def shown(cents, currency="EUR"):
    """A price as text."""
    sign = "-" if cents < 0 else ""
    euros, rest = divmod(abs(cents), 100)
    if currency == "EUR":
        return f"{sign}{euros}.{rest:02} €"
    return f"{sign}{currency} {euros}.{rest:02}"


def parse(text):
    """What `shown` wrote, in cents."""
    digits = "".join(c for c in text if c.isdigit())
    value = int(digits or "0")
    if text.lstrip().startswith("-"):
        value = -value
    return value
'''
STOCK = '''"""What is on the shelves."""


class Stock:
    def __init__(self):
        self.counts = {}
        self.log = []

    def add(self, name, count=1):
        """Put `count` of `name` on the shelf."""
        if count <= 0:
            raise ValueError(f"cannot add {count}")
        key = name.strip().lower()
        self.counts[key] = self.counts.get(key, 0) + count
        self.log.append(("add", key, count))

    def take(self, name, count=1):
        """Take `count` of `name`; how many there were."""
        key = name.strip().lower()
        there = self.counts.get(key, 0)
        taken = min(there, count)
        if taken:
            self.counts[key] = there - taken
            self.log.append(("take", key, taken))
        if not self.counts.get(key):
            self.counts.pop(key, None)
        return taken

    def missing(self, wanted):
        """What of `wanted` (name -> count) is not there."""
        lacking = {}
        for name, count in wanted.items():
            there = self.counts.get(name, 0)
            if there < count:
                lacking[name] = count - there
        return lacking
'''
WORDS = '''"""Texts."""


def slug(title, limit=20):
    """A title as a file name."""
    words = []
    for word in title.lower().split():
        kept = "".join(c for c in word if c.isalnum())
        if kept:
            words.append(kept)
    result = "-".join(words)
    while len(result) > limit and "-" in result:
        result = result.rsplit("-", 1)[0]
    return result


def table(rows):
    """Rows of texts with equal columns."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append(" ".join(cells).rstrip())
    return "\\n".join(lines)
'''
TESTS = {
    "tests/test_prices.py": """import pytest

from tinyshop.prices import parse, shown, total


@pytest.mark.parametrize(
    ("items", "sum"),
    [
        ([], 0),
        ([(100, 2)], 200),
        ([(100, 2), (50, 1)], 250),
    ],
)
def test_total(items, sum):
    assert total(items) == sum


def test_discount():
    assert total([(100, 1)], discount=10) == 90


def test_negative_count():
    with pytest.raises(ValueError):
        total([(1, -1)])


def test_shown():
    assert shown(1234) == "12.34 €"
    assert shown(-5) == "-0.05 €"


def test_shown_in_dollars():
    assert shown(250, "USD") == "USD 2.50"


@pytest.mark.parametrize("text", ["12.34 €", "0.05 €"], ids=["a b", "ü[1]"])
def test_parse(text):
    assert shown(parse(text)) == text


def test_parse_negative():
    assert parse("-1.00 €") == -100
""",
    "tests/test_stock.py": """import unittest

from tinyshop.stock import Stock


class TestStock(unittest.TestCase):
    def setUp(self):
        self.stock = Stock()
        self.stock.add(" Tea ", 3)

    def test_add(self):
        self.assertEqual(self.stock.counts, {"tea": 3})

    def test_add_nothing(self):
        with self.assertRaises(ValueError):
            self.stock.add("tea", 0)

    def test_take(self):
        self.assertEqual(self.stock.take("TEA", 2), 2)
        self.assertEqual(self.stock.counts, {"tea": 1})

    def test_take_all(self):
        self.assertEqual(self.stock.take("tea", 9), 3)
        self.assertNotIn("tea", self.stock.counts)

    def test_log(self):
        self.stock.take("tea")
        self.assertEqual(len(self.stock.log), 2)

    def test_missing(self):
        self.assertEqual(self.stock.missing({"tea": 5, "salt": 1}), {"tea": 2, "salt": 1})
""",
    "tests/test_words.py": """from tinyshop.words import slug, table


def test_slug():
    assert slug("A  Big, Title!") == "a-big-title"


def test_long_slug():
    assert slug("one two three four five six") == "one-two-three-four"


def test_table():
    assert table([["a", "bb"], ["ccc", "d"]]) == "a   bb\\nccc d"


def test_empty_table():
    assert table([]) == ""
""",
}
COUNT = 20
"""Prices: 3 of total, discount, negative count, 2 shown, 2 parse, parse negative (10); stock 6; words 4."""
FILES = {
    "pyproject.toml": PYPROJECT,
    "tinyshop/__init__.py": "",
    "tinyshop/prices.py": PRICES,
    "tinyshop/stock.py": STOCK,
    "tinyshop/words.py": WORDS,
    **TESTS,
}
NO_CHECKS = PRICES.replace('        if count < 0:\n            raise ValueError("negative count")\n', "")
PAST: tuple[Mapping[str, str], ...] = (
    {
        "tinyshop/prices.py": NO_CHECKS.replace("    if discount:\n        result -= result * discount // 100\n", ""),
        "tinyshop/stock.py": STOCK.replace("key = name.strip().lower()", "key = name"),
        "tinyshop/words.py": WORDS.replace(
            "        if kept:\n            words.append(kept)", "        words.append(word)"
        ),
    },
    {"tinyshop/prices.py": PRICES.replace('    sign = "-" if cents < 0 else ""\n', '    sign = ""\n')},
    {"tinyshop/stock.py": STOCK.replace("        taken = min(there, count)\n", "        taken = count\n")},
    {"tinyshop/words.py": WORDS.replace(".rstrip()", "").replace('"-", 1)', '"-", 2)')},
)
"""Older contents of some files, a commit each before the last, which is `FILES`."""
