"""The page of a training run: what it says of the newest step, and that figures of any shape make a page."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from selfplay.report.training import MOST_ROWS, training_page

STEP: dict[str, Any] = {
    "number": 4, "version": 3,
    "step": {"tokens": 50_000},
    "tokens": {
        "both": {"ratio": 1.001, "clipped": 0.0125, "entropy": 0.75},
        "solver": {"ratio": 1.002, "ratio_min": 0.5, "ratio_max": 1.75, "clipped": 0.01, "entropy": 0.7},
    },
    "rollouts": {
        "injector": {
            "episodes": 4, "trained_on": 2, "reward": {"mean": -0.125}, "outcomes": {"valid": 1, "invalid": 3},
            "checks": {"bug": 2, "nothing handed in": 1}, "diversity": 1.0, "tokens": 2000, "versions_behind": {"0": 2},
            "without_a_gradient": {"alone": 2},
        },
        "solver": {
            "episodes": 8, "trained_on": 8, "reward": {"mean": 0.5}, "outcomes": {"resolved": 6, "failed": 2},
            "groups": {"2/4": 1, "4/4": 2}, "tokens": 8000, "versions_behind": {"0": 6, "1": 2},
        },
    },
    "phases": {"wait": 48.5, "learn": 25.0, "sync": 1.5},
    "spent": {"solver": {"generation": 40.0, "tools": 30.5, "judging": 12.25, "rest": 1.0}},
}  # fmt: skip


def printed(page: RenderableType) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as capture:
        console.print(page)
    return capture.get()


def test_the_newest_step() -> None:
    """10,000 tokens in 75 s, 50,000 in 25 s, the solver's 8,000 in 40 s of generation; a bar of
    24 for the largest count, 12 for half of it."""
    page = printed(training_page([STEP]))
    (row,) = (line for line in page.splitlines() if "+0.50" in line)
    cells = [cell.strip() for cell in row.strip("│ ").split("│")]
    assert cells == ["5", "3", "-0.12", "+0.50", "1 of 4", "6 of 8", "10 of 12", "1.001", "1.2%", "0.75", "75"]
    for said in (
        f"  2/4 {'#' * 12} 1", f"  4/4 {'#' * 24} 2", "bug " + "#" * 24 + " 2", "solver, versions behind: 0: 6, 1: 2",
        "injector, without a gradient: alone: 2", "solver: ratio 1.0020 (0.500 to 1.750), clipped 1.0%, entropy 0.700",
        "seconds: wait 48.5, learn 25.0, sync 1.5", "sampled: 133 tokens/s", "trained: 2,000 tokens/s",
        "bugs unlike the others of the step: 100%", "solver: 200 tokens/s within an episode",
        "solver, seconds of its episodes: generation 40.0, tools 30.5, judging 12.2, rest 1.0",
    ):  # fmt: skip
        assert said in page, said


def test_the_effective_sample_size_stands_beside_the_ratio() -> None:
    step = copy.deepcopy(STEP)
    step["tokens"]["solver"]["effective_sample_size"] = 0.98
    assert "(0.500 to 1.750), effective sample size 98.0%, clipped 1.0%" in printed(training_page([step]))


def test_only_the_newest_steps_have_rows_and_collapse_is_told() -> None:
    steps = [{**STEP, "number": number} for number in range(40)]
    assert sum("+0.50" in line for line in printed(training_page(steps)).splitlines()) == MOST_ROWS
    uniform = {**STEP, "rollouts": {**STEP["rollouts"], "solver": {"episodes": 8, "groups": {"0/4": 2}}}}
    assert "beyond its limit: uniform: all or none of the attempts solve" in printed(training_page([uniform] * 5))


def test_a_step_that_taught_nothing_and_a_run_without_a_step() -> None:
    page = printed(training_page([{"number": 0, "step": None, "nothing": "no episode teaches", "rollouts": {}}]))
    assert "nothing to learn: no episode teaches" in page
    assert "no step is finished" in printed(training_page([]))


@pytest.mark.parametrize("text", ["\x1b[2J\x1b]0;mine\x07", "[red]mine[/red]", "‮mine"])
def test_no_text_of_the_figures_styles_the_terminal(text: str) -> None:
    hostile = {**STEP, "nothing": text, "rollouts": {"injector": {"checks": {text: 1}, "versions_behind": {text: 1}}}}
    page = printed(training_page([hostile]))
    assert "\x1b" not in page and "‮" not in page and "mine" in page
    assert "[red]mine[/red]" in page or "[red]" not in text, "markup is text"


def places(table: dict[str, Any]) -> list[tuple[str, ...]]:
    """Every place in nested tables, inner ones too."""
    inner = [(name, *rest) for name, value in table.items() if isinstance(value, dict) for rest in places(value)]
    return [*((name,) for name in table), *inner]


ODD = (None, True, "text", -1, 2**63 - 1, 1e18, float("inf"), [], [1], {}, {"x": {"y": 1}}, {"0/0": 0}, {"": -5})


@settings(max_examples=40)
@given(st.sampled_from(places(STEP)), st.sampled_from(ODD))
def test_figures_of_any_shape_make_a_page(place: tuple[str, ...], odd: Any) -> None:
    step = copy.deepcopy(STEP)
    table = step
    for name in place[:-1]:
        table = table[name]
    table[place[-1]] = odd
    assert "Training: 1 step" in printed(training_page([step]))
