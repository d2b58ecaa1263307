"""A configuration is one typed value; what cannot work is refused when it is loaded, by name."""

import os
from pathlib import Path

import pytest

from selfplay.configs import shipped
from selfplay.loop.config import MOST_BYTES, TrainConfig, by_default, load_config
from selfplay.loop.errors import TrainingError

LEAST = "source: pypi:toolz\nmodel: a/b\nplay: {context: 2048}\n"


def loaded(folder: Path, text: str, *overrides: str) -> TrainConfig:
    path = folder / "config.yaml"
    path.write_text(text)
    return load_config(path, overrides)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_configuration_loads_by_name_and_as_a_file(name: str) -> None:
    config = load_config(name)
    assert config.steps > 0 and config == load_config(Path(__file__).parents[2] / "configs" / f"{name}.yaml")


def test_an_override_is_read_as_yaml(tmp_path: Path) -> None:
    config = loaded(tmp_path, LEAST, "recipe.lr=1.0e-5", "injector.strategy=direct", "play.seeded=false")
    assert (config.recipe.lr, config.injector.strategy, config.options["seeded"]) == (1e-5, "direct", "false")
    assert config.played_by == "vllm:a/b"


def test_a_length_penalty_reaches_the_rules_of_credit(tmp_path: Path) -> None:
    length = ("recipe.length_penalty=0.5", "recipe.length_free=1000", "recipe.length_longest=2000")
    penalty = loaded(tmp_path, LEAST, *length).recipe.rules().length_penalty
    assert penalty is not None and [penalty(tokens) for tokens in (900, 1500, 9000)] == [0.0, -0.25, -0.5]
    assert loaded(tmp_path, LEAST).recipe.rules().length_penalty is None
    with pytest.raises(TrainingError, match="length_penalty needs 0 <= length_free < length_longest"):
        loaded(tmp_path, LEAST, *length, "recipe.length_longest=900")


def test_only_settings_that_change_no_rollout_may_differ_when_a_run_is_resumed(tmp_path: Path) -> None:
    bound = loaded(tmp_path, LEAST).binding()
    assert loaded(tmp_path, LEAST, "steps=9", "keep=2", "workers=1").binding() == bound
    assert loaded(tmp_path, LEAST, "recipe.lr=2.0e-5").binding() != bound


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("stpes=3", "stpes: there is no such setting"),
        ("recipe.rate=1", "recipe.rate: there is no such setting"),
        ("injector.groups=-1", "injector.groups: at least 0 is needed, not -1"),
        ("injector.members=1", "injector.members is 1: a group needs two"),
        ("solver.attempts=1", "solver.attempts is 1: a group needs two"),
        ("{0}", "is not an override"),
        ("source.x=1", "source has no settings below it"),
        ("play.top_p=0.9", "play.top_p is not 1"),
        ("play.temperature=0.7", "play.temperature is not 1"),
        ("play.context=9000", "play.context is above recipe.budget (8192)"),
        ("play={}", "play.context is not set"),
        ("recipe.dual=0.5", "dual is a bound above 1"),
        ("solver.bugs=0", "the injector's reward ssr needs attempts"),
        ("play.contxt=2048", "there is no setting 'play.contxt'"),
        ("play.calls=0", "play.calls: at least 1 is needed, not '0'"),
        ("play.context=abc", "play.context: a whole number is needed, not 'abc'"),
        ("play.context=1e5", "play.context: a whole number is needed, not '1e5'"),
        ("play.context=null", "play.context: one value is needed"),
        ("play.context=[1]", "play.context: one value is needed"),
        ("play.top_p=x", "play.top_p: a number is needed, not 'x'"),
        ("play.memory=abc", "play.memory: a number is needed, not 'abc'"),
        ("play=5", "play: settings are needed"),
        ("engine=transformers & play.memory=0.5", "there is no setting 'play.memory'"),
        ("seed=2026-99-99", "seed: a whole number is needed, not '2026-99-99'"),
        ("source=5", "source: a text is needed, not 5"),
        ("test=''", "test: it is empty: give it a value, or leave it out if it has a default"),
        ("setup=' '", "setup: it is empty"),
        ("source=''", "source: it is empty"),
        ("model=''", "model: it is empty"),
        ("source=[{source: a, test: ''}]", "source.0.test: it is empty"),
        ("source=[5]", "source.0: settings are needed"),
        ("cluster=5", "cluster: settings are needed (NAME: VALUE), not 5"),
        ("recipe=5", "recipe: settings are needed (NAME: VALUE), not 5"),
        ("recipe.lr=x", "recipe.lr: a number is needed, not 'x'"),
        ("engine=openai", "engine: 'vllm' or 'transformers' is needed, not 'openai'"),
        ("recipe.injector_share=1", "injector_share lies between 0 and 1"),
        ("recipe.injector_share=0.5 & roles=separate & recipe.lora_rank=8", "weighs roles that share weights"),
        ("recipe.injector_share=0.5 & injector.groups=0", "injector_share needs both roles"),
        ("recipe.warmup=-1", "warmup is a number of updates"),
        ("recipe.lora_alpha=8", "lora_alpha needs a lora_rank"),
        ("recipe.offload=true", "offload is for layers' inputs alone"),
        ("monitors.entropy.limit=2", "entropy.limit is a share of at most 1"),
        ("monitors.speed.stop=true", "monitors.speed: there is no such setting"),
        ("machine.gpu=v100", "machine.gpu: 'a100', 'h100' or 'h200' is needed, not 'v100'"),
        ("cluster={engine_gpus: 16}", "cluster.engine_gpus is 16, and a node has 8 (machine.gpus)"),
        ("staleness=1", "staleness needs a cluster"),
        ("staleness=9 & recipe.filters=[] & cluster={}", "staleness is above 8"),
        ("play.max_tokens=2048", "play.max_tokens is not below play.context (2048)"),
        ("cluster={host_cpus: 97} & machine.cpus=96", "cluster.host_cpus is 97, and a node has 96 cores"),
        ("cluster={engine_gpus: 2}", "play.tensor_parallel is not cluster.engine_gpus"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path: Path, override: str, said: str) -> None:
    with pytest.raises(TrainingError) as refused:
        loaded(tmp_path, LEAST, *override.split(" & "))
    assert said in refused.value.message and refused.value.hint


def test_neither_role(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="neither role plays"):
        loaded(tmp_path, LEAST, "injector.groups=0", "solver.bugs=0")


@pytest.mark.parametrize(
    ("text", "said"), [("- a\n", "does not hold settings"), ("a: [", "is not YAML"), ("", "does not hold settings")]
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("engines", "engine_gpus", "trainers", "nodes"),
    [(4, 1, 4, 1), (4, 2, 1, 2), (3, 3, 0, 2), (3, 3, 4, 2), (3, 3, 8, 3), (112, 4, 64, 64), (1, 0, 9, 2)],
)
def test_more_gpus_than_the_nodes_have(engines: int, engine_gpus: int, trainers: int, nodes: int) -> None:
    """Nodes of eight. Engines of three GPUs: two in a node, so three fill one node and three GPUs of a second; 2 + 5
    GPUs are left to the trainer."""
    gpus = {"engines": engines, "engine_gpus": engine_gpus, "trainers": max(trainers, 1), "hosts": 1}
    settings = {
        "source": "a",
        "model": "m",
        "play": {"context": 2048, "tensor_parallel": max(engine_gpus, 1)},
        "cluster": gpus | {"trainer_gpus": trainers > 0},
    }
    assert TrainConfig.model_validate(settings | {"machine": {"nodes": nodes}}).cluster
    if nodes > 1:
        with pytest.raises(
            ValueError, match=f"fill {nodes} nodes of 8, and machine.nodes is {nodes - 1}: lower cluster.engines"
        ):
            TrainConfig.model_validate(settings | {"machine": {"nodes": nodes - 1}})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"no\.yaml is missing"):
        load_config(tmp_path / "no.yaml")


def test_a_source_or_a_list_of_them(tmp_path: Path) -> None:
    one = loaded(tmp_path, LEAST, "setup=make")
    assert [(found.source, found.weight, found.setup) for found in one.repositories] == [(one.source, 1.0, "make")]
    several = loaded(tmp_path, LEAST, "source=[a, {source: b, weight: 3, test: pytest}]")
    assert [(found.source, found.weight, found.test) for found in several.repositories] == [
        ("a", 1.0, None), ("b", 3.0, "pytest"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["source=[]"], "source is an empty list"),
        (["source=[a, {source: a, weight: 2}]"], "source names a twice"),
        (["source=[a, b]", "setup=make"], "setup and test differ by repository"),
        (["source=[{source: a, weight: 0}]"], "weight"),
        (["source=[{source: a, wieght: 1}]"], "wieght"),
    ],
)
def test_a_list_that_cannot_be_used(tmp_path: Path, overrides: list[str], said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        loaded(tmp_path, LEAST, *overrides)


def test_what_is_taken_for_settings_that_were_not_recorded_is_what_a_plain_configuration_has() -> None:
    found = by_default()
    assert found["solver"] == {"bugs": 2, "attempts": 4, "only": [], "second_order": 0}
    assert found["recipe"]["shuffled"] is False and "steps" not in found
    assert found["recipe"]["length_penalty"] == found["recipe"]["length_longest"] == 0


def test_play_is_read_as_typed_options_and_recorded_as_it_was_written(tmp_path: Path) -> None:
    """Runs of earlier versions recorded the text of the configuration, which a resumed run compares."""
    config = loaded(tmp_path, LEAST, "play={context: 2048, seeded: false, memory: 0.25, dtype: float32, calls: '6'}")
    assert config.binding()["play"] == {
        "context": 2048, "seeded": False, "memory": 0.25, "dtype": "float32", "calls": "6",
    }  # fmt: skip
    play = config.play
    assert (play.player.calls, play.player.seeded, play.player.seconds) == (6, False, 1800.0)
    assert (play.engine.context, play.engine.memory) == (2048, 0.25)
    assert config.options == {
        "context": "2048", "seeded": "false", "memory": "0.25", "dtype": "float32", "calls": "6",
    }  # fmt: skip


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\x89PNG\r\n\xff")
    with pytest.raises(TrainingError, match=r"a\.yaml cannot be read: it is not UTF-8 text"):
        load_config(tmp_path / "a.yaml")


def test_a_file_without_an_end_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """A device has no size to look at, and a pipe that nobody writes to would be waited for."""
    with pytest.raises(TrainingError, match=f"/dev/zero is larger than {MOST_BYTES} bytes"):
        load_config("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(TrainingError, match=r"pipe\.yaml is not a regular file"):
        load_config(tmp_path / "pipe.yaml")
