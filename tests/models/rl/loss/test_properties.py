"""What must hold for every loss, every normalisation and any batch."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.rl.loss.batches import (
    LOSSES,
    NORMALISATIONS,
    Batch,
    Episode,
    episodes,
    loss_and_gradient,
    packed,
    padded,
    totals,
)
from torch import Tensor

patient = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
JUNK = [math.nan, math.inf, -math.inf, 1e300, 0.0, -5.0]
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_normalisation = pytest.mark.parametrize("normalisation", NORMALISATIONS)


def agree(found: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-9)


def with_junk(batch: Batch, junk: float) -> Batch:
    """The batch with something else wherever the mask is False."""
    names = ("new", "old", "advantages")
    return replace(batch, **{name: torch.where(batch.mask, getattr(batch, name), junk) for name in names})


@every_normalisation
@every_loss
@given(found=episodes, junk=st.sampled_from(JUNK))
@patient
def test_what_stands_outside_the_mask_never_matters(
    loss: str, normalisation: str, found: list[Episode], junk: float
) -> None:
    """Neither to the loss nor to the gradient, which is 0 there; nor does a NaN or an infinity leak."""
    batch = packed(found)
    before = loss_and_gradient(batch, loss, normalisation, totals(batch))
    after = loss_and_gradient(with_junk(batch, junk), loss, normalisation, totals(batch))
    agree(after, before)
    assert after[0].isfinite() and after[1].isfinite().all()
    assert not after[1][~batch.mask].any()


@every_normalisation
@every_loss
@given(found=episodes, filler=st.sampled_from(JUNK))
@patient
def test_packing_never_matters(loss: str, normalisation: str, found: list[Episode], filler: float) -> None:
    tight, loose = packed(found), padded(found, filler)
    expected, gradient = loss_and_gradient(tight, loss, normalisation, totals(tight))
    total, lined = loss_and_gradient(loose, loss, normalisation, totals(loose))
    kept = [lined[row, : len(tokens)] for row, (tokens, _) in enumerate(found)]
    agree((total, torch.cat(kept)), (expected, gradient))


@every_normalisation
@every_loss
@given(found=episodes, data=st.data())
@patient
def test_uneven_micro_batches_add_up_to_the_whole_batch(
    loss: str, normalisation: str, found: list[Episode], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(found)))
    whole = totals(packed(found))
    parts = [loss_and_gradient(packed(part), loss, normalisation, whole) for part in (found[:cut], found[cut:]) if part]
    together = torch.stack([total for total, _ in parts]).sum(), torch.cat([gradient for _, gradient in parts])
    agree(together, loss_and_gradient(packed(found), loss, normalisation, whole))


@every_loss
@given(found=episodes, data=st.data())
@patient
def test_the_order_of_episodes_never_matters(loss: str, found: list[Episode], data: st.DataObject) -> None:
    mixed = data.draw(st.permutations(found))
    before = loss_and_gradient(packed(found), loss, "sequences", totals(packed(found)))
    after = loss_and_gradient(packed(mixed), loss, "sequences", totals(packed(mixed)))
    agree((after[0], after[1].sort().values), (before[0], before[1].sort().values))


@every_loss
def test_a_nan_inside_the_mask_is_seen(loss: str) -> None:
    """It is the trainer's to refuse the step, so it must not be hidden."""
    batch = packed([([(math.nan, -1.0, True), (-1.0, -1.0, True)], 1.0)])
    assert loss_and_gradient(batch, loss, "constant", totals(batch))[0].isnan()
