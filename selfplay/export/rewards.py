"""The reward of each lesson's episode, as in `selfplay credit` (`docs/credit.md`)."""

from collections.abc import Iterator

from selfplay.curriculum import Curriculum
from selfplay.curriculum.crediting import episodes_of, recorded
from selfplay.curriculum.stored_bugs import demonstration_of
from selfplay.rl.credit.rules import CreditRules
from selfplay.update.batch.crediting import credited
from selfplay.update.batch.played import untaped
from selfplay.update.recipe import Recipe

Rewards = dict[str, float | None]


def rewards_of(pool: Curriculum) -> Rewards:
    """The name of a trajectory's file -> its reward, or None if the rules give none.

    A demonstration of an injection earns what the bug does, one of a repair what a resolved attempt does. An
    injection's reward comes from the attempts of the policy that planted it, and is unknown without them."""
    planted = pool.setting("policy", str, "scripted")
    found: Rewards = {
        demonstration_of(pool.folder, bug.id, "solver").name: CreditRules().resolved for bug in pool.bugs()
    }
    for policy in {attempt.policy for attempt in pool.attempts.all(diffs=False)}:
        found.update(_earned(pool, policy, injections=policy == planted))
    return found


def _earned(pool: Curriculum, policy: str, injections: bool) -> Iterator[tuple[str, float | None]]:
    """The rewards of a policy's attempts and, if `injections`, of its injections."""
    stored = episodes_of(pool.folder, policy)
    episodes = [untaped(one.episode, one.finish) for one in stored]
    credits = credited(episodes, Recipe(), recorded(pool.folder, policy).attempts)
    for one, earned in zip(stored, credits, strict=True):
        if one.episode.role == "solver" or injections:
            yield one.trajectory, earned.credit.reward
        if one.episode.role == "injector" and one.episode.bug and injections:
            yield demonstration_of(pool.folder, one.episode.bug, "injector").name, earned.credit.reward
