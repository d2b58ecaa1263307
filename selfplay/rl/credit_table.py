"""The rules of credit in words, one row a rule. `docs/credit.md` shows this table; each row has a test by its name."""

from dataclasses import dataclass

from selfplay.rl.credit import Rules

PAPER, OURS = "paper", "ours"


@dataclass(frozen=True)
class Rule:
    """`reward` and `gradient`: what the episode gets in this case. `counts`: what it does to s, the solve rate of its
    bug, and to others' baselines. `source`: stated by the paper, or decided here because it is not."""

    name: str
    case: str
    reward: str
    gradient: str
    counts: str
    source: str


def rules_of_credit(rules: Rules = Rules()) -> tuple[Rule, ...]:
    """The rules, with these numbers in them."""
    return (
        Rule(
            "invalid", "injector: a check fails, nothing was submitted, or what was is no artifact",
            f"{rules.invalid:g}", "yes", "in the baseline", PAPER,
        ),
        Rule(
            "valid", "injector: valid, 0 < s < 1", "1 - (1 + alpha) s", "yes", "in the baseline", PAPER,
        ),
        Rule(
            "nobody or everybody", "injector: valid, s = 0 or s = 1", "-alpha", "yes", "in the baseline", PAPER,
        ),
        Rule(
            "duplicate", "injector: the same buggy tree as an earlier bug",
            f"{rules.duplicate:g}", "yes", "in the baseline", OURS,
        ),
        Rule(
            "never attempted", "injector: valid, but its world leaks, its calibration fails or its run ended first",
            "none", "no, counted", "not in the baseline", OURS,
        ),
        Rule(
            "resolved", "solver: every F2P and P2P test is there and passes",
            f"{rules.resolved:+g}", "yes", "a success in s", PAPER,
        ),
        Rule(
            "failed", "solver: any other patch, or none", f"{rules.failed:g}", "yes", "a failure in s", PAPER,
        ),
        Rule(
            "cheated", "solver: a patch that the grader caught cheating, whatever passes",
            f"{rules.cheated:g}", "yes", "a failure in s", OURS,
        ),
        Rule(
            "lost", "either role: the machine lost it (sandbox, engine, grader)",
            "none", "no, counted", "neither in s nor in the baseline", OURS,
        ),
        Rule(
            "too few attempts", "fewer than half of the attempts planned at a bug count",
            "none", "no, counted: neither those attempts nor the injection", "not in the baseline", OURS,
        ),
        Rule(
            "second order", "solver: an attempt at a bug that holds a failed patch",
            "as any attempt", "yes, in a group of its own", "in the s of no injection", OURS,
        ),
        Rule(
            "two roles", "an injector group and a solver group", "each its own", "each centred on its own mean",
            "never in one baseline", OURS,
        ),
        Rule(
            "one prompt", "injector group: repository, strategy and seed location",
            "as above", "refused when its members saw two prompts", "in one baseline", OURS,
        ),
        Rule(
            "no tokens", "either role: the policy sampled nothing that can be trained on",
            "as above", "no, counted", "in s, not in the baseline", OURS,
        ),
        Rule(
            "alone", "nobody else in its group has a reward", "as above", "no, counted", "in s", OURS,
        ),
        Rule(
            "zero advantage", "its reward is the baseline", "as above", "no, counted", "in s, in the baseline", PAPER,
        ),
        Rule(
            "filtered", "a filter takes it: stale, gibberish, truncated, timed out, out of turns",
            "as above", "no, counted", "in s, in the baseline", OURS,
        ),
    )  # fmt: skip


def markdown_table(rules: Rules = Rules()) -> str:
    """The table as Markdown."""
    rows = [("rule", "case", "reward", "gradient", "counts", "from"), ("---",) * 6]
    for rule in rules_of_credit(rules):
        rows.append((rule.name, rule.case, rule.reward, rule.gradient, rule.counts, rule.source))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
