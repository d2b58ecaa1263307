"""Methods added to vLLM's workers: load new weights from a folder or from the trainer.

On CPU, vLLM packs the weights of linear layers when they are loaded or changed. It does not repack an output head that
is tied to the embedding (vLLM 0.32): such a model would sample with new layers and the old head.
"""

from collections.abc import Callable, Sequence
from typing import Any

from selfplay.policies.broadcast import WeightGroup, joined
from selfplay.policies.rendezvous import Fact, Rendezvous


class WeightReceiver:
    """Mixed into a worker by `worker_extension_cls`; called through `collective_rpc`. The declared fields are the
    worker's."""

    rank: int
    device: Any
    reload_weights: Callable[..., None]
    model_runner: Any
    weight_group: WeightGroup | None = None

    def load_folder(self, folder: str) -> None:
        """Load the weights in `folder`."""
        self.reload_weights(weights_path=folder)
        self.pack_heads()

    def receive_weights(self, meeting: dict[str, Any], first: int, facts: Sequence[Fact]) -> None:
        """Load the weights that rank 0 of the group sends. This worker joins the group if it has not yet."""
        self.weight_group = joined(self.weight_group, Rendezvous(**meeting), first + self.rank, self.device)
        coming = self.weight_group.received(facts)
        self.reload_weights(weights_iterator=coming)
        for _ in coming:
            pass  # receive it even if the model does not load it
        self.pack_heads()

    def pack_heads(self) -> None:
        """Pack the output head again if it was packed."""
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

        for layer in self.model_runner.get_model().modules():
            if isinstance(layer, ParallelLMHead) and hasattr(layer, "cpu_linear"):
                layer.quant_method.process_weights_after_loading(layer)
