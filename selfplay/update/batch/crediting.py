"""Credits the played episodes of one batch: the rules of credit (`docs/credit.md`), then the recipe's filters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from selfplay.rl.credit.filters import Filter, Sampled, taken_by
from selfplay.rl.credit.rules import Credit, credit
from selfplay.update.batch.played import Played
from selfplay.update.errors import LearningError
from selfplay.update.recipe import GIBBERISH, Recipe

TOO_LONG = "longer than the budget"


@dataclass(frozen=True)
class Credited:
    """A played episode with its credit. `behind`: how many versions of the policy its oldest token lacks."""

    played: Played
    credit: Credit
    behind: int

    @property
    def teaches(self) -> bool:
        """Whether it gives a gradient."""
        return not self.credit.no_gradient


def credited(
    episodes: Sequence[Played],
    recipe: Recipe,
    attempts: int = 0,
    version: int | None = None,
    vocabulary: int | None = None,
) -> list[Credited]:
    """The credit of each episode, in their order. `attempts`: planned for each bug. `version`: of the policy to train;
    None for the newest that sampled. `vocabulary`: its size; without it the gibberish filter is off.

    Raises `LearningError` for episodes that break an invariant of credit, such as a group with two prompts."""
    masked = [_counted(one, recipe) for one in episodes]
    try:
        found = credit([one.episode for one in masked], recipe.rules(attempts))
        now = max((one.newest for one in masked), default=0) if version is None else version
        filters = recipe.chosen_filters(vocabulary)
        return [
            Credited(one, replace(earned, taken_by=_taken_by(one, earned, filters, behind, recipe)), behind)
            for one, earned in zip(masked, found, strict=True)
            for behind in (now - one.oldest,)
        ]
    except ValueError as error:
        raise LearningError(
            f"these episodes cannot be credited together: {error}", "Was the run resumed by another version?"
        ) from error


def _counted(one: Played, recipe: Recipe) -> Played:
    """The episode with the number of tokens that can be trained on."""
    if recipe.malformed != "mask" or not one.answers:
        return one
    tokens = sum(answer.tokens for answer in one.answers if not answer.malformed)
    return replace(one, episode=replace(one.episode, tokens=tokens))


def _taken_by(one: Played, earned: Credit, filters: dict[str, Filter], behind: int, recipe: Recipe) -> str:
    """The name of the filter that drops it; empty if it is trained on or has no gradient anyway."""
    if earned.reason is not None:
        return ""
    if recipe.too_long == "leave-out" and max(len(segment.ids) for segment in one.segments) > recipe.budget:
        return TOO_LONG
    sampled = Sampled(earned.advantage, behind, one.finish)
    if GIBBERISH in filters:
        ids, logprobs = zip(*_sampled(one), strict=True)
        sampled = replace(sampled, ids=ids, logprobs=logprobs)
    return taken_by(sampled, filters) or ""


def _sampled(one: Played) -> list[tuple[int, float]]:
    """The sampled tokens, each with its log-probability."""
    pairs: list[tuple[int, float]] = []
    for answer in one.answers:
        segment, part = one.segments[answer.segment], slice(answer.start, answer.end)
        pairs += zip(segment.ids[part], segment.logprobs[part], strict=True)
    return pairs
