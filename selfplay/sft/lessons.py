"""Teacher data: successful episodes of any policy as supervised examples, for the cold start of a small model.

A success is an injector episode whose bug is in the pool, or a resolved attempt. A model's episode becomes the messages
it read and wrote. A script's becomes the messages a model would have read, with its calls in the textual format; these
are long programs that no model would write, so they are used only on request, and demonstrations of the same bugs
(`demonstrate.py`) teach better. Malformed calls stay in the conversation, so that the repair after them makes sense,
but are not imitated (`train` false, mask 0).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfplay.agent import Finish, Trajectory, call_format, native_calls
from selfplay.agent.actions import Call, Observation, cap
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import shown
from selfplay.agent.model import Message
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory import TrajectoryError, load
from selfplay.artifact import Bug
from selfplay.curriculum import Curriculum
from selfplay.curriculum.stored_bugs import demonstration_of, original_of, read_bug
from selfplay.errors import SelfplayError
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import specification
from selfplay.repository import Suite
from selfplay.rl.credit.rules import Outcome, RoleName
from selfplay.roles.injector.prompt import injector_prompt
from selfplay.roles.prompt import opening
from selfplay.roles.solver.prompt import solver_prompt
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.players import SCRIPTED
from selfplay.sandbox import World
from selfplay.sft.demonstrate import injector_task_of
from selfplay.sft.demonstration import FAREWELL

SUCCEEDED: Mapping[RoleName, Outcome] = {"injector": "valid", "solver": "resolved"}
"""The finish of every episode that is a lesson."""
LEFT_OUT = "a script's own episode (--scripted takes it)"
UNTRAINED = -100
"""The label of a token that is not learned: torch's loss, and so every trainer, ignores it."""


@dataclass(frozen=True)
class Lesson:
    """One example. `bug`: the bug it is about. `messages` end with a model's message; `malformed` ones are not
    imitated."""

    id: str
    bug: str
    role: RoleName
    policy: str
    messages: tuple[Message, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The prompt and the model's messages, without observations: equal for lessons that teach the same."""
        return tuple(m.content for at, m in enumerate(self.messages) if at < 2 or m.role == "assistant")

    def to_json(self, chat: ChatFormat | None, reward: float | None = None) -> dict[str, Any]:
        """A row: `messages` with `train`; with a tokenizer also its ids, exactly as in an episode, and their labels, in
        the columns of TRL and axolotl. `reward`: what the episode earned, None if unknown."""
        told = [
            {"role": m.role, "content": m.content, "train": m.role == "assistant" and not m.malformed}
            for m in self.messages
        ]
        about = {"id": self.id, "bug": self.bug, "role": self.role, "policy": self.policy}
        row = {**about, "outcome": SUCCEEDED[self.role], "reward": reward, "messages": told}
        return row if chat is None else {**row, **_columns(**tokens(self.messages, chat))}


@dataclass(frozen=True)
class Success:
    """A stored successful episode and its role's prompt. `bug`: the bug it is about; `family`: its first-order bug;
    `scripted`: a script's own episode, not a demonstration."""

    path: Path
    role: RoleName
    told: str
    family: str = ""
    bug: str = ""
    scripted: bool = False


def successes(pool: Curriculum, roles: tuple[RoleName, ...]) -> Iterator[Success]:
    """The successful episodes of a run, in the order of its pool. Damaged bugs are left out."""
    folder = pool.folder / "trajectories"
    if "injector" in roles:
        for record in pool.episodes.with_bugs():
            assert record.bug is not None
            bug = record.bug.id
            shown = demonstration_of(pool.folder, bug, "injector")
            if shown.is_file():
                yield Success(shown, "injector", "", bug, bug)
            told = _injector_told(record.bug, record.number)
            yield Success(folder / record.trajectory, "injector", told, bug, bug, _is_script(record.bug.policy))
    if "solver" not in roles:
        return
    run, trees = pool.folder, pool.episodes.originals()
    bugs = {
        bug.id: (
            _solver_told(run / "bugs" / bug.id, original_of(run, bug, trees) or run / "original"),
            bug.root or bug.id,
        )
        for bug in pool.bugs()
    }
    shown_repairs = {bug: path for bug in bugs if (path := demonstration_of(pool.folder, bug, "solver")).is_file()}
    yield from (Success(path, "solver", "", bugs[bug][1], bug) for bug, path in shown_repairs.items())
    for attempt in pool.attempts.all(diffs=False):
        path = folder / attempt.trajectory
        told, family = bugs.get(attempt.bug, ("", ""))
        if attempt.resolved and told and path.is_file():  # a control has no episode
            yield Success(path, "solver", told, family, attempt.bug, _is_script(attempt.policy))


def _is_script(policy: str | None) -> bool:
    """Whether the name is a script's: `scripted`, or `scripted-removal` in a bug."""
    return (policy or "").partition("-")[0] in SCRIPTED


def lessons(success: Success, observation_chars: int) -> list[Lesson]:
    """The examples of an episode: one, or one per stage of a staged injector. Empty for a script whose calls the
    textual format cannot express. Raises `TrajectoryError`."""
    trajectory = load(success.path, linked=False)
    name = success.path.name.removesuffix(".jsonl.zst")
    conversations = _ended(trajectory) or _spoken(trajectory, success.told, observation_chars)
    several = len(conversations) > 1
    return [
        Lesson(f"{name}-{number}" if several else name, success.bug, success.role, trajectory.policy, kept)
        for number, conversation in enumerate(conversations)
        if (kept := _until_last_answer(_textual(conversation)))
    ]


def tokens(messages: tuple[Message, ...], chat: ChatFormat) -> dict[str, list[int]]:
    """The ids of a conversation as in an episode with this tokenizer; `mask`: 1 for tokens to learn."""
    first = next(at for at, message in enumerate(messages) if message.role == "assistant")
    ids = chat.opening(messages[:first])
    mask = [0] * len(ids)
    last: int | None = None
    for message in messages[first:]:
        if message.role == "assistant":
            new = chat.answer(message.content)
            last = new[-1]
        else:
            new = chat.heard(last, message.content)
        ids += new
        mask += [int(message.role == "assistant" and not message.malformed)] * len(new)
    return {"ids": ids, "mask": mask}


def _columns(ids: list[int], mask: list[int]) -> dict[str, list[int]]:
    """The columns as trainers name them. axolotl recognises tokenized rows only by an `attention_mask`."""
    labels = [one if on else UNTRAINED for one, on in zip(ids, mask, strict=True)]
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}


def _injector_told(bug: Bug, number: int) -> str:
    return injector_prompt(injector_task_of(bug, number, Suite((), {})))


def _solver_told(folder: Path, original: Path) -> str:
    try:
        bug, artifact, _ = read_bug(folder)
        known = original_texts(World(tree=(original,)), artifact.test_files) if bug.hidden else {}
        if bug.hidden and not known:  # the hidden part could not be separated
            return ""
        told = specification(artifact.test_weaken, known, bug.hidden)
    except (SelfplayError, ValueError):
        return ""
    return solver_prompt(SolverTask(bug.id, told, statement=bug.imported.statement if bug.imported else None))


def _spoken(trajectory: Trajectory, told: str, observation_chars: int) -> tuple[tuple[Message, ...], ...]:
    """A script's episode as messages; empty if a call cannot be expressed."""
    messages = list(opening(told, native=False))
    try:
        for step in trajectory.steps:
            if step.left is None:
                raise TrajectoryError(f"{trajectory.policy}: a step without its budget, from an earlier version")
            seen = Observation(step.output, step.exit_code, step.left)
            messages.append(
                Message("assistant", call_format.write(_rounded(step.call), SSR_TOOLS), malformed=step.malformed)
            )
            messages.append(Message("user", shown(seen, cap(step.output, observation_chars))))
    except call_format.CannotFormatCall:
        return ()
    return ((*messages, Message("assistant", FAREWELL)),)


def _ended(trajectory: Trajectory) -> tuple[tuple[Message, ...], ...]:
    """The conversations, without the last message if the episode was cut short: its call was never answered."""
    conversations = trajectory.record.conversations
    if trajectory.finish == Finish.SUBMITTED or not conversations or conversations[-1][-1].role != "assistant":
        return conversations
    return (*conversations[:-1], conversations[-1][:-1])


def _rounded(call: Call) -> Call:
    """Round the time limits: a script computes exact numbers, which a model would not write."""
    seconds = call.arguments.get("timeout")
    if not isinstance(seconds, float):
        return call
    return replace(call, arguments={**call.arguments, "timeout": math.ceil(seconds)})


def _textual(conversation: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation in the textual format. For one with native calls, the tools are described in the prompt; when
    several calls in one message got the same answer, it is written once."""
    native = any(message.calls for message in conversation)
    system = opening("", native=False)[0]
    kept = [
        system if native and message.role == "system" else _in_text(message)
        for message, before in zip(conversation, (None, *conversation), strict=False)
        if not (message.role == "tool" and before and before.role == "tool")
    ]
    return tuple(kept)


def _in_text(message: Message) -> Message:
    """A message with native calls, in the textual format."""
    if message.role == "tool":
        return replace(message, role="user", answers="")
    if not message.calls:
        return message
    found = native_calls.read(message.calls, message.content, SSR_TOOLS)
    if not isinstance(found, Call):
        return replace(message, calls=(), malformed=True)
    try:
        said = f"{message.content}\n\n{call_format.write(found, SSR_TOOLS)}".strip()
    except call_format.CannotFormatCall:
        return replace(message, calls=(), malformed=True)
    return replace(message, content=said, calls=())


def _until_last_answer(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation up to the last message that is worth imitating; empty without one."""
    good = [at for at, message in enumerate(messages) if message.role == "assistant" and not message.malformed]
    return messages[: good[-1] + 1] if good else ()
