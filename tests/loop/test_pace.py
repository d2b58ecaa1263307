"""Seconds of a step: what phases follow each other, what bounds it, and the estimates beside measurements."""

from typing import Any

import pytest

from selfplay.loop.config import TrainConfig
from selfplay.loop.plan import Plan, plan_of
from selfplay.loop.planning.assumptions import ASSUMPTIONS
from selfplay.loop.planning.memory import layer_elements, trainer_memory
from selfplay.loop.planning.shapes import KNOWN, SMOLLM2, PlanError, shape_of
from selfplay.loop.planning.throughput import training_flops

VALUES = {name: one.value for name, one in ASSUMPTIONS.items()}
NODE = {"engines": 4, "engine_gpus": 1, "trainers": 4, "trainer_gpus": 1, "hosts": 1, "host_cpus": 8}


def planned(model: str = "Qwen/Qwen3-8B", **settings: Any) -> Plan:
    found = {"source": "a", "model": model, "play": {"context": 8192}, "cluster": NODE, "machine": {"gpu": "h100"}}
    return plan_of(TrainConfig.model_validate(found | settings), KNOWN[model])


def test_with_staleness_a_step_takes_its_longest_phase() -> None:
    """In turns: playing, then training, then sync. With staleness 3 an episode may last four steps."""
    turns, behind = planned().pace, planned(staleness=3).pace
    phases = turns.phases
    assert phases["longest episode"] > max(phases["generation"], phases["tools"])
    assert turns.step == pytest.approx(phases["longest episode"] + phases["training"] + phases["sync"])
    phases = behind.phases
    played = max(phases["longest episode"] / 4, phases["generation"], phases["tools"])
    assert behind.step == pytest.approx(max(played, phases["training"] + phases["sync"]))
    assert behind.hours == pytest.approx(6 * behind.step / 3600) and behind.gpu_hours == pytest.approx(8 * behind.hours)


def test_what_bounds_the_step_is_what_more_of_would_help() -> None:
    fast = {"gpu": "h100", "assume": {"sync_file": 1e12}}
    assert planned(staleness=8).pace.bound == "sync", "by file: 33 GB at 0.45 GB/s"
    few_cores = planned(staleness=8, cluster={**NODE, "host_cpus": 1}, machine=fast)
    assert few_cores.pace.bound == "tools"
    many = {
        "staleness": 8,
        "machine": fast,
        "injector": {"groups": 32},
        "cluster": {**NODE, "host_cpus": 8000, "engines": 28},
    }
    assert planned(**many).pace.bound == "training"
    assert planned(machine=fast).pace.bound == "longest episode"


def test_episodes_of_a_step() -> None:
    """1 group of 4; 2 bugs, 4 attempts each: at least 8 attempts; half of the injections give a bug: 2 x 4; all: 4 x 4.
    Tokens: 12 episodes of a tenth of the context, 12 of three tenths, 20 of all of it."""
    load = planned().load
    assert (load.injector, load.solver) == (4, (8, 8, 16))
    assert load.tokens == (int(12 * 819.2), int(12 * 2457.6), 20 * 8192)
    changed = planned(machine={"gpu": "h100", "assume": {"valid_share": 1.0}}).load
    assert changed.solver == (8, 16, 16)


def test_weights_go_by_file_in_float32() -> None:
    """135M at 0.45 GB/s."""
    small = planned("smollm2", cluster=None, machine={}).pace
    assert small.sync_bytes == 4 * SMOLLM2.parameters and small.phases["sync"] == pytest.approx(1.196, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("smollm2", 134_515_008), ("Qwen/Qwen3-0.6B", 596_049_920), ("Qwen/Qwen3-1.7B", 1_720_574_976),
        ("Qwen/Qwen3-4B", 4_022_468_096), ("Qwen/Qwen3-8B", 8_190_735_360), ("Qwen/Qwen3-14B", 14_768_307_200),
        ("Qwen/Qwen2.5-32B", 32_763_876_352),
    ],
)  # fmt: skip
def test_the_sizes_give_the_published_number_of_parameters(model: str, parameters: int) -> None:
    assert KNOWN[model].parameters == parameters


def test_a_model_s_settings_as_sizes() -> None:
    found = {
        "model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "intermediate_size": 1536,
        "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
    }  # fmt: skip
    assert shape_of(found, "m") == SMOLLM2 == shape_of({"text_config": found}, "m")
    assert shape_of({**found, "sliding_window": 512}, "m").window == 512
    assert shape_of({**found, "sliding_window": 512, "use_sliding_window": False}, "m").window is None
    assert shape_of({**found, "model_type": "qwen2"}, "m").biases == (9 + 6) * 64
    with pytest.raises(PlanError, match="has no hidden_size"):
        shape_of({**found, "hidden_size": "576"}, "m")
    with pytest.raises(PlanError, match="mixture of experts"):
        shape_of({**found, "num_experts": 8}, "m")


def measured_update() -> TrainConfig:
    """docs/training.md: SmolLM2-135M, fp32, 4096 tokens in rows of 2048, one process, one core."""
    recipe = {"precision": "fp32", "budget": 2048}
    return TrainConfig(source="a", model="smollm2", play={"context": 2048}, recipe=recipe, machine={"cpus": 1})


def test_activations_are_those_of_the_table() -> None:
    """docs/training.md, elements a token and layer: 576 + 576 + 576 + 960 kept (0.66 GB in a row of 2048); 13,056 in
    all, of which norms, rotated and repeated heads are 4,224."""
    assert layer_elements(SMOLLM2, spread=True) == 576 + 576 + 576 + 960 + 3072 + 3072 + 4224
    found = trainer_memory(measured_update(), SMOLLM2, VALUES).parts["activations"]
    assert found == 4 * 2048 * 30 * (576 + 576 + 576 + 960) == pytest.approx(0.66e9, rel=0.01)


def test_memory_beside_a_measured_update() -> None:
    """A first update has no moments yet. Measured: 2.64 GB with freed blocks from 1 MB returned to the system, 3.56 as
    it is run, of which 0.9 GB are gaps in the heap. The estimate has no gaps: 0.93 and 0.69 of these."""
    found = trainer_memory(measured_update(), SMOLLM2, VALUES)
    estimate = (found.total - found.parts["optimizer"]) / 1e9
    assert estimate / 2.64 == pytest.approx(0.93, abs=0.02) and estimate / 3.56 == pytest.approx(0.69, abs=0.02)


def test_time_beside_a_measured_update() -> None:
    """Measured: 49.0 core seconds for two sequences of 2048. The estimate from the speed of matrix products alone: 0.89
    of it."""
    flops = 4096 * training_flops(measured_update(), SMOLLM2, 2048)
    assert flops / VALUES["training_core"] / 49.0 == pytest.approx(0.89, abs=0.02)


@pytest.mark.parametrize(
    ("model", "gpus", "tokens", "measured", "ratio"),
    [
        ("Qwen/Qwen3-0.6B", 1, 65_536, 10_200, 1.01),
        ("Qwen/Qwen3-4B", 8, 65_536, 29_000, 0.90),
        ("Qwen/Qwen3-0.6B", 1, 16_384, 11_900, 2.44),
    ],
)
def test_training_beside_another_trainer_s_figures(
    model: str, gpus: int, tokens: int, measured: float, ratio: float
) -> None:
    """prime-rl on H100s, tokens a second. Short rows of a small model keep a GPU far less busy than is assumed."""
    config = TrainConfig(source="a", model=model, play={"context": tokens}, recipe={"budget": tokens})
    flops = training_flops(config, KNOWN[model], tokens)
    assert gpus * 989e12 * VALUES["training_share"] / flops / measured == pytest.approx(ratio, abs=0.02)
