"""The numbers that TRL's formulas give (`GRPOTrainer._compute_loss`, July 2026), worked out by hand for a batch.

Two completions of 3 and 1 tokens, padded to 3, all old log-probabilities -1:

  A, advantage 1:   log ratios 0.5, -0.5, 0.1 -> ratios 1.648721, 0.606531, 1.105171
  B, advantage -2:  log ratio  0.3            -> ratio  1.349859

With epsilon 0.2 and epsilon_high 0.28 the tokens' losses -min(r A, clip(r, 0.8, 1.28) A) are
  A: -1.28, -0.606531, -1.105171, together -2.991702;   B: -min(-2.699718, -2.56) = 2.699718.
"""

import pytest
import torch
from torch import Tensor

from selfplay.rl.loss.corrections import icepop, truncated_by_sequence, truncated_by_token
from selfplay.rl.loss.losses import cispo, ppo
from selfplay.rl.loss.masking import rows
from selfplay.rl.loss.normalise import by_constant, by_sequences, by_tokens, sequence_means, token_sum
from selfplay.rl.loss.ratios import sequence_ratio, token_ratio

OLD = torch.full((2, 3), -1.0)
NEW = OLD + torch.tensor([[0.5, -0.5, 0.1], [0.3, 9.0, 9.0]])  # what stands in the padding is not 0
MASK = torch.tensor([[True, True, True], [True, False, False]])
ADVANTAGES = torch.tensor([[1.0], [-2.0]]).expand(2, 3)
RATIO = token_ratio(NEW, OLD, MASK)
LOSSES = ppo(RATIO, ADVANTAGES, MASK, 0.2, 0.28)


def is_about(found: Tensor, expected: float) -> None:
    assert float(found) == pytest.approx(expected, abs=2e-6)


def test_loss_type_grpo() -> None:
    """(-2.991702 / 3 + 2.699718) / 2 = (-0.997234 + 2.699718) / 2 = 0.851242."""
    is_about(sequence_means(LOSSES, MASK, rows(MASK)) / by_sequences([3, 1]), 0.851242)


def test_loss_types_dapo_and_bnpo() -> None:
    """(-2.991702 + 2.699718) / 4 = -0.072996."""
    is_about(token_sum(LOSSES, MASK) / by_tokens([3, 1]), -0.072996)


def test_loss_type_dr_grpo() -> None:
    """With max_completion_length 10: -0.291984 / (2 * 10) = -0.0145992."""
    is_about(token_sum(LOSSES, MASK) / by_constant(2 * 10), -0.0145992)


def test_loss_type_cispo() -> None:
    """TRL's epsilon_high is the bound itself, here 1.28, ours 0.28 above 1. Log-probabilities -0.5, -1.5, -0.9, -0.7:
    1.28 * 0.5 + 0.606531 * 1.5 + 1.105171 * 0.9 - 1.28 * 2 * 0.7 = 0.64 + 0.909796 + 0.994654 - 1.792 = 0.752450."""
    losses = cispo(RATIO, NEW, ADVANTAGES, MASK, high=0.28)
    is_about(token_sum(losses, MASK) / by_tokens([3, 1]), 0.752450 / 4)


def test_importance_sampling_level_sequence() -> None:
    """GSPO: s_A = e^(0.1 / 3) = 1.033895, s_B = 1.349859; (-1.033895 + 2.699718) / 2 = 0.832911."""
    ratio = sequence_ratio(NEW, OLD, MASK, rows(MASK))
    losses = ppo(ratio, ADVANTAGES, MASK, 0.2, 0.28)
    is_about(sequence_means(losses, MASK, rows(MASK)) / by_sequences([3, 1]), 0.832911)


def test_delta_is_our_dual_clip() -> None:
    """Ratio e = 2.718282, advantage -2, delta 1.5: -min(1.5 * -2, 1.28 * -2) = 3; with advantage 2, where TRL clamps
    too, 1.28 * 2 is the smaller anyway: -2.56."""
    ratio, mask = torch.tensor([2.718282, 2.718282]), torch.ones(2, dtype=torch.bool)
    losses = ppo(ratio, torch.tensor([-2.0, 2.0]), mask, 0.2, 0.28, dual=1.5)
    assert losses.tolist() == pytest.approx([3.0, -2.56])


def test_vllm_importance_sampling_correction() -> None:
    """The engine sampled with log-probabilities that the trainer finds 0.5, -0.5, 0.1 and 0.3 higher. token_truncate at
    1.2: 1.2, 0.606531, 1.105171, 1.2. token_mask in [0.7, 1.3]: only 1.105171. sequence_truncate at 1.2: A e^0.1 =
    1.105171, B 1.2."""
    by_token = truncated_by_token(NEW, OLD, MASK, cap=1.2)
    assert by_token[MASK].tolist() == pytest.approx([1.2, 0.606531, 1.105171, 1.2])
    assert icepop(NEW, OLD, MASK, 0.7, 1.3)[MASK].tolist() == pytest.approx([0.0, 0.0, 1.105171, 0.0])
    by_sequence = truncated_by_sequence(NEW, OLD, MASK, rows(MASK), cap=1.2)
    assert by_sequence[MASK].tolist() == pytest.approx([1.105171] * 3 + [1.2])
    assert (by_token * LOSSES)[1, 1:].tolist() == [0.0, 0.0]
