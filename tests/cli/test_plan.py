"""`selfplay train --plan`: starts and fetches nothing, prints every figure, as JSON, too, and says what fits not."""

import json
from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.loop.planning.assumptions import ASSUMPTIONS

SIZES = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "vocab_size": 1000, "max_position_embeddings": 4096,
}  # fmt: skip


def test_a_shipped_configuration(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay("train", "cluster_64", "--plan", cwd=tmp_path)
    assert done.code == 0 and "Traceback" not in done.err
    for said in (
        "engines: 24 of 2 GPUs", "trainer: 16 ranks of 1 GPU", "together 64 GPUs on 8 nodes", "Main memory of a node",
        "divided over 16",
        "tokens of a step: ", "which bounds the step", "GPU-hours", "it fits, by these estimates", *ASSUMPTIONS,
    ):  # fmt: skip
        assert said in done.out, said
    assert list(tmp_path.iterdir()) == [], "nothing is written"


@pytest.mark.slow
def test_what_does_not_fit_is_marked_and_ends_with_1(selfplay: Command) -> None:
    done = selfplay("train", "node_8gpu", "cluster.trainers=1", "--plan")
    assert done.code == 1 and "DOES NOT FIT: a trainer rank takes" in done.out.replace("\n", " ")
    found = selfplay("train", "node_8gpu", "cluster.trainers=1", "--plan", "--json")
    assert found.code == 1 and not found.json["trainer_rank"]["fits"] and len(found.json["problems"]) == 1


def test_as_json_with_the_folder_of_a_model(selfplay: Command, tmp_path: Path) -> None:
    """Parameters: 2 x 1000 x 64 + 64, and two layers of 4 x 64 x 64 + 3 x 64 x 128 + 128; weights take 4 bytes each."""
    (tmp_path / "config.json").write_text(json.dumps(SIZES))
    found = selfplay("train", "tiny_cpu", f"model={tmp_path}", "--plan", "--json").json
    assert found["trainer_rank"]["parts"]["weights"] == 4 * (128_064 + 2 * (16_384 + 24_576 + 128))
    assert found["placement"]["one_process"] and found["assumptions"]["usable"]["value"] == 0.94


def test_a_model_that_is_not_known_here(selfplay: Command) -> None:
    done = selfplay("train", "tiny_cpu", "model=nobody/knows", "--plan")
    assert done.code == 2 and "the sizes of nobody/knows are not known here" in done.err and "model=FOLDER" in done.err


@pytest.mark.slow
def test_a_context_beyond_the_model_s_is_refused_before_the_run(selfplay: Command, tmp_path: Path) -> None:
    out = tmp_path / "run"
    long = ("play.context=8193", "recipe.budget=9000")
    for more in (("--plan",), ("--out", out)):
        done = selfplay("train", "tiny_cpu", *long, *more)
        assert done.code == 2 and "play.context is 8193, the context of smollm2 is 8192" in done.err
    assert not out.exists()
