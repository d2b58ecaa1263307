"""Batched generation with transformers, as a `TokenModel`: for machines without vLLM, on CPU or one GPU.

Requests that wait at the same moment are generated together; those that arrive while a batch runs wait for the next
batch. Slower than vLLM by design: no continuous batching, no prefix cache. Our own logits processor samples, so that
every token's log-probability is that of the distribution it was sampled from.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from selfplay.agent.model import ModelError, Sample, Sampling, TokenModel
from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import load_model, refuse_no_model
from selfplay.policies.option_types import Count, Times
from selfplay.policies.rendezvous import TRAINER, Fact, Rendezvous, shapes_of
from selfplay.policies.role_adapter import Adapted
from selfplay.policies.tokenizer import imported
from selfplay.policies.weights import Shapes, adapters, check_same, shapes

if TYPE_CHECKING:
    from selfplay.policies.broadcast import WeightGroup


@dataclass(frozen=True)
class TransformersOptions:
    """`context` None: the model's own. `batch`: the most requests at once; `device` None: a GPU if available.

    `threads` None: all cores but one, which the sandboxes get; on a busy machine, torch threads that wait for each
    other are ten times slower. `lora_rank`: the rank of the roles' adapters; 0: both roles use one model.
    """

    dtype: str = "auto"
    context: Count | None = None
    batch: Count = 32
    device: str | None = None
    threads: Count | None = None
    lora_rank: Times = 0


@dataclass(frozen=True)
class _Request:
    prompt: tuple[int, ...]
    sampling: Sampling
    stop: tuple[int, ...]
    answer: "asyncio.Future[Sample]"
    role: str


class TransformersModel:
    """A loaded model; used on one event loop, generates in its own thread."""

    def __init__(self, model: Any, name: str, context: int, batch: int, apart: bool = False) -> None:
        """`apart`: each role has its own adapter."""
        self.name, self.context, self.version = name, context, 0
        self._model, self._batch, self._apart = model, batch, apart
        self._adapters: frozenset[str] = frozenset()
        self._group: WeightGroup | None = None
        self._broken = ""
        self._waiting: asyncio.Queue[_Request] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="generate")
        self._worker = asyncio.get_running_loop().create_task(self._serve())

    @classmethod
    async def open(cls, path: str, options: TransformersOptions = TransformersOptions()) -> Self:
        """Load the model. Raises `ModelError`."""
        torch, transformers = imported("torch", "transformers"), imported("transformers", "transformers")
        torch.set_num_threads(options.threads or max(1, (os.cpu_count() or 2) - 1))
        device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            folder = model_folder(path, weights=True)
            refuse_no_model(folder)
            loaded = load_model(transformers.AutoModelForCausalLM.from_pretrained, folder, dtype=options.dtype)
            model = loaded.to(device).eval()
        except Exception as error:  # a folder of others makes the library raise anything
            raise ModelError(
                f"transformers cannot load {path}: {str(error)[:400]}", "Is it a model's folder?"
            ) from error
        model.generation_config = transformers.GenerationConfig()
        context = options.context or model.config.get_text_config().max_position_embeddings
        return cls(model, f"transformers:{path}", context, options.batch, options.lora_rank > 0)

    def for_episode(self, role: str, episode: str) -> TokenModel:
        """The model with this role's adapter, if there is one."""
        return Adapted(self, role) if self._apart else self

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], role: str = "") -> Sample:
        """Tokens after `prompt`, generated in one batch with the role's other waiting requests. Raises
        `ModelError`."""
        if self._broken or self._worker.done():
            raise ModelError(self._broken or f"{self.name} is closed")
        answer: asyncio.Future[Sample] = asyncio.get_running_loop().create_future()
        await self._waiting.put(_Request(tuple(prompt), sampling, tuple(stop), answer, role))
        return await answer

    async def _serve(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            await asyncio.sleep(0.005)  # episodes answered together ask again together
            while len(batch) < self._batch and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            batch = [request for request in batch if not request.answer.done()]
            if not batch:
                continue
            try:
                samples = await asyncio.get_running_loop().run_in_executor(self._thread, self._generate, batch)
            except Exception as error:  # any model error: this batch gets it, later ones are served
                for request in batch:
                    if not request.answer.done():
                        request.answer.set_exception(ModelError(f"{self.name} failed: {str(error)[:300]}"))
                continue
            for request, sample in zip(batch, samples, strict=True):
                if not request.answer.done():
                    request.answer.set_result(sample)

    def _generate(self, batch: Sequence[_Request]) -> list[Sample]:
        """A sample for each request, role by role."""
        found: dict[int, Sample] = {}
        for role in dict.fromkeys(request.role for request in batch):
            mine = [(place, request) for place, request in enumerate(batch) if request.role == role]
            samples = self._generate_as(role, [request for _, request in mine])
            found |= {place: sample for (place, _), sample in zip(mine, samples, strict=True)}
        return [found[place] for place in range(len(batch))]

    def _generate_as(self, role: str, batch: Sequence[_Request]) -> list[Sample]:
        from selfplay.policies.transformers_generation import generate

        if self._broken:
            raise ModelError(self._broken)
        if self._adapters:
            self._model.set_adapter(role)
        rows = generate(
            self._model,
            [request.prompt for request in batch],
            [request.sampling for request in batch],
            [request.stop for request in batch],
            self.context,
            abandoned=lambda: all(request.answer.done() for request in batch),
        )
        return [
            Sample(ids, logprobs, not ids or ids[-1] not in request.stop, request.prompt, (self.version, self.version))
            for request, (ids, logprobs) in zip(batch, rows, strict=True)
        ]

    async def reload(self, folder: str, version: int) -> None:
        """Load the weights (safetensors), or each role's adapter, from `folder` between two batches. Raises
        `ModelError` and changes nothing if the folder does not hold a whole model of this shape."""
        if self._apart:
            await self._changed(partial(self._adapt, adapters(Path(folder))), version)
            return
        check_same(self._shapes(), shapes(Path(folder)), folder)
        await self._changed(partial(self._copy, self._files(Path(folder))), version)

    async def receive(self, meeting: Rendezvous, first: int, facts: Sequence[Fact], version: int) -> None:
        """Like `reload`, with weights that the trainer sends to the group of `meeting`, where this model has rank
        `first`. Raises `ModelError`; a model that received only a part refuses all further requests."""
        check_same(self._shapes(), shapes_of(facts), TRAINER)
        await self._changed(partial(self._copy, self._sent(meeting, first, facts)), version)

    async def _changed(self, change: Callable[[], None], version: int) -> None:
        """Change the weights, in the thread that samples."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._take, change, version)
        except BaseException as error:
            self._broken = f"{self.name}: new weights cannot be loaded: {str(error)[:300]}"
            if isinstance(error, Exception):
                raise ModelError(self._broken) from error
            raise

    def _shapes(self) -> Shapes:
        return {name: tuple(value.shape) for name, value in self._stored().items()}

    def _stored(self) -> dict[str, Any]:
        """The model's tensors as stored in a folder, where a tied head and its embedding are one tensor."""
        named = (self._model.named_parameters(), self._model.named_buffers())
        once = {name for found in named for name, _ in found}
        return {name: value for name, value in self._model.state_dict().items() if name in once}

    def _files(self, folder: Path) -> Iterator[tuple[str, Any]]:
        safetensors = imported("safetensors.torch", "transformers")
        for file in sorted(folder.glob("*.safetensors")):
            yield from safetensors.load_file(file).items()

    def _sent(self, meeting: Rendezvous, rank: int, facts: Sequence[Fact]) -> Iterator[tuple[str, Any]]:
        from selfplay.policies.broadcast import joined

        self._group = joined(self._group, meeting, rank, self._model.device)
        yield from self._group.received(facts)

    def _take(self, change: Callable[[], None], version: int) -> None:
        change()
        self.version = version

    def _copy(self, coming: Iterator[tuple[str, Any]]) -> None:
        own = self._stored()
        for name, value in coming:
            if name in own:
                own[name].copy_(value)

    def _adapt(self, found: Mapping[str, Path]) -> None:
        for role, folder in found.items():
            if role in self._adapters:
                self._model.delete_adapter(role)
            self._model.load_adapter(str(folder), adapter_name=role)
            self._adapters |= {role}

    async def close(self) -> None:
        """Free the model."""
        self._worker.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)
