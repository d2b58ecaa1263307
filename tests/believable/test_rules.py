"""What gives a bug away: names, stubs, places; only what the bug made so counts."""

from dataclasses import replace

import pytest

from selfplay.believable import BelievableRules, faults, faults_of_diff

BEFORE = """
import os
import re as regex
from typing import Any

from shop import price


def _tax(amount):
    return amount * 2


def total(items, sep=","):
    \"\"\"The total.\"\"\"
    found: Any = os.getcwd()
    amount = 0
    for item in items:
        if regex.match(sep, item):
            amount += price(item)
        else:
            amount += 1
    if amount > 3:
        amount = _tax(amount)
    return f"{found}{sep}{amount}"


def tell(items):
    for item in items:
        print(item)
""".lstrip()


EARLY = "the local total.amount"


def found(
    old: str, new: str, rules: BelievableRules = BelievableRules(), path: str = "shop/bill.py"
) -> tuple[str, ...]:
    assert old in BEFORE
    return faults(rules, {path: BEFORE}, {path: BEFORE.replace(old, new)})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("amount = 0", "amount = nothing", ["nothing is not defined"]),
        ("import os\n", "", ["os is not defined"]),
        ("    amount = 0\n", "    print(amount)\n    amount = 0\n", [f"{EARLY} is read before it is bound"]),
        ("    for item in items:\n        if", "    for item in items:\n        x = x or 1\n        if", []),
        ("os.getcwd()", "1", ["the import os is not used"]),
        (' f"{found}{sep}', ' f"{sep}', ["the local total.found is not used"]),
        ("_tax(amount)\n    return", "amount - 1\n    return", ["the private _tax is not used"]),
        ("amount * 2", "amount", ["_tax() does nothing"]),
        ("            amount += 1\n", "            pass\n", ["total() has an empty block"]),
        ('    return f"{found}', '    f"{found}', ["total() may end without its return"]),
        ("amount > 3", "amount >= 3", []),
        ("    if amount > 3:\n        amount = _tax(amount)\n", "    amount = _tax(amount)\n", []),
    ],
)  # fmt: skip
def test_what_a_linter_or_a_look_would_find(old: str, new: str, said: list[str]) -> None:
    assert list(found(old, new)) == [f"shop/bill.py: {one}" for one in said]


def test_a_function_that_lost_most_of_its_statements_is_gutted() -> None:
    # nine statements before (the docstring is one); two are less than a third of them
    start, end = BEFORE.index("    found: Any"), BEFORE.index("def tell")
    after = BEFORE[:start] + "    amount = 0\n    return amount\n\n\n" + BEFORE[end:]
    said = faults(BelievableRules(names=False, unused=False), {"a.py": BEFORE}, {"a.py": after})
    assert said == ("a.py: total() is gutted",)


def test_what_was_wrong_before_is_not_the_bugs_doing() -> None:
    before = "import os\n\n\ndef f(a):\n    b = c\n    pass\n\n\ndef g(a):\n    return None\n"
    assert faults(BelievableRules(), {"a.py": before}, {"a.py": before + "\n\ndef h(a):\n    return a + 1\n"}) == ()


@pytest.mark.parametrize("rule", ["names", "unused", "stubs", "product"])
def test_each_rule_can_be_turned_off(rule: str) -> None:
    changes = {
        "names": ("amount = 0", "amount = nothing"), "unused": ("os.getcwd()", "1"), "stubs": ("amount * 2", "amount"),
        "product": ("amount > 3", "amount > 4"),
    }  # fmt: skip
    path = "examples/bill.py" if rule == "product" else "shop/bill.py"
    assert found(*changes[rule], path=path)
    assert not found(*changes[rule], replace(BelievableRules(), **{rule: False}), path)


def test_names_that_a_star_may_bring_are_not_missed() -> None:
    before = "from shop import *\n\nx = price(1)\n"
    assert faults(BelievableRules(), {"a.py": before}, {"a.py": before + "y = total(x)\n"}) == ()


def test_exported_and_global_names_are_used() -> None:
    before = "import os\nimport re\n\n__all__ = ['os']\nx = os, re\n"
    said = faults(
        BelievableRules(),
        {"a.py": before},
        {"a.py": before.replace("x = os, re", "def f():\n    global y\n    y = 1\nz = y")},
    )
    assert said == ("a.py: the import re is not used",)


@pytest.mark.parametrize(
    ("path", "product"),
    [
        ("shop/bill.py", True), ("src/shop/docs/bill.py", True), ("bill.py", True), ("shop/tools.py", True),
        ("examples/bill.py", False), ("docs/conf.py", False), ("benchmarks/run.py", False), ("setup.py", False),
        (".github/run.py", False),
    ],
)  # fmt: skip
def test_where_the_product_is(path: str, product: bool) -> None:
    assert (faults(BelievableRules(), {path: "x = 1\n"}, {path: "x = 2\n"}) == ()) is product


def test_a_text_that_cannot_be_read_has_no_faults_of_names() -> None:
    deep = "x = " + "(" * 50_000 + ")" * 50_000 + "\n"
    for text in ("def f(:\n", deep, "x = 1\0\n"):
        assert faults(BelievableRules(), {"a.py": "x = 1\n"}, {"a.py": text}) == ()


def test_the_faults_of_a_diff_are_those_of_the_files_it_makes() -> None:
    diff = (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = y\n z = 2\n"
        "diff --git a/b.py b/b.py\ndeleted file mode 100644\n--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
    )
    texts = {"a.py": "x = 1\nz = 2\n", "b.py": "x = 1\n"}
    assert faults_of_diff(BelievableRules(), diff, texts.get) == ("a.py: y is not defined",)
