"""Bringing back what past commits replaced: texts and git's own diffs in, changed texts out."""

import random
from itertools import pairwise
from pathlib import Path

import hand_made
import pytest

from selfplay.scripted.edits.cuts import Cut, apply_cuts, cuts_between
from selfplay.scripted.injector.history import (
    Revert,
    carry,
    keep_defined,
    reverted_change,
    reverts,
)

OLD = "import os\n\n\ndef f(a):\n    return a\n\n\ndef g(b):\n    b += 1\n    return b\n\n\ndef h(c):\n    return c\n"
NEW = (
    OLD.replace("return a", "a = a or 1\n    return a * 2").replace("    b += 1\n", "").replace("return c", "return -c")
)


def git_diff(old: str, new: str, folder: Path) -> str:
    """git's diff without context, as the planner asks for it."""
    (folder / "tree").mkdir()
    (folder / "tree" / "f.py").write_text(old, newline="")

    def edit(root: Path) -> None:
        (root / "f.py").write_text(new, newline="")

    return hand_made.diff(folder / "tree", edit, "-U0")


def all_reverts(old: str, new: str, folder: Path) -> list[Revert]:
    return reverts(git_diff(old, new, folder), new, "f.py", 10, random.Random(0))


def test_hunks_turn_back_alone_in_pairs_and_all_together(tmp_path: Path) -> None:
    found = all_reverts(OLD, NEW, tmp_path)
    # three hunks: 3 alone, 2 neighbouring pairs, and from both of them on (0 and 2): all three, and the last (again)
    assert sorted(len(revert.cuts) for revert in found) == [1, 1, 1, 2, 2, 3]
    assert next(revert for revert in found if len(revert.cuts) == 3).theirs == OLD
    assert {revert.what for revert in found if len(revert.cuts) == 1} == {"brought back 1 hunk of f.py"}
    assert {r.theirs for r in found if len(r.cuts) == 1} == {
        NEW.replace("a = a or 1\n    return a * 2", "return a"),
        NEW.replace("def g(b):\n", "def g(b):\n    b += 1\n"),
        NEW.replace("return -c", "return c"),
    }


def test_comments_blank_lines_and_versions_are_no_history(tmp_path: Path) -> None:
    new = OLD.replace("import os\n", "import os\n# why\n\n__version__ = '2'\n")
    assert all_reverts(OLD, new, tmp_path) == []
    assert reverts("", NEW, "f.py", 10, random.Random(0)) == []
    assert reverts("not a diff at all", NEW, "f.py", 10, random.Random(0)) == []


def test_a_diff_of_another_text_gives_nothing(tmp_path: Path) -> None:
    diff = git_diff(OLD, NEW, tmp_path)
    assert reverts(diff, "short = 1\n", "f.py", 10, random.Random(0)) == []


def test_crlf_comes_back_as_crlf(tmp_path: Path) -> None:
    old, new = OLD.replace("\n", "\r\n"), NEW.replace("\n", "\r\n")
    found = all_reverts(old, new, tmp_path)
    assert next(revert for revert in found if len(revert.cuts) == 3).theirs == old


def test_a_revert_is_carried_past_later_work_elsewhere(tmp_path: Path) -> None:
    head = "# later\nimport sys\n" + NEW + "\n\ndef later():\n    return 1\n"
    for revert in all_reverts(OLD, NEW, tmp_path):
        cuts = carry(head, revert)
        assert cuts is not None
        assert apply_cuts(head, cuts) == "# later\nimport sys\n" + revert.theirs + "\n\ndef later():\n    return 1\n"


def test_what_head_no_longer_has_or_has_twice_is_not_carried() -> None:
    revert = Revert("a = 1\nb = 2\nc = 3\n", (Cut(2, 2, ("b = 0",)),), "")
    assert carry("a = 1\nb = 5\nc = 3\n", revert) is None
    assert carry("a = 1\nb = 2\nc = 3\n" * 2, revert) is None
    assert carry("x = 0\nb = 2\nc = 3\n", revert) is None
    assert carry("x = 0\na = 1\nb = 2\nc = 3\n", revert) == (Cut(3, 3, ("b = 0",)),)


@pytest.mark.parametrize("seed", range(20))
def test_cuts_between_two_texts_turn_one_into_the_other(seed: int) -> None:
    rng = random.Random(seed)
    head = "".join(f"x{rng.randrange(5)} = 1\n" for _ in range(20))
    merged = "".join(f"x{rng.randrange(5)} = 1\n" for _ in range(20))
    cuts = cuts_between(head, merged)
    assert apply_cuts(head, cuts) == merged
    assert all(a.end < b.start for a, b in pairwise(cuts))


def test_names_others_need_are_put_back() -> None:
    head = '"""Doc."""\nimport os\nimport re\n\n\ndef used():\n    return 1\n\n\ndef free():\n    return re\n'
    merged = '"""Doc."""\nimport os\n\n\ndef free():\n    return re\n'
    assert keep_defined(head, merged, {"used"}) == (
        '"""Doc."""\nimport os\nimport re\n\n\ndef free():\n    return re\n\n\ndef used():\n    return 1\n'
    )
    assert keep_defined(head, head, {"used"}) == head


def test_an_import_put_back_follows_the_docstring_and_future_imports() -> None:
    code = "def f():\n    return re\n"
    head = f'#!/usr/bin/env python\n"""Doc."""\nimport re\n\n{code}'
    assert keep_defined(head, head.replace("import re\n", ""), set()) == head
    future = f"from __future__ import annotations\nimport re\n{code}"
    assert keep_defined(future, future.replace("import re\n", ""), set()) == future
    bare = f"# -*- coding: utf-8 -*-\nimport re\n{code}"
    assert keep_defined(bare, bare.replace("import re\n", ""), set()) == bare


def test_what_does_not_parse_or_differs_in_docstrings_only_is_no_change() -> None:
    text = 'def f():\n    """Doc."""\n    return 1\n'
    assert reverted_change("f.py", text, text.replace("Doc", "Old"), (), "") is None
    assert reverted_change("f.py", text, "def f(:\n", (), "") is None
    merged = text.replace("1", "2")
    made = reverted_change("f.py", text, merged, cuts_between(text, merged), "w")
    assert made is not None and made.after == merged and made.size == 2


def test_hunks_of_about_the_wanted_size_come_first(tmp_path: Path) -> None:
    """Two hunks: one changes 2 lines (1 out, 1 in), one 20. Asked for 2, the small one leads; asked for 20, it never
    does: its distance is 18, plus at most 20 drawn, against 0 plus at most 20 for the large, 2 for both."""
    same = "".join(f"k{n} = {n}\n" for n in range(8))
    old = "a = 1\n" + same + "".join(f"x{n} = {n}\n" for n in range(10))
    new = "a = 2\n" + same + "".join(f"x{n} = {n + 1}\n" for n in range(10))
    diff = git_diff(old, new, tmp_path)
    sizes = [
        [sum(cut.size for cut in reverts(diff, new, "f.py", wanted, random.Random(seed))[0].cuts) for seed in range(50)]
        for wanted in (2, 20)
    ]
    assert set(sizes[0]) == {2}
    assert sizes[1].count(2) < 10
