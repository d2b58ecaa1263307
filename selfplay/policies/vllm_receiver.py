"""What vLLM's workers are given beside their own methods: weights from the trainer (`policies.broadcast`)."""

from collections.abc import Callable, Sequence
from typing import Any

from selfplay.policies.broadcast import WeightGroup
from selfplay.policies.meeting import Fact, Meeting


class WeightReceiver:
    """Mixed into a worker by `worker_extension_cls`; called through `collective_rpc`. What is declared is the
    worker's."""

    rank: int
    device: Any
    reload_weights: Callable[..., None]
    weight_group: WeightGroup

    def receive_weights(self, meeting: dict[str, Any], first: int, facts: Sequence[Fact]) -> None:
        """Load the weights that rank 0 of the group sends. This worker joins it, unless it did before."""
        wanted = Meeting(**meeting)
        if not hasattr(self, "weight_group") or self.weight_group.meeting != wanted:
            self.weight_group = WeightGroup(wanted, first + self.rank, self.device)
        coming = self.weight_group.received(facts)
        self.reload_weights(weights_iterator=coming)
        for _ in coming:
            pass  # what the model does not load is sent all the same
