"""Adapters: only they train, the merged model is the adapted one, and they come back from files as they were."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file
from tiny_models import tiny_llama, uneven
from torch import Tensor
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from selfplay.train import checkpoint, lora
from selfplay.train.errors import TrainError
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, Scorer, scorer_of
from selfplay.train.rows import row
from selfplay.train.sft_loop import cross_entropy
from selfplay.train.step import StepOptions, Trainer
from selfplay.train.weights import save_model

RANK_4 = ModelOptions(precision="fp32", lora=LoraOptions(4))


def learner(options: ModelOptions = RANK_4) -> Trainer:
    return Trainer(scorer_of(tiny_llama(), options), StepOptions(lr=1e-2))


def train(trainer: Trainer, steps: int) -> Trainer:
    for _ in range(steps):
        trainer.step(uneven(seed=trainer.steps), cross_entropy, 20)
    return trainer


def parts(scorer: Scorer) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in scorer.model.named_parameters()}


def reloaded(trainer: Trainer, folder: Path) -> Scorer:
    """The merged model, as transformers loads it, without adapters."""
    save_model(trainer.scorer, folder, torch.float32)
    return scorer_of(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), replace(RANK_4, lora=None))


def test_only_the_adapters_train() -> None:
    """B begins at 0: at first A has no gradient and only B moves; after two steps both have moved."""
    trainer, plain = learner(), scorer_of(tiny_llama(), replace(RANK_4, lora=None))
    with torch.no_grad():
        torch.testing.assert_close(trainer.scorer(row(uneven())), plain(row(uneven())))
    before = parts(trainer.scorer)
    after = parts(train(trainer, 2).scorer)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved == {name for name in before if lora.PART in name}
    assert len(moved) == 2 * 7 * 2  # A and B of seven modules in two layers
    assert len(trainer.optimizer.state) == len(moved)


def test_the_merged_model_gives_the_adapted_ones_log_probabilities_in_transformers(tmp_path: Path) -> None:
    trainer = train(learner(), 3)
    plain = reloaded(trainer, tmp_path)
    assert not any(lora.PART in name or lora.BASE in name for name, _ in plain.model.named_parameters())
    with torch.no_grad():
        first = learner().scorer(row(uneven()))[0]
        torch.testing.assert_close(plain(row(uneven())), trainer.scorer(row(uneven())), atol=1e-5, rtol=1e-5)
        assert float((plain(row(uneven()))[0] - first).abs().max()) > 1e-2


def test_gradients_of_adapters_follow_from_those_of_the_merged_weights(tmp_path: Path) -> None:
    """W' = W + s B A, so dL/dB = s dL/dW' A^T and dL/dA = s B^T dL/dW'."""
    trainer = train(learner(), 3)
    plain, scale = reloaded(trainer, tmp_path), LoraOptions(4).scale
    for scorer in (plain, trainer.scorer):
        scorer(row(uneven()))[0].sum().backward()
    found = dict(trainer.scorer.model.named_parameters())
    for name, weight in plain.model.named_parameters():
        stem = name.removesuffix(".weight")
        if f"{stem}.lora_A.default.weight" in found:
            down, up = (found[f"{stem}.lora_{side}.default.weight"] for side in "AB")
            torch.testing.assert_close(up.grad, scale * weight.grad @ down.T, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(down.grad, scale * up.T @ weight.grad, atol=1e-5, rtol=1e-4)


def test_the_adapter_alone_is_what_peft_loads(tmp_path: Path) -> None:
    """peft puts it on the model that it was trained from."""
    from peft import PeftModel

    from selfplay.train.weights import adapter

    trainer = train(learner(), 2)
    lora.save_adapter(adapter(trainer.scorer), LoraOptions(4), tmp_path, "tiny")
    theirs = PeftModel.from_pretrained(tiny_llama(), tmp_path)
    ids = torch.tensor([uneven()[1].ids])
    with torch.no_grad():
        logs = theirs(input_ids=ids, use_cache=False).logits[0, :-1].log_softmax(-1)
        ours = trainer.scorer(row([replace(uneven()[1], mask=[0] + [1] * 22)]))[0][1:]
    torch.testing.assert_close(ours, logs.gather(1, ids[0, 1:, None]).squeeze(1), atol=1e-5, rtol=1e-5)


def test_a_resumed_run_goes_on_bit_for_bit_and_its_checkpoint_has_adapters_alone(tmp_path: Path) -> None:
    first = train(learner(), 2)
    path = checkpoint.save(first, tmp_path, {"batch": 2})
    second = learner()
    assert checkpoint.resume(second, tmp_path) == {"batch": 2}
    train(first, 2), train(second, 2)
    ours, theirs = parts(second.scorer), parts(first.scorer)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    moved = {name for name in theirs if lora.PART in name}
    names = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    assert {name for name in names if name.startswith("model.")} == {f"model.model.{name}" for name in moved}


def test_a_checkpoint_of_another_rank_is_refused(tmp_path: Path) -> None:
    checkpoint.save(train(learner(), 1), tmp_path, {})
    with pytest.raises(TrainError, match=r"another model: \S+lora_A\.default\.weight is \[4, 64\] there and \[8, 64\]"):
        checkpoint.resume(learner(replace(RANK_4, lora=LoraOptions(8))), tmp_path)
    with pytest.raises(TrainError, match=r"another model: \S+ is .* there and .* here"):
        checkpoint.resume(learner(replace(RANK_4, lora=None)), tmp_path)


def test_a_model_without_the_named_modules_is_refused_with_the_names_it_has() -> None:
    for target in ("query_key_value", "lm_head"):
        options = replace(RANK_4, lora=LoraOptions(4, targets=("q_proj", target)))
        with pytest.raises(TrainError, match=f"LlamaForCausalLM has no linear module named {target}") as error:
            scorer_of(tiny_llama(), options)
        names = "down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj"
        assert error.value.hint == f"Its linear modules are named {names}."
    with pytest.raises(TrainError, match="the rank of LoRA must be at least 1, not 0"):
        scorer_of(tiny_llama(), replace(RANK_4, lora=LoraOptions(0)))


def test_a_model_without_any_linear_module_is_refused() -> None:
    """GPT-2 calls its own kind of module; its head, which is a linear one, has no adapter."""
    model = GPT2LMHeadModel(GPT2Config(vocab_size=97, n_embd=8, n_layer=1, n_head=1, n_positions=32)).float()
    with pytest.raises(TrainError, match="GPT2LMHeadModel has no linear module named q_proj, k_proj") as error:
        scorer_of(model, RANK_4)
    assert error.value.hint == "It has no linear module at all."


def test_files_of_a_saved_adapter_are_named_as_peft_names_them(tmp_path: Path) -> None:
    weights = {"model.layers.0.self_attn.q_proj.lora_A.default.weight": torch.ones(4, 32)}
    lora.save_adapter(weights, LoraOptions(4), tmp_path, "tiny")
    found = load_file(tmp_path / "adapter_model.safetensors")
    assert list(found) == ["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"]
