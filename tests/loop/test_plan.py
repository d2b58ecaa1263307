"""The plan of a run: parts add up, ranks divide what is sharded, what does not fit says what to change."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.configs import shipped
from selfplay.loop.config import TrainConfig, load_config
from selfplay.loop.plan import Plan, plan_of
from selfplay.loop.planning.memory import SHARDED
from selfplay.loop.planning.shapes import KNOWN, PlanError

NODE = {"engines": 4, "engine_gpus": 1, "trainers": 4, "trainer_gpus": 1, "hosts": 1, "host_cpus": 8}


def planned(model: str = "Qwen/Qwen3-8B", **settings: Any) -> Plan:
    """A node of eight H100s with a context of 8,192, unless `settings` say otherwise."""
    found = {
        "source": "pypi:toolz", "model": model, "play": {"context": 8192}, "cluster": NODE, "machine": {"gpu": "h100"},
    }  # fmt: skip
    config = TrainConfig.model_validate(found | settings)
    return plan_of(config, KNOWN[model])


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_configuration_fits(name: str) -> None:
    config = load_config(name)
    plan = plan_of(config, KNOWN[config.model])
    assert plan.problems == () and plan.pace.hours > 0
    least, expected, most = plan.load.tokens
    assert 0 < least < expected < most


def test_the_variant_that_a_shipped_configuration_names_fits() -> None:
    config = load_config("one_gpu", ["model=Qwen/Qwen3-4B-Instruct-2507", "recipe.lora_rank=32", "recipe.lr=1e-5"])
    assert plan_of(config, KNOWN[config.model]).problems == ()


def test_the_paper_s_run_is_the_paper_s() -> None:
    """64 GPUs that train, 448 that play; 16M tokens a step; 150 steps of them are some 2.5B tokens."""
    config = load_config("ssr_paper")
    assert config.cluster and (config.cluster.trainers, config.cluster.engines * config.cluster.engine_gpus) == (
        64,
        448,
    )
    recipe = config.recipe
    assert (recipe.lr, recipe.warmup, recipe.budget, config.steps, config.staleness) == (3e-6, 30, 131_072, 150, 8)
    assert (config.injector.members, config.solver.attempts) == (8, 8)
    expected = plan_of(config, KNOWN[config.model]).load.tokens[1]
    assert expected == pytest.approx(16e6, rel=0.05) and 150 * expected == pytest.approx(2.5e9, rel=0.05)


@given(
    st.sampled_from(sorted(KNOWN)), st.integers(1, 32), st.sampled_from(["fp32", "bf16"]), st.sampled_from([0, 16]),
    st.booleans(), st.integers(2, 8192),
)  # fmt: skip
def test_parts_add_up_and_twice_the_ranks_halve_what_is_sharded(
    model: str, ranks: int, precision: str, lora: int, attention: bool, budget: int
) -> None:
    recipe = {"precision": precision, "lora_rank": lora, "keep_attention": attention, "budget": budget}
    one, two = (
        planned(model, recipe={**recipe, "too_long": "cut"}, cluster={**NODE, "trainers": count}).trainer
        for count in (ranks, 2 * ranks)
    )
    for found in (one, two):
        assert found.total == pytest.approx(sum(found.parts.values())) and min(found.parts.values()) >= 0
    assert all(two.parts[name] == pytest.approx(one.parts[name] / 2) for name in SHARDED)
    if ranks > 1:
        assert all(two.parts[name] == one.parts[name] for name in one.parts if name not in SHARDED)


def test_the_sharded_parts_of_a_model() -> None:
    """8.19e9 parameters over 4 ranks: 4 bytes of weights and gradients, 8 of moments."""
    found = planned().trainer.parts
    assert [round(found[name] / 1e9, 2) for name in SHARDED] == [8.19, 8.19, 16.38]
    adapters = planned(recipe={"lora_rank": 16}).trainer.parts
    learns = 36 * 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 12288) * 3)
    assert adapters["gradients"] == learns and adapters["optimizer"] == 2 * learns


def test_an_engine_s_cache() -> None:
    """A token of Qwen3-8B: 2 x 36 layers x 8 heads x 128 x 2 bytes = 147,456. Of 79.2 GiB an engine takes 0.9, weights
    16.38 GB and 4 GB of workspace of them: (76.54 - 16.38 - 4) GB / 147,456 B = 380,824 tokens, 46 of 8,192. On two
    GPUs there are (153.07 - 16.38 - 8) / 147,456."""
    engine = planned().engine
    assert (engine.tokens, engine.episodes) == (380_824, 46)
    play = {"context": 8192, "tensor_parallel": 2}
    two = planned(play=play, cluster={**NODE, "engine_gpus": 2}, machine={"gpu": "h100", "nodes": 2}).engine
    assert two.tokens == pytest.approx((153.07e9 - 16.38e9 - 8e9) / 147_456, rel=1e-3)


def test_what_does_not_fit_names_the_part_and_what_to_change() -> None:
    (said,) = planned(cluster={**NODE, "trainers": 1}).problems
    assert "GB of 80; the largest part is optimizer: recipe.lora_rank, or more cluster.trainers, or a GPU with" in said
    long = {"play": {"context": 40960}, "recipe": {"budget": 40960}}
    (said,) = planned(**long).problems
    assert "the largest part is activations: recipe.keep_attention=false, or a smaller recipe.budget" in said
    assert planned(**{**long, "recipe": {"budget": 40960, "keep_attention": False}}).problems == ()
    (said,) = planned(play={"context": 8192, "memory": 0.25}).problems
    assert "KV cache holds 5" in said and "more cluster.engine_gpus" in said
    alone = planned("Qwen/Qwen3-4B", cluster=None).problems
    assert any("engine and trainer share one GPU" in said and "a lower play.memory" in said for said in alone)
    (loading,) = (
        one for one in planned("Qwen/Qwen2.5-32B", cluster={**NODE, "trainers": 64}).problems if "loads" in one
    )
    assert "loads the whole model in float32 before sharding it, 131 GB of 80" in loading


def test_main_memory_of_a_node() -> None:
    """On GPUs each of four ranks loads 8.19e9 parameters in float32; 64 sandboxes of 0.25 GB. On CPU engines and ranks
    lie there themselves."""
    parts = planned().node.parts
    assert parts == {"sandboxes": 16e9, "engines": 0.0, "trainer": pytest.approx(4 * 4 * 8.19e9, rel=1e-3)}
    cpu = planned("smollm2", cluster=None, machine={})
    assert cpu.node.parts["trainer"] == cpu.trainer.total and cpu.node.parts["engines"] == cpu.engine.total
    (said,) = planned("smollm2", cluster=None, machine={"memory": 4}).problems
    assert "main memory takes 10 GB of 4; the largest part is" in said
    (said,) = planned(machine={"gpu": "h100", "memory": 100}).problems
    assert "the largest part is trainer: fewer ranks on a node, or a smaller model" in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"play": {"context": 40_961}, "recipe": {"budget": 50_000}},
            "play.context is 40961, the context of Qwen/Qwen3-8B is",
        ),
        (
            {"cluster": {**NODE, "engine_gpus": 6}, "play": {"context": 8192, "tensor_parallel": 6}},
            "has 32 attention heads",
        ),
        ({"machine": {}}, "machine.gpu is not set"),
        ({"machine": {"gpu": "h100", "assume": {"speed": 1.0}}}, "there is no assumption 'speed'"),
        ({"machine": {"gpu": "h100", "assume": {"usable": 0}}}, "machine.assume.usable is 0"),
    ],
)
def test_what_cannot_be_planned_is_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        planned(**settings)


def test_windows_of_attention_are_refused_where_a_sequence_is_longer() -> None:
    config = TrainConfig(source="a", model="m", play={"context": 8192})
    shape = replace(KNOWN["Qwen/Qwen3-0.6B"], window=4096)
    with pytest.raises(PlanError, match="attends to 4096 tokens"):
        plan_of(config, shape)
    assert plan_of(TrainConfig(source="a", model="m", play={"context": 4096}), shape).problems == ()
