"""A batch of credited episodes in figures, and the error for a batch without gradient. Plain numbers."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from selfplay.formatting import tally
from selfplay.rl.credit.rules import untrained
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.examples import ROLES
from selfplay.update.batch.figures import RoleFigures, SecondsSpent
from selfplay.update.errors import NothingToLearn


def require_gradient(rollouts: Sequence[Credited]) -> None:
    """Raises `NothingToLearn`, with the reasons, if no episode gives a gradient."""
    if not any(one.teaches for one in rollouts):
        taken = tally(untrained(one.credit for one in rollouts))
        raise NothingToLearn(
            f"no episode teaches anything ({taken or 'there is none'})",
            "A group teaches when its members earned different rewards: play more attempts at each bug, and injector "
            "episodes in groups (curriculum --group). `--dry-run` shows each episode.",
        )


def rollout_figures(rollouts: Sequence[Credited]) -> dict[str, RoleFigures]:
    """Figures by role: number of episodes, rewards, how many give a gradient and why others do not, ages of versions;
    for injections the failed checks and the diversity, for attempts the groups by solve rate."""
    by_role = _by_role(rollouts)
    found = {role: _of_role(mine) for role, mine in by_role.items()}
    if "injector" in found:
        made = by_role["injector"]
        found["injector"]["checks"] = failed_checks(made)
        found["injector"]["diversity"] = diversity(made)
    if "solver" in found:
        found["solver"]["groups"] = solve_rates(by_role["solver"])
    return found


def failed_checks(injections: Sequence[Credited]) -> dict[str, int]:
    """How many artifacts failed at each check; an invalid injection without a failed check submitted nothing."""
    failed = [one for one in injections if not one.played.episode.lost and one.played.episode.outcome == "invalid"]
    return dict(Counter(one.played.check or "nothing handed in" for one in failed))


def diversity(injections: Sequence[Credited]) -> float | None:
    """The share of bugs that are unlike earlier ones of the step (a duplicate never is). None without a bug."""
    made = [one for one in injections if not one.played.episode.lost and one.played.episode.outcome != "invalid"]
    unlike = {one.played.alike for one in made if one.played.episode.outcome == "valid"}
    return len(unlike) / len(made) if made else None


def solve_rates(attempts: Sequence[Credited]) -> dict[str, int]:
    """Solve rate as `3/8` (resolved of counted attempts) -> number of groups."""
    groups = {(one.played.episode.bug, one.played.episode.order): one.credit for one in attempts}
    rates = Counter((one.attempts, one.solved) for one in groups.values() if one.attempts)
    return {f"{solved}/{of}": rates[of, solved] for of, solved in sorted(rates)}


def _of_role(rollouts: Sequence[Credited]) -> RoleFigures:
    rewards = [one.credit.reward for one in rollouts if one.credit.reward is not None]
    taught = [one for one in rollouts if one.teaches]
    return {
        "episodes": len(rollouts),
        "trained_on": len(taught),
        "without_a_gradient": untrained(one.credit for one in rollouts),
        "outcomes": dict(Counter(str(one.played.episode.outcome) for one in rollouts if not one.played.episode.lost)),
        "reward": {"mean": fmean(rewards), "min": min(rewards), "max": max(rewards)} if rewards else None,
        "tokens": sum(one.played.episode.tokens for one in rollouts),
        "tokens_trained_on": sum(one.played.episode.tokens for one in taught),
        "versions_behind": dict(Counter(str(one.behind) for one in taught)),
    }


def spent_by_role(rollouts: Sequence[Credited]) -> dict[str, SecondsSpent]:
    """The seconds of each role's episodes, added up; those of episodes whose times are unknown are left out."""
    return {role: _spent(mine) for role, mine in _by_role(rollouts).items()}


def _by_role(rollouts: Sequence[Credited]) -> dict[str, list[Credited]]:
    """The episodes of each role that has some."""
    by_role = {role: [one for one in rollouts if one.played.episode.role == role] for role in ROLES}
    return {role: mine for role, mine in by_role.items() if mine}


def _spent(rollouts: Sequence[Credited]) -> SecondsSpent:
    known = [one.played.spent for one in rollouts if one.played.spent is not None]
    return {
        "generation": sum(one["generation"] for one in known),
        "tools": sum(one["tools"] for one in known),
        "judging": sum(one["judging"] for one in known),
        "rest": sum(one["rest"] for one in known),
    }
