"""The sizes of a causal language model with gated MLPs and grouped queries (Llama, Qwen, SmolLM and their like)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.loop.errors import TrainingError


class PlanError(TrainingError):
    """A run that cannot be planned, or that is impossible with its model."""


@dataclass(frozen=True)
class ModelShape:
    """`inner`: width of the MLP; `head`: size of one attention head; `window`: of attention, None without one; `tied`:
    the output head is the embedding; `biases`, `norms`: a layer's parameters besides its matrices."""

    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    context: int
    tied: bool = False
    biases: int = 0
    norms: int = 0
    window: int | None = None

    @property
    def queries(self) -> int:
        """Width of all queries together, and of attention's output."""
        return self.heads * self.head

    @property
    def keys(self) -> int:
        """Width of all keys together, and of all values."""
        return self.kv_heads * self.head

    @property
    def products(self) -> dict[str, tuple[int, int]]:
        """The weight matrices of a layer: name -> (inputs, outputs)."""
        hidden, inner = self.hidden, self.inner
        return {
            "q_proj": (hidden, self.queries), "k_proj": (hidden, self.keys), "v_proj": (hidden, self.keys),
            "o_proj": (self.queries, hidden), "gate_proj": (hidden, inner), "up_proj": (hidden, inner),
            "down_proj": (inner, hidden),
        }  # fmt: skip

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        return sum(into * out for into, out in self.products.values()) + self.biases + self.norms

    @property
    def outside(self) -> int:
        """Parameters outside the layers: embedding, output head, last norm."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2) + self.hidden

    @property
    def parameters(self) -> int:
        return self.layers * self.layer + self.outside

    def adapters(self, rank: int) -> int:
        """Parameters of LoRA adapters on every weight matrix."""
        return self.layers * sum(rank * (into + out) for into, out in self.products.values())


def shape_of(settings: Mapping[str, Any], model: str) -> ModelShape:
    """The sizes in a model's config.json. Raises `PlanError` for a model of another kind."""
    inside = settings.get("text_config")
    found = inside if isinstance(inside, Mapping) else settings
    if any(name in found for name in ("num_experts", "num_local_experts", "n_routed_experts")):
        raise PlanError(f"{model} is a mixture of experts", "Only dense models can be planned and trained.")
    layers, hidden, inner, heads, vocabulary, context = (
        _size(found, name, model)
        for name in ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size",
                     "max_position_embeddings")
    )  # fmt: skip
    kv_heads = _size(found, "num_key_value_heads", model, heads)
    head = _size(found, "head_dim", model, hidden // heads)
    kind, tied = found.get("model_type"), found.get("tie_word_embeddings", settings.get("tie_word_embeddings"))
    of_queries = (heads + 2 * kv_heads) * head
    biases = of_queries + hidden if found.get("attention_bias") else of_queries if kind == "qwen2" else 0
    norms = 2 * hidden + (2 * head if kind == "qwen3" else 0)
    sees = found.get("sliding_window") if found.get("use_sliding_window", True) else None
    window = sees if isinstance(sees, int) and sees > 0 else None
    return ModelShape(
        layers, hidden, inner, heads, kv_heads, head, vocabulary, context, bool(tied), biases, norms, window
    )


def _size(found: Mapping[str, Any], name: str, model: str, default: int = 0) -> int:
    value = found.get(name)
    value = default if value is None else value
    if type(value) is not int or not 0 < value < 1 << 40:
        raise PlanError(f"the config.json of {model} has no {name}", "Is it a causal language model's folder?")
    return value


def _qwen3(layers: int, hidden: int, inner: int, heads: int, tied: bool, context: int = 40_960) -> ModelShape:
    norms = 2 * hidden + 2 * 128
    return ModelShape(layers, hidden, inner, heads, 8, 128, 151_936, context, tied, norms=norms)


SMOLLM2 = ModelShape(30, 576, 1536, 9, 3, 64, 49_152, 8192, True, norms=2 * 576)
KNOWN: Mapping[str, ModelShape] = {
    "smollm2": SMOLLM2,
    "HuggingFaceTB/SmolLM2-135M-Instruct": SMOLLM2,
    "Qwen/Qwen3-0.6B": _qwen3(28, 1024, 3072, 16, True),
    "Qwen/Qwen3-1.7B": _qwen3(28, 2048, 6144, 16, True),
    "Qwen/Qwen3-4B": _qwen3(36, 2560, 9728, 32, True),
    "Qwen/Qwen3-4B-Instruct-2507": _qwen3(36, 2560, 9728, 32, True, 262_144),
    "Qwen/Qwen3-8B": _qwen3(36, 4096, 12_288, 32, False),
    "Qwen/Qwen3-14B": _qwen3(40, 5120, 17_408, 40, False),
    "Qwen/Qwen2.5-32B": ModelShape(
        64, 5120, 27_648, 40, 8, 128, 152_064, 131_072, biases=(40 + 2 * 8) * 128, norms=2 * 5120
    ),
}
"""The models of the shipped configurations, with the sizes from their config.json on the hub."""
