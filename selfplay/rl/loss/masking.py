"""Values outside the mask never matter, and every token knows its sequence.

0 times NaN is NaN, and so is 0 times infinity in a backward pass: multiplying by a mask after the fact lets padding
leak. So values outside the mask are replaced *before* anything is computed from them.

`sequence`: an integer tensor of the mask's shape that numbers the sequences of a batch from 0, so that packed and
padded batches are one case.
"""

import torch
from torch import Tensor


def inside(values: Tensor, mask: Tensor) -> Tensor:
    """`values` where the mask is True, 0 elsewhere; likewise their gradient.

    Raises `ValueError` for a mask of another shape, or one that is not boolean.
    """
    if values.shape != mask.shape or mask.dtype != torch.bool:
        shapes = f"{tuple(values.shape)} and {tuple(mask.shape)}"
        raise ValueError(
            f"values and mask must have one shape, not {shapes}, and the mask be boolean, not {mask.dtype}"
        )
    return torch.where(mask, values, torch.zeros((), dtype=values.dtype, device=values.device))


def rows(mask: Tensor) -> Tensor:
    """The `sequence` of a padded batch `[sequences, length]`: each row is one."""
    return torch.arange(mask.shape[0], device=mask.device).unsqueeze(1).expand_as(mask)


def per_sequence(values: Tensor, mask: Tensor, sequence: Tensor) -> Tensor:
    """The sum of each sequence's values inside the mask, `[highest number + 1]`. Raises `ValueError` for shapes that
    differ."""
    if sequence.shape != mask.shape:
        raise ValueError(f"sequence numbers of shape {tuple(sequence.shape)}, not {tuple(mask.shape)}")
    kept = inside(values, mask).reshape(-1)
    count = int(sequence.max()) + 1 if sequence.numel() else 0
    return kept.new_zeros(count).index_add(0, sequence.reshape(-1), kept)


def lengths(mask: Tensor, sequence: Tensor) -> Tensor:
    """How many tokens of each sequence are inside the mask, `[highest number + 1]`, as floats."""
    return per_sequence(torch.ones_like(mask, dtype=torch.float32), mask, sequence)
