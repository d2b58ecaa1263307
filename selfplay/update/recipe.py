"""Every choice of an update, as one typed value. Plain numbers: no tensor library.

The defaults are CWM's (arXiv 2510.02387), which SSR uses: length-weighted baselines without deviation, PPO clipped at
0.2 and 0.25 against the engine's log-probabilities, a sum over tokens divided by 131,072, no KL.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator

from selfplay.formatting import listed
from selfplay.options import not_finite, read_options
from selfplay.rl.credit import advantages, rewards
from selfplay.rl.credit.filters import FILTERS, Filter, gibberish, stale
from selfplay.rl.credit.rules import CreditRules
from selfplay.train.packing import TooLong
from selfplay.update.errors import LearningError

Estimator = Literal["length_weighted", "centred", "standardised", "leave_one_out", "maximum_likelihood", "raft"]
ESTIMATORS: Mapping[Estimator, advantages.Estimator] = {
    "length_weighted": advantages.length_weighted,
    "centred": advantages.unweighted(advantages.centred),
    "standardised": advantages.unweighted(advantages.standardised),
    "leave_one_out": advantages.unweighted(advantages.leave_one_out),
    "maximum_likelihood": advantages.unweighted(advantages.maximum_likelihood),
    "raft": advantages.unweighted(advantages.raft),
}
FROM_ZERO: tuple[Estimator, ...] = ("maximum_likelihood", "raft")
"""Estimators for rewards of at least 0."""


@dataclass(frozen=True)
class ValidBug:
    """How a valid bug is rewarded. `least`: a bound of its rewards from below; `needs_attempts`: whether they depend on
    the solver."""

    reward: rewards.ValidBugReward
    least: float
    needs_attempts: bool = True


VALID: Mapping[str, ValidBug] = {
    "ssr": ValidBug(rewards.ssr, -1.0),
    "consistency": ValidBug(rewards.consistency, 1.0, needs_attempts=False),
    "absolute_zero": ValidBug(rewards.absolute_zero, 0.0),
    "beta": ValidBug(rewards.beta, 0.0),
}
CLIPS = {"ppo": (0.2, 0.25), "gspo": (3e-4, 4e-4), "cispo": (1.0, 0.2)}
"""Loss -> how far its ratio may be below and above 1: CWM's bounds, and those of the GSPO and CISPO papers."""
CAPS = {"none": 0.0, "token": 2.0, "sequence": 2.0, "icepop": 5.0}
GIBBERISH = "gibberish"
NAMES = (*FILTERS, GIBBERISH)


def _names(value: object) -> object:
    """Splits `stale,truncated` into names; an empty text has none."""
    return tuple(name for name in value.split(",") if name) if isinstance(value, str) else value


@dataclass(frozen=True)
class Recipe:
    """`*_advantages`: each role's estimator. `valid` to `cheated`: rewards (`docs/credit.md`). `length_penalty`: what
    an episode of `length_longest` sampled tokens or more loses of its reward (0: no penalty); one of at most
    `length_free` loses nothing, between them it is a straight line. `shuffled`: shuffle rewards within each group, as a
    control experiment. `malformed`: whether malformed answers are trained on: like all tokens (`train`), only if the
    episode was worse than its group (`punish`), or never (`mask`). `filters`: their names; `stale_after`: in versions;
    `rare`: the lowest id that counts as rare for gibberish.

    `loss`: PPO by token, GSPO (by sequence), CISPO. `clip_low`, `clip_high`: None for the loss's own; `dual`: PPO's
    second bound. `correction`: trainer over engine, at most `cap` (None for its default), for IcePop at least `floor`.
    Without one the ratio is the trainer's over the engine's; with one it is the trainer's over its own before the step.
    `normalisation`: the sum over tokens divided by `constant`, by the tokens, or by sequences. `injector_share`: the
    injector's share of an update (`rl.credit.role_shares`); None: as its tokens have it.

    `lr` to `lora_alpha`: options of the step (`train.step.StepOptions`, `train.model.ModelOptions`). `warmup`: updates
    until `lr` is reached. `keep_attention` False: only a layer's input is kept for backward; `offload`: in main memory.
    `lora_rank` 0: all weights are trained; `lora_alpha` 0: twice the rank.
    """

    injector_advantages: Estimator = "length_weighted"
    solver_advantages: Estimator = "length_weighted"
    valid: Literal["ssr", "consistency", "absolute_zero", "beta"] = "ssr"
    invalid: float = rewards.INVALID
    duplicate: float = rewards.DUPLICATE
    failed: float = rewards.FAILED
    cheated: float = rewards.CHEATED
    length_penalty: float = 0.0
    length_free: int = 0
    length_longest: int = 0
    shuffled: bool = False
    malformed: Literal["train", "punish", "mask"] = "train"
    filters: Annotated[tuple[str, ...], BeforeValidator(_names)] = ("stale", GIBBERISH)
    stale_after: int = 8
    rare: int = 100_000
    loss: Literal["ppo", "gspo", "cispo"] = "ppo"
    clip_low: float | None = None
    clip_high: float | None = None
    dual: float | None = None
    correction: Literal["none", "token", "sequence", "icepop"] = "none"
    cap: float | None = None
    floor: float = 0.5
    normalisation: Literal["constant", "tokens", "sequences"] = "constant"
    constant: float = 131_072.0
    injector_share: float | None = None
    lr: float = 1e-6
    warmup: int = 0
    clip: float = 1.0
    weight_decay: float = 0.0
    budget: int = 8192
    too_long: TooLong = "refuse"
    precision: Literal["fp32", "bf16"] = "bf16"
    keep_activations: bool = False
    keep_attention: bool = True
    offload: bool = False
    lora_rank: int = 0
    lora_alpha: float = 0.0

    def __post_init__(self) -> None:
        strange = [name for name in self.filters if name not in NAMES]
        endless = not_finite(self)
        for wrong, why in (
            (endless, f"{listed(endless)}: a finite number is needed"),
            (strange, f"there is no filter {strange[0] if strange else ''!r}; there are {', '.join(NAMES)}"),
            (self.length_penalty < 0, "length_penalty is taken from a reward: it is at least 0"),
            (
                self.length_penalty > 0 and not 0 <= self.length_free < self.length_longest,
                "length_penalty needs 0 <= length_free < length_longest, numbers of tokens",
            ),
            (
                self.length_penalty == 0 and bool(self.length_free or self.length_longest),
                "length_free and length_longest need a length_penalty above 0",
            ),
            (self.dual is not None and self.loss != "ppo", f"dual bounds the loss ppo, not {self.loss}"),
            (self.dual is not None and self.dual <= 1, "dual is a bound above 1"),
            (not 0 <= self.bounds[0] <= 1 or self.bounds[1] < 0, "clip_low lies in 0 to 1, clip_high is at least 0"),
            (self.cap is not None and self.correction == "none", "cap needs a correction: token, sequence or icepop"),
            (self.correction != "none" and not 0 < self.floor <= self.most, "floor lies above 0 and at most at cap"),
            (
                self.constant <= 0 or self.lr < 0 or self.budget < 2,
                "constant above 0, lr at least 0, budget at least 2",
            ),
            (
                self.injector_share is not None and not 0 < self.injector_share < 1,
                "injector_share lies between 0 and 1; to train one role alone, play no groups of the other",
            ),
            (self.clip <= 0 or self.weight_decay < 0, "clip lies above 0, weight_decay is at least 0"),
            (self.stale_after < 0 or self.rare < 0, "stale_after and rare are at least 0"),
            (self.warmup < 0, "warmup is a number of updates, at least 0"),
            (self.lora_rank < 0 or self.lora_alpha < 0, "lora_rank and lora_alpha are at least 0"),
            (self.lora_alpha > 0 and self.lora_rank == 0, "lora_alpha needs a lora_rank"),
            (
                self.keep_activations and not self.keep_attention,
                "keep_activations keeps everything, keep_attention=false least: choose one",
            ),
            (self.offload and self.keep_attention, "offload is for layers' inputs alone: keep_attention=false"),
            (
                bool(self._negative),
                f"{self._negative} takes rewards of at least 0: let failures earn 0, no length_penalty",
            ),
        ):
            if wrong:
                raise LearningError(f"an impossible recipe: {why}")

    @property
    def bounds(self) -> tuple[float, float]:
        """How far the loss's ratio may be below and above 1."""
        low, high = CLIPS[self.loss]
        return (low if self.clip_low is None else self.clip_low, high if self.clip_high is None else self.clip_high)

    @property
    def most(self) -> float:
        """The largest weight that a correction may give to a token."""
        return CAPS[self.correction] if self.cap is None else self.cap

    @property
    def _negative(self) -> str:
        """The estimator that takes no negative reward and is chosen for a role that has some; empty if none is."""
        solver = min(self.failed, self.cheated, rewards.RESOLVED) < self.length_penalty
        injector = min(self.invalid, self.duplicate, VALID[self.valid].least) < self.length_penalty
        chosen = self.solver_advantages, self.injector_advantages
        found = (one for low, one in zip((solver, injector), chosen, strict=True) if low and one in FROM_ZERO)
        return next(found, "")

    @property
    def _length_penalty(self) -> Callable[[int], float] | None:
        if self.length_penalty == 0:
            return None
        free, longest = self.length_free, self.length_longest
        return partial(rewards.length_penalty, free=free, longest=longest, most=self.length_penalty)

    def rules(self, attempts: int = 0) -> CreditRules:
        """The rules of credit with the recipe's numbers; `attempts`: planned for each bug."""
        valid = VALID[self.valid]
        return CreditRules(
            attempts,
            valid.reward,
            needs_attempts=valid.needs_attempts,
            invalid=self.invalid,
            duplicate=self.duplicate,
            failed=self.failed,
            cheated=self.cheated,
            length_penalty=self._length_penalty,
            shuffled=self.shuffled,
            injector_advantages=ESTIMATORS[self.injector_advantages],
            solver_advantages=ESTIMATORS[self.solver_advantages],
        )

    def chosen_filters(self, vocabulary: int | None = None) -> dict[str, Filter]:
        """The recipe's filters by name. The gibberish filter needs the model's vocabulary size."""
        found = {name: FILTERS[name] for name in self.filters if name != GIBBERISH}
        if "stale" in found:
            found["stale"] = partial(stale, most=self.stale_after)
        if GIBBERISH in self.filters and vocabulary is not None:
            found[GIBBERISH] = partial(gibberish, vocabulary=vocabulary, rare=self.rare)
        return found


def recipe_of(options: Mapping[str, str]) -> Recipe:
    """The recipe with these choices, by name. Raises `LearningError`."""
    (recipe,) = read_options(options, Recipe, refusal=LearningError)
    assert isinstance(recipe, Recipe)
    return recipe
