"""What a revert imports must still be there."""

import pytest

from selfplay.python_source import syntax_tree
from selfplay.scripted.injector.index import Index
from selfplay.scripted.injector.lost_imports import imports_what_is_gone

TEXTS = {
    "src/shop/__init__.py": "",
    "src/shop/prices.py": "import attrs\nfrom shop.words import slug\n\ndef total(items):\n    return sum(items)\n",
    "src/shop/words.py": "def slug(text):\n    return text\n",
    "src/shop/parts/table.py": "WIDTH = 3\n",
    "tests/test_prices.py": "from shop.prices import total\n",
}
INDEX = Index(TEXTS, {path: syntax_tree(text) for path, text in TEXTS.items()})


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("from shop.compat import text_type", True),  # as sqlparse's were, in 8 of 26 looks at planted bugs
        ("from .compat import text_type", True),
        ("from ..shop import compat", True),
        ("import shop.compat", True),
        ("from shop.words import snake", True),
        ("from shop import colours", True),
        ("import six", True),  # nothing imports it today
        ("def f():\n    import six", True),
        ("if FAST:\n    import six", True),
        ("from shop.words import slug as other", False),
        ("from .words import slug", False),
        ("from . import words", False),
        ("from .parts import table", False),  # a package without a file
        ("from shop.parts.table import WIDTH", False),
        ("from shop.parts.table import HEIGHT", True),
        ("from shop.words import *", False),
        ("import attrs.validators", False),
        ("import os.path, collections", False),
        ("try:\n    import six\nexcept ImportError:\n    six = None", False),
        ("import attrs", False),  # HEAD has it
    ],
)
def test_an_import_leads_somewhere(line: str, gone: bool) -> None:
    head = TEXTS["src/shop/prices.py"]
    assert imports_what_is_gone("src/shop/prices.py", head, f"{line}\n{head}", INDEX) is gone
