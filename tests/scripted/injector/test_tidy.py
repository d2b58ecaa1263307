"""What a removal leaves behind goes with it, and what cannot be made believable is no change."""

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts, change, cuts_between
from selfplay.scripted.injector.tidy import tidied

TEXT = """
import os
from shop import (
    bill,
    price,
)


def _tax(amount):
    return amount * 2


def total(items):
    path = os.getcwd()
    tag = path[1:]
    amount = len(items)
    if amount < 0:
        raise ValueError
    if amount > 3:
        print(tag)
        amount = price(_tax(amount))
    return bill(amount)
""".lstrip()


def without(*lines: str, kept: frozenset[str] = frozenset()) -> str | None:
    text = TEXT
    for line in lines:
        assert text.count(line) == 1
        text = text.replace(line, "")
    done = tidied(PlantedChange("shop/a.py", TEXT, text, cuts_between(TEXT, text), ""), kept)
    return done.after if done else None


def test_imports_locals_and_helpers_that_nothing_reads_go_too() -> None:
    # the branch was all that read `tag`, `price` and `_tax`; `tag` alone read `path`, and `path` alone `os`
    branch = "    if amount > 3:\n        print(tag)\n        amount = price(_tax(amount))\n"
    wanted = "from shop import (\n    bill,\n)\n\n\ndef total(items):\n    amount = len(items)\n"
    wanted += "    if amount < 0:\n        raise ValueError\n    return bill(amount)\n"
    assert without(branch) == wanted


def test_an_import_that_other_files_take_may_not_lose_its_use() -> None:
    assert without("        print(tag)\n", kept=frozenset(["os"])) is None
    done = without("        print(tag)\n")
    assert done is not None and "os" not in done and "path" not in done


def test_what_is_not_defined_any_more_is_no_change() -> None:
    assert without("import os\n") is None


def test_the_cuts_of_a_tidied_change_make_its_text() -> None:
    number = split_lines(TEXT).index("        print(tag)\n") + 1
    made = change("shop/a.py", TEXT, [Cut(number, number)])
    assert made is not None
    done = tidied(made, ())
    assert done is not None and apply_cuts(TEXT, done.cuts) == done.after
