"""Episodes for tests of credit, and the credit of one of them."""

from dataclasses import replace

from selfplay.rl.credit.rules import Credit, CreditedEpisode, CreditRules, Outcome, credit

INJECTION = CreditedEpisode("injector", "shop/removal", "valid", bug="b1", tokens=100)
INVALID = replace(INJECTION, outcome="invalid", bug="")
LOST = CreditedEpisode("solver", "b1", bug="b1", lost=True)


def attempts(resolved: int, failed: int, bug: str = "b1", order: int = 1) -> list[CreditedEpisode]:
    outcomes: list[Outcome] = ["resolved"] * resolved + ["failed"] * failed  # type: ignore[list-item]
    return [CreditedEpisode("solver", f"{bug}/{order}", outcome, bug, order, tokens=10) for outcome in outcomes]


def of_injection(episodes: list[CreditedEpisode], rules: CreditRules = CreditRules()) -> Credit:
    """The credit of `INJECTION`, beside an invalid one of the same length, with which it is compared."""
    return credit([INJECTION, INVALID, *episodes], rules)[0]
