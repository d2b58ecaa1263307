"""Twenty turns in three chat templates: nothing is rendered again, and the ids say what the template would."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from models.scripted_turns import OPENING, QWEN, TURNS, Scripted, TokenConversation, play, seen, tokenizer_with
from transformers import AutoTokenizer

from selfplay.agent import Call, Observation
from selfplay.agent.actions import Budget
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import ModelError, Sample, Sampling
from selfplay.policies.tokenizer import HfTokenizer, load_tokenizer
from selfplay.sft.lessons import tokens


@pytest.mark.parametrize("template", ["qwen", "llama3", "smollm2"])
def test_twenty_turns_without_drift(smollm2: Path, template: str) -> None:
    chat = ChatFormat(tokenizer_with(smollm2, template))
    model = Scripted(chat, TURNS, length=[7])
    conversation = TokenConversation(model, chat, "injector", OPENING)
    outputs = [f"    line {n}\tof a file\r\n\n\nwith \u2028 and 日本語 {n}" for n in range(19)]
    turns = play(conversation, [None, *(seen(output, n % 2) for n, output in enumerate(outputs))])
    assert [type(turn) for turn in turns] == [Call] * 20
    assert turns[3].arguments == {"command": "sed -n 3p a.py  # ü"}
    record = conversation.record()
    assert record.drift == 0 and len(record.segments) == 1
    segment = record.segments[0]
    for number, prompt in enumerate(model.prompts):  # every prompt begins with all that came before it, id by id
        assert prompt == tuple(segment.ids[: len(prompt)])
        assert segment.mask[len(prompt)] == 1 and segment.mask[len(prompt) - 1] == 0
        assert number == 0 or len(prompt) > len(model.prompts[number - 1])
    assert sum(segment.mask) == sum(1 for value in segment.logprobs if value == -0.5)
    assert segment.versions == (0, 19) and segment.finish == "stop"
    told = [{"role": m.role, "content": m.content} for m in conversation.messages[:-1]]
    rendered = chat.tokenizer.render(told, answer=True)  # what the template says of the same conversation, as text
    assert chat.tokenizer.decode(model.prompts[-1]) == rendered


@pytest.mark.parametrize("template", ["qwen", "llama3", "smollm2"])
def test_the_opening_is_what_the_template_and_tokenizer_make_of_it(smollm2: Path, template: str) -> None:
    tokenizer = tokenizer_with(smollm2, template)
    rendered = tokenizer.render([{"role": m.role, "content": m.content} for m in OPENING], answer=True)
    assert ChatFormat(tokenizer).opening(OPENING) == tokenizer.encode(rendered, True)


def test_a_tokenizer_without_a_template_is_refused(smollm2: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    tokenizer.chat_template = None
    with pytest.raises(ModelError, match=r"bare: the tokenizer has no chat template\n  Use the instruction-tuned"):
        ChatFormat(HfTokenizer(tokenizer, "bare"))


def test_a_template_that_drops_messages_is_refused(smollm2: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    tokenizer.chat_template = "{{ messages[-1]['content'] }}"
    with pytest.raises(ModelError, match="does not give every message once and in order"):
        ChatFormat(HfTokenizer(tokenizer, "lossy"))


def test_a_template_without_a_system_role_gets_it_in_the_first_message(smollm2: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    tokenizer.chat_template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + QWEN
    )
    chat = ChatFormat(HfTokenizer(tokenizer, "gemma-like"))
    assert "user\nYou are careful.\n\nBreak it.<|im_end|>" in chat.tokenizer.decode(chat.opening(OPENING))


def test_no_model_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tokenizer can be loaded.*\n  Name a folder that holds a model"):
        load_tokenizer(str(tmp_path / "nothing"))


@pytest.mark.parametrize("template", ["qwen", "llama3", "smollm2"])
def test_a_lesson_has_the_ids_an_episode_would_have(smollm2: Path, template: str) -> None:
    """A teacher's messages, encoded by the student's tokenizer: exactly what the student would have been given."""
    chat = ChatFormat(tokenizer_with(smollm2, template))

    class Student(Scripted):
        async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
            turn = len(self.prompts)
            self.prompts.append(tuple(prompt))
            ids = (*self.chat.tokenizer.encode(self.said[turn], False), stop[0])
            return Sample(ids, (0.0,) * len(ids), False, tuple(prompt))

    conversation = TokenConversation(Student(chat, ["no call", *TURNS]), chat, "solver", OPENING)
    play(conversation, [None, Observation("wrong", 1, Budget(9, 9), malformed=True), seen("a <|im_end|> b"), seen("c")])
    row = tokens(tuple(conversation.messages), chat)
    segment = conversation.record().segments[0]
    assert row["ids"] == segment.ids.tolist()
    first = len(chat.tokenizer.encode("no call", False)) + 1  # the malformed message and its end: seen, not learned
    assert sum(row["mask"]) == sum(segment.mask) - first
    assert all(learned <= sampled for learned, sampled in zip(row["mask"], segment.mask, strict=True))
