"""`docs/credit.md` shows the rules and an example; both are computed here and compared with the page."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path

from selfplay.rl.credit.rules import Credit, CreditedEpisode, CreditRules, RoleName, credit
from selfplay.rl.credit.table import CREDIT_COLUMNS, credit_row, rules_of_credit

PAGE = Path(__file__).parents[3] / "docs" / "credit.md"


def example() -> list[Credit]:
    """One injector group of six, four attempts at each of the bugs that were attempted, one attempt at what a failed
    patch left; eight is not reached so that the table stays short."""
    injector: RoleName = "injector"
    group, first = "shop/removal", "b1"
    return credit(
        [
            CreditedEpisode(injector, group, "valid", first, tokens=900, name="i1"),
            CreditedEpisode(injector, group, "valid", "b2", tokens=400, name="i2"),
            CreditedEpisode(injector, group, "valid", "b3", tokens=700, name="i3"),
            CreditedEpisode(injector, group, "duplicate", tokens=500, name="i4"),
            CreditedEpisode(injector, group, "invalid", tokens=1200, name="i5"),
            CreditedEpisode(injector, group, lost=True, tokens=80, name="i6"),
            CreditedEpisode("solver", first, "resolved", first, tokens=300, name="s1"),
            CreditedEpisode("solver", first, "failed", first, tokens=900, name="s2"),
            CreditedEpisode("solver", first, "cheated", first, tokens=200, name="s3"),
            CreditedEpisode("solver", first, "failed", first, lost=True, tokens=40, name="s4"),
            *(CreditedEpisode("solver", "b2", "resolved", "b2", tokens=250, name=f"s{n}") for n in range(5, 9)),
            CreditedEpisode("solver", "b1+s2", "resolved", "b1+s2", order=2, tokens=300, name="s9"),
            CreditedEpisode("solver", "b1+s2", "failed", "b1+s2", order=2, tokens=100, name="s10"),
        ],
        CreditRules(attempts=4),
    )


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def test_the_page_shows_the_rules_of_the_code() -> None:
    table = markdown(("rule", "case", "reward", "gradient", "counts", "from"), map(astuple, rules_of_credit()))
    assert table in PAGE.read_text(), f"put this into {PAGE.name}:\n{table}"


def test_the_page_shows_the_example_as_the_code_credits_it() -> None:
    table = markdown(CREDIT_COLUMNS, map(credit_row, example()))
    assert table in PAGE.read_text(), f"put this into {PAGE.name}:\n{table}"
