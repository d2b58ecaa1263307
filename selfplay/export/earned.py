"""What the episode of each lesson earned: as `selfplay credit` reckons it, by the rules of `docs/credit.md`."""

from selfplay.curriculum import Curriculum
from selfplay.curriculum.crediting import episodes_of, recorded
from selfplay.curriculum.stored import demonstration_of
from selfplay.learning.crediting import credited
from selfplay.learning.played import untaped
from selfplay.learning.recipe import Recipe
from selfplay.rl.credit import Rules

Rewards = dict[str, float | None]


def rewards_of(pool: Curriculum) -> Rewards:
    """The name of a trajectory's file -> its reward, None where the rules give it none.

    A demonstration of an injection earns what the bug does, one of a repair what a resolved attempt does. An injection
    is paid by the attempts of the policy that planted it; without one of those its reward is not known."""
    planted = pool.setting("policy", str, "scripted")
    found: Rewards = {}
    for policy in {attempt.policy for attempt in pool.attempts.all(diffs=False)}:
        found |= _earned(pool, policy, injections=policy == planted)
    for record in pool.episodes.with_bugs():
        assert record.bug is not None
        found[demonstration_of(pool.folder, record.bug.id, "injector").name] = found.get(record.trajectory)
        found[demonstration_of(pool.folder, record.bug.id, "solver").name] = Rules().resolved
    return found


def _earned(pool: Curriculum, policy: str, injections: bool) -> Rewards:
    """Of the attempts of a policy, and of the injections where it planted them."""
    stored = episodes_of(pool.folder, policy)
    episodes = [untaped(one.episode, one.finish) for one in stored]
    credits = credited(episodes, Recipe(), recorded(pool.folder, policy).attempts)
    return {
        one.trajectory: earned.credit.reward
        for one, earned in zip(stored, credits, strict=True)
        if injections or one.episode.role == "solver"
    }
