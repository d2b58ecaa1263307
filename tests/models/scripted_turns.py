"""Turns that a script says in ids, in conversations of three chat templates."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from selfplay.agent import Observation
from selfplay.agent.actions import Budget
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import TokenConversation as Untooled
from selfplay.agent.model import Message, Sample, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.tokenizer import HfTokenizer

TokenConversation = partial(Untooled, toolset=SSR_TOOLS)
QWEN = """{%- if messages[0]['role'] == 'system' %}
{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
{%- endif %}{%- for message in messages %}{%- if not loop.first or message.role != 'system' %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
LLAMA3 = """{{- bos_token }}{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}"""
"""Written from the published formats; the vocabulary under them is SmolLM2's with their special tokens added."""


def tokenizer_with(smollm2: Path, template: str) -> HfTokenizer:
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    if template == "qwen":
        tokenizer.chat_template = QWEN
    if template == "llama3":
        tokenizer.add_special_tokens(
            {
                "bos_token": "<|begin_of_text|>",
                "eos_token": "<|eot_id|>",
                "additional_special_tokens": ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
            }
        )
        tokenizer.chat_template = LLAMA3
    return HfTokenizer(tokenizer, template)


class Scripted:
    """A token model that says what it is given, in ids that no tokenizer would choose: every word letter by letter."""

    name, context = "scripted", 32_768

    def __init__(self, chat: ChatFormat, said: Sequence[str], length: Sequence[int] = ()) -> None:
        self.chat, self.said, self.length = chat, list(said), set(length)
        self.prompts: list[tuple[int, ...]] = []

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        self.prompts.append(tuple(prompt))
        turn = len(self.prompts) - 1
        letters = [i for letter in self.said[turn] for i in self.chat.tokenizer.encode(letter, False)]
        cut = turn in self.length
        ids = (*letters, *(() if cut else stop[:1]))
        return Sample(ids, (-0.5,) * len(ids), cut, tuple(prompt), (turn, turn))


def seen(output: str, exit_code: int = 0) -> Observation:
    return Observation(output, exit_code, Budget(100, 1000))


def play(conversation: Untooled, observations: Sequence[Observation | None]) -> list[Any]:
    async def run() -> list[Any]:
        return [await conversation.act(observation) for observation in observations]

    return asyncio.run(run())


OPENING = (Message("system", "You are careful."), Message("user", "Break it."))
TURNS = [f"I look at part {n}.\n\n<tool: bash>\nsed -n {n}p a.py  # ü\n</tool>" for n in range(20)]
