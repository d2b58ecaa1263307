"""One batch of generation with transformers: prompts of any lengths, each with its own sampling, stops and limit."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from selfplay.agent.model import Sampling

Row = tuple[tuple[int, ...], tuple[float, ...]]


class _Draw(LogitsProcessor):
    """Applies each row's sampling settings to its logits, draws the token, and forces `generate` to take it."""

    def __init__(self, samplings: Sequence[Sampling], device: torch.device) -> None:
        self.temperatures = torch.tensor([s.temperature for s in samplings], device=device).unsqueeze(1)
        self.top_ps = torch.tensor([s.top_p for s in samplings], device=device).unsqueeze(1)
        self.drawn: list[torch.Tensor] = []
        self.logprobs: list[torch.Tensor] = []
        self.generators = [_generator(s.seed, device) for s in samplings]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        logits = scores.float() / torch.where(self.temperatures == 0, 1.0, self.temperatures)
        logprobs = torch.log_softmax(_nucleus(logits, self.top_ps), dim=-1)
        token = torch.where(self.temperatures == 0, logits.argmax(-1, keepdim=True), self._multinomial(logprobs.exp()))
        self.drawn.append(token.squeeze(1))
        self.logprobs.append(logprobs.gather(1, token).squeeze(1))
        return torch.full_like(scores, float("-inf")).scatter(1, token, 0.0)

    def _multinomial(self, probabilities: torch.Tensor) -> torch.Tensor:
        if not any(self.generators):
            return torch.multinomial(probabilities, 1)
        rows = zip(probabilities, self.generators, strict=True)
        return torch.stack([torch.multinomial(row, 1, generator=generator) for row, generator in rows])


class _RowEnds(StoppingCriteria):
    """A row ends at one of its stops or at its limit; all rows end once no caller waits."""

    def __init__(
        self,
        width: int,
        stops: Sequence[Sequence[int]],
        limits: Sequence[int],
        device: torch.device,
        abandoned: Callable[[], bool],
    ) -> None:
        self.width, self.stops, self.abandoned = width, stops, abandoned
        self.limits = torch.tensor(list(limits), device=device)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        last, gone = input_ids[:, -1].tolist(), self.abandoned()
        stopped = [gone or token in stops for token, stops in zip(last, self.stops, strict=True)]
        return torch.tensor(stopped, device=input_ids.device) | (input_ids.shape[1] - self.width >= self.limits)


def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    samplings: Sequence[Sampling],
    stops: Sequence[Sequence[int]],
    context: int,
    abandoned: Callable[[], bool] = lambda: False,
) -> list[Row]:
    """For each prompt the sampled ids, up to and including a stop, and their log-probabilities. Padded on the left.

    The model must have no generation settings of its own: a repetition penalty would change the sampled distribution.
    """
    device, width = model.device, max(len(prompt) for prompt in prompts)
    limits = [min(s.max_tokens or context, context - len(prompt)) for s, prompt in zip(samplings, prompts, strict=True)]
    ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=device)
    draw = _Draw(samplings, device)
    with torch.inference_mode():
        model.generate(
            ids,
            attention_mask=mask,
            generation_config=GenerationConfig(do_sample=False, max_new_tokens=max(limits), pad_token_id=0),
            logits_processor=LogitsProcessorList([draw]),
            stopping_criteria=StoppingCriteriaList([_RowEnds(width, stops, limits, device, abandoned)]),
        )  # fmt: skip
    drawn = torch.stack(draw.drawn, dim=1).tolist()
    logprobs = torch.stack(draw.logprobs, dim=1).tolist()
    return [
        _until_end(row, values, set(stop), limit)
        for row, values, stop, limit in zip(drawn, logprobs, stops, limits, strict=True)
    ]


def _until_end(ids: list[int], logprobs: list[float], stops: set[int], limit: int) -> Row:
    """What a row sampled before it ended: the batch continues until its last row has ended."""
    end = next((at + 1 for at, token in enumerate(ids[:limit]) if token in stops), min(limit, len(ids)))
    return tuple(ids[:end]), tuple(logprobs[:end])


def _nucleus(logits: torch.Tensor, top_ps: torch.Tensor) -> torch.Tensor:
    """The logits, with everything outside each row's `top_p` removed."""
    if bool((top_ps >= 1).all()):
        return logits
    ordered, places = logits.sort(dim=-1, descending=True)
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    return torch.full_like(logits, float("-inf")).scatter(
        1, places, ordered.masked_fill(before >= top_ps, float("-inf"))
    )


def _generator(seed: int | None, device: torch.device) -> torch.Generator | None:
    return None if seed is None else torch.Generator(device).manual_seed(seed)
