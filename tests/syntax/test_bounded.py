"""Texts that cost too much are refused, and the next text is read as if they had not been."""

import pytest

from selfplay.believable import BelievableRules, faults
from selfplay.scripted.injector.sources import Sources
from selfplay.syntax.bounded import DEEPEST, TooCostly
from selfplay.syntax.source import parse

COMMENTS = 5_000 * "/* \n"


@pytest.mark.parametrize(("language", "fine"), [("go", "package a\n"), ("javascript", "a();\n")])
def test_openers_without_closers_are_refused_and_leave_the_parser_whole(language: str, fine: str) -> None:
    with pytest.raises(TooCostly, match=f"too costly to parse as {language}"):
        parse(language, COMMENTS)
    assert parse(language, fine).functions() and parse(language, fine).root.named_child_count == 1


def test_a_deep_tree_is_refused() -> None:
    assert parse("javascript", 100 * "[" + 100 * "]")
    with pytest.raises(TooCostly, match="nested too deeply in javascript"):
        parse("javascript", DEEPEST * "[" + DEEPEST * "]")


def test_a_refused_source_is_left_out_and_a_change_that_makes_one_is_told() -> None:
    sources = Sources(
        "go", {"a.go": COMMENTS, "a_test.go": COMMENTS, "b.go": "package a\n\nfunc f() {\n\tg()\n\th()\n}\n"}
    )
    assert [place.path for place in sources.places] == ["b.go"]
    assert faults(BelievableRules(), {"b.go": "package a\n"}, {"b.go": COMMENTS}) == (
        "b.go: is too costly to parse as go",
    )
