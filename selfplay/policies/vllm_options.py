"""How vLLM is started: the options of `--policy vllm:MODEL`, and what it takes from the environment."""

import os
from dataclasses import dataclass

from selfplay.policies.option_types import Count, Share
from selfplay.policies.vllm_adapters import Rank
from selfplay.subprocesses import safe_path

FEW_CORES = 4
"""On so few, no core is kept free for vLLM's scheduler on a CPU, which mostly waits: of two, that is half the speed."""


@dataclass(frozen=True)
class VllmOptions:
    """How the engine is started. `context` None: the model's own. `memory`: the share of GPU memory it takes;
    `cache_gb`: the size of the cache on CPU. `eager`: no CUDA graphs, which are slow to start and only matter on GPUs;
    None: on CPU only. `engine_seed`: the seed of the engine; on CPU the only seed, since requests cannot have their own
    there. `chunk`: how many prompt tokens are computed at once, at least as many as `most_sequences`; None: vLLM's
    default. `lora_rank`: the rank of the roles' adapters; 0: both roles use one model.
    """

    dtype: str = "auto"
    context: Count | None = None
    tensor_parallel: Count = 1
    memory: Share = 0.9
    cache_gb: Count = 2
    eager: bool | None = None
    engine_seed: int = 0
    most_sequences: Count = 256
    chunk: Count | None = None
    lora_rank: Rank = 0


def set_environment(options: VllmOptions) -> None:
    """What vLLM takes from the environment, where the user did not set it."""
    safe_path()
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(options.cache_gb))
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # its warnings concern its own set-up
    if len(os.sched_getaffinity(0)) <= FEW_CORES:
        os.environ.setdefault("VLLM_CPU_NUM_OF_RESERVED_CPU", "0")
