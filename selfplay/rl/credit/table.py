"""The rules of credit in words, one row per rule, and what an episode earned as a row of a table. `docs/credit.md`
shows both; each rule has a test by its name.
"""

from dataclasses import dataclass, replace

from selfplay.rl.credit.rules import Credit, CreditRules

PAPER, OURS = "paper", "ours"
CREDIT_COLUMNS = ("episode", "role", "group", "outcome", "s", "tokens", "reward", "advantage", "no gradient")


@dataclass(frozen=True)
class Rule:
    """`reward` and `gradient`: what the episode gets in this case. `counts`: its effect on s, the solve rate of its
    bug, and on others' baselines. `source`: stated by the paper, or decided here."""

    name: str
    case: str
    reward: str
    gradient: str
    counts: str
    source: str


RULES = (
    Rule(
        "invalid", "injector: a check fails, nothing was submitted, or the submission is not an artifact",
        "{invalid:g}", "yes", "in the baseline", PAPER,
    ),
    Rule(
        "valid", "injector: valid, 0 < s < 1", "1 - (1 + alpha) s", "yes", "in the baseline", PAPER,
    ),
    Rule(
        "nobody or everybody", "injector: valid, s = 0 or s = 1", "-alpha", "yes", "in the baseline", PAPER,
    ),
    Rule(
        "duplicate", "injector: the buggy tree or the task of an earlier bug",
        "{duplicate:g}", "yes", "in the baseline", OURS,
    ),
    Rule(
        "never attempted", "injector: valid, but its world leaks, its calibration fails or its run ended first",
        "none", "no, counted", "not in the baseline", OURS,
    ),
    Rule(
        "resolved", "solver: every F2P and P2P test runs and passes",
        "{resolved:+g}", "yes", "a success in s", PAPER,
    ),
    Rule(
        "failed", "solver: any other patch, or none", "{failed:g}", "yes", "a failure in s", PAPER,
    ),
    Rule(
        "cheated", "solver: a patch that the grader caught cheating, whatever passes",
        "{cheated:g}", "yes", "a failure in s", OURS,
    ),
    Rule(
        "lost", "either role: the machine lost it (sandbox, engine, grader), or its grade is suspect or weak",
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
        "no tokens", "either role: no tape of sampled tokens: a script, a control, an endpoint that returns no ids",
        "as above", "no, counted", "in s, not in the baseline", OURS,
    ),
    Rule(
        "damaged tape", "either role: its tape is missing, cannot be read, or was cut short",
        "as above", "no, counted", "in s, not in the baseline", OURS,
    ),
    Rule(
        "opponent", "either role: a frozen policy played it (`opponents`)",
        "as above", "no, counted", "in s, not in the baseline", OURS,
    ),
    Rule(
        "alone", "no other episode of its group has both a reward and a whole tape of tokens",
        "as above", "no, counted", "in s", OURS,
    ),
    Rule(
        "zero advantage", "its reward is the baseline", "as above", "no, counted", "in s, in the baseline", PAPER,
    ),
    Rule(
        "filtered", "a filter drops it: stale, gibberish, truncated, timed out, out of turns, too long",
        "as above", "no, counted", "in s, in the baseline", OURS,
    ),
)  # fmt: skip
"""Each rule; a reward in braces is a number of `CreditRules`."""


def rules_of_credit(rules: CreditRules = CreditRules()) -> tuple[Rule, ...]:
    """The rules, with these numbers in them."""
    return tuple(replace(rule, reward=rule.reward.format_map(vars(rules))) for rule in RULES)


def credit_row(earned: Credit) -> tuple[str, ...]:
    """What an episode earned, as the cells of `CREDIT_COLUMNS`."""
    episode = earned.episode
    injection = episode.role == "injector" and earned.attempts
    rate = f"{earned.solved}/{earned.attempts}" if injection else ""
    reward = "" if earned.reward is None else f"{earned.reward:+.3f}"
    advantage = "" if earned.reason else f"{earned.advantage:+.3f}"
    outcome = "lost" if episode.lost else episode.outcome
    named = (episode.name, episode.role, episode.group, outcome)
    return (*named, rate, str(episode.tokens), reward, advantage, earned.no_gradient)
