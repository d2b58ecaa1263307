"""TRL's GRPOTrainer on a served run: `GRPOTrainer(rollout_func=Rollouts(client, context), reward_funcs=reward,
train_dataset=Dataset.from_list(rows(client, "solver")), ...)`.

A prompt of the data set only names a task; the real prompt comes from the server. Sampled ids are kept and never
rendered again; all other ids are masked (`env_mask`). The model is sampled with the trainer's `_generate_single_turn`,
like its own tool loop, so vLLM and transformers both work. Written for TRL 1.16.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.environments.client import Client, RemoteEpisode
from selfplay.environments.errors import Busy
from selfplay.policies.tokenizer import HfTokenizer
from selfplay.rl.credit.rules import RoleName

AT_ONCE = 64
"""Threads that wait for the server."""
REWARD = "selfplay_reward"


def rows(client: Client, role: RoleName) -> list[dict[str, Any]]:
    """A data set of the tasks that can be played now, one row for each."""
    return [{"prompt": [{"role": "user", "content": f"{role}/{task}"}]} for task in client.tasks(role)]


def reward(completions: Sequence[Any], **columns: Any) -> list[float]:
    """A reward function: what each episode earned, as `Rollouts` recorded it."""
    found: list[float] = columns[REWARD]
    return found


@dataclass
class _Row:
    """An episode as the trainer learns from it."""

    task: str
    episode: RemoteEpisode
    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    reward: float | None = None

    def add(self, ids: Iterable[int], logprobs: Sequence[float] | None = None, sampled: bool = False) -> None:
        added = list(ids)
        self.ids += added
        self.mask += [int(sampled)] * len(added)
        self.logprobs += logprobs or [0.0] * len(added)


class Rollouts:
    """A `rollout_func`. `context`: the most ids of an episode. The same model attempts an injector's valid bug
    `attempts` times, only to compute its reward: TRL cannot train on those tokens. With 0 attempts it earns `valid` at
    once."""

    def __init__(self, client: Client, context: int, attempts: int = 0, valid: float = 1.0) -> None:
        self.client, self.context, self.attempts, self.valid = client, context, attempts, valid

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Play an episode for each of the prompts."""
        tasks = [prompt if isinstance(prompt, str) else prompt[-1]["content"] for prompt in prompts]
        played = self._played(tasks, trainer)
        self._attempt([row for row in played if _pending(row)], trainer)
        settle(played)
        return {
            "prompt_ids": [row.prompt for row in played],
            "completion_ids": [row.ids for row in played],
            "logprobs": [row.logprobs for row in played] if trainer.use_vllm else None,
            "env_mask": [row.mask for row in played],
            REWARD: [row.reward for row in played],
        }

    def _played(self, tasks: Sequence[str], trainer: Any) -> list[_Row]:
        """An episode of each task, turn by turn, as many at once as the server has sessions."""
        chat = ChatFormat(HfTokenizer(trainer.processing_class, "the trainer's tokenizer", trainer.eos_token_ids))
        found: list[_Row | None] = [None] * len(tasks)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            try:
                while None in found or _live(found):
                    self._begin(found, tasks, chat, threads)
                    live = _live(found)
                    prompts = [[*row.prompt, *row.ids] for row in live]
                    if not live:
                        continue
                    sampled, logprobs = trainer._generate_single_turn(prompts, None, {}, num_generations=1)
                    jobs = zip(live, sampled, logprobs or [None] * len(live), strict=True)
                    list(threads.map(lambda job: self._answered(job[0], job[1], job[2], chat), jobs))
            finally:
                list(threads.map(lambda row: row.episode.close(), filter(None, found)))
        return [_ended(row, chat) for row in found if row is not None]

    def _begin(
        self, found: list[_Row | None], tasks: Sequence[str], chat: ChatFormat, threads: ThreadPoolExecutor
    ) -> None:
        """Begin the missing episodes while sessions are free. If nothing plays, the first one waits for a session."""
        missing = [place for place, row in enumerate(found) if row is None]
        if missing and not _live(found):
            found[missing[0]] = self._begun(self.client, tasks[missing[0]], chat)
            missing = missing[1:]
        eager = replace(self.client, wait=0.0)
        for place, row in zip(
            missing, threads.map(lambda at: self._tried(eager, tasks[at], chat), missing), strict=True
        ):
            found[place] = row

    def _begun(self, client: Client, task: str, chat: ChatFormat) -> _Row:
        role, _, name = task.partition("/")
        episode = client.begin(role, name)  # type: ignore[arg-type]
        told = [Message(one["role"], one["content"]) for one in episode.step.messages]  # type: ignore[arg-type]
        return _Row(task, episode, chat.opening(told) if told else list(chat.stop[:1]))

    def _tried(self, client: Client, task: str, chat: ChatFormat) -> _Row | None:
        """Like `_begun`, but None if no session is free."""
        try:
            return self._begun(client, task, chat)
        except Busy:
            return None

    def _answered(self, row: _Row, ids: list[int], logprobs: list[float] | None, chat: ChatFormat) -> None:
        """Add the model's message and the observation to the row; end the episode if they do not fit."""
        row.add(ids, logprobs, sampled=True)
        last = ids[-1] if ids else None
        step = row.episode.say(chat.answer_text(ids), cut_off=last not in chat.stop)
        if step.done:
            return
        (told,) = step.messages
        heard = chat.observation_ids(last, told["content"])
        room = self.context - len(row.prompt) - len(row.ids)
        if len(heard) + self.context // 8 > room:
            row.episode.stop()
        else:
            row.add(heard)

    def _attempt(self, planted: Sequence[_Row], trainer: Any) -> None:
        """Attempt the valid bugs and set their rewards."""
        bugs = [row.episode.step.result["bug"] for row in planted if row.episode.step.result]
        if bugs and self.attempts:
            self._played([f"solver/{bug}" for bug in bugs for _ in range(self.attempts)], trainer)
        for row, bug in zip(planted, bugs, strict=True):
            row.reward = self.client.credit(bug)["reward"] if self.attempts else self.valid


def _live(found: Sequence[_Row | None]) -> list[_Row]:
    return [row for row in found if row is not None and not row.episode.step.done]


def _ended(row: _Row, chat: ChatFormat) -> _Row:
    """The episode with its reward."""
    assert row.episode.step.result is not None
    row.reward = row.episode.step.result["reward"]
    if not row.ids:  # the episode was lost before the model's first message
        row.add(chat.stop[:1])
    return row


def _pending(row: _Row) -> bool:
    return row.episode.step.result is not None and row.episode.step.result["outcome"] == "valid"


def settle(played: Sequence[_Row]) -> None:
    """An episode that the machine lost has no reward and is not trained on: it is masked, and gets the mean reward of
    its task's other episodes, which leaves their baseline unchanged."""
    for row in played:
        if row.reward is None:
            others = [one.reward for one in played if one.task == row.task and one.reward is not None]
            row.mask = [0] * len(row.mask)
            row.reward = fmean(others) if others else 0.0
