"""Diffs, colours and episodes as plain values, also of what nobody sane would write."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.made_runs import HOSTILE, diff

from selfplay.agent import Step, Trajectory
from selfplay.agent.actions import Call, Finish
from selfplay.report.html.curves import training
from selfplay.report.html.diffs import LONGEST, MOST_LINES, clean, diff_value
from selfplay.report.html.document import script_json
from selfplay.report.html.episodes import MOST_OUTPUT, MOST_STEPS, episode_value
from selfplay.report.html.figures import binned
from selfplay.report.html.highlight import runs


def test_colours_are_runs_of_a_letter_and_a_length() -> None:
    """`def` is a keyword, `f` a function's name, the emoji is two units of UTF-16, as browsers count."""
    assert runs("a.py", ["def f():", "    return '\U0001f600' # x", "y = z"]) == ["k3.1f1", ".4k6.1s4.1c3", ""]
    assert runs("a.unknown", ["def f():"]) == [""]
    assert runs("a.py", ["x" * 500, "return"]) == ["", "k6"], "a long line stays plain"


def test_a_string_over_two_lines_is_one_string() -> None:
    assert runs("a.py", ['x = """one', "return two", '"""']) == [".4s6", "s10", "s3"]


@pytest.mark.parametrize("ending", ["py", "js", "c", "yaml", "toml", "json", "sh", "cpp", "rs", "go"])
@pytest.mark.parametrize("line", ["(" * 399, '"\\' * 199, "/*" * 199, "a" * 399, "${" * 199, "[[" * 199])
def test_no_line_makes_a_lexer_slow(ending: str, line: str) -> None:
    """A lexer that backtracks without bound would take days for these; 20 lines take some milliseconds."""
    before = time.process_time()
    assert len(runs(f"x.{ending}", [line] * 20)) == 20
    assert time.process_time() - before < 5


def test_each_line_of_a_diff_has_its_mark_and_its_colours() -> None:
    (file,) = diff_value(diff("a/b.py", "    return 1", "    y = 2"))["files"]
    (hunk,) = file["hunks"]
    assert (file["path"], file["removed"], file["added"]) == ("a/b.py", 1, 2)
    assert hunk["l"] == ["     x = 1", "-    return x", "+    return 1", "+    y = 2"]
    assert hunk["y"] == [".8n1", ".4k6", ".4k6.1n1", ".8n1"]


def test_a_diff_that_cannot_be_read_is_shown_as_lines() -> None:
    found = diff_value("--- nothing\nof a diff\n")
    assert found["raw"] == ["--- nothing", "of a diff", ""] and "line" in found["why"]


def test_a_diff_of_any_size_is_cut_and_the_rest_is_counted() -> None:
    found = diff_value(diff("a.py", *["x"] * 3000, "y" * 5000))
    (file,) = found["files"]
    assert len(file["hunks"][0]["l"]) == MOST_LINES and found["left"] == 3003 - MOST_LINES
    assert len(clean("y" * 5000)) < LONGEST + 100


@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "\u2066x", "\x00", "\ud800", "\udcff", "\u200b", "a\rb"])
def test_what_hides_or_turns_text_is_made_visible(text: str) -> None:
    shown = clean(text)
    assert "\ufffd" in shown and shown.encode() and shown.isprintable()


@settings(max_examples=200)
@given(st.text(), st.text())
def test_any_text_is_json_that_ends_no_element(text: str, name: str) -> None:
    value = {clean(name): [clean(text)]}
    written = script_json(value)
    assert json.loads(written) == value
    assert not set(written) & set("<>&\u2028\u2029")


@settings(max_examples=100)
@given(st.text(alphabet="+- @\\\ndiffgt/ab.py0123456789,\u2028<>", max_size=400))
def test_any_text_is_a_diff_or_lines(text: str) -> None:
    found = diff_value(text)
    assert ("raw" in found) != ("files" in found)


def test_an_episode_is_cut_where_it_is_long() -> None:
    steps = tuple(Step(Call("bash", {"command": HOSTILE}), "x" * 10_000, 0, 0.1) for _ in range(MOST_STEPS + 7))
    found = episode_value(Trajectory("solver", "p", Finish.SUBMITTED, steps, None, 1.0))
    assert (len(found["steps"]), found["left"]) == (MOST_STEPS, 7)
    assert len(found["steps"][0]["out"]) < MOST_OUTPUT + 100 and "characters cut" in found["steps"][0]["out"]
    assert "<script>" in found["steps"][0]["call"]["command"]


def test_shares_fall_into_bins() -> None:
    """None; up to a quarter, a half, three quarters; below all; all."""
    assert binned([0, 0.125, 0.25, 0.3, 0.5, 0.75, 0.8, 1]) == [1, 2, 2, 1, 1, 1]


@pytest.mark.parametrize("odd", [None, True, "x", -1, 1e308, [], {"x": {"y": 1}}, {"9" * 5000 + "/1": 1, "0/0": 2}])
def test_figures_of_any_shape_make_curves(odd: object) -> None:
    step = {"number": odd, "rollouts": {"solver": {"groups": odd, "versions_behind": odd}}, "phases": odd, "step": odd,
            "tokens": odd, "nothing": odd}  # fmt: skip
    found = training([step, step])
    assert found is not None and found["steps"] == 2
    assert script_json(found)


def test_no_asset_would_end_its_own_element() -> None:
    folder = Path(__file__).parents[3] / "selfplay" / "report" / "html" / "assets"
    for file in [*folder.glob("*.js"), *folder.glob("*.css")]:
        assert "</script" not in file.read_text().lower() and "</style" not in file.read_text().lower(), file.name
