"""Teacher data: successful episodes of any policy as supervised examples, for the cold start of a small model.

A success is an injector episode whose bug is in the pool, or a resolved attempt. A model's episode becomes the messages
it read and wrote; a script's becomes the messages a model would have read, and its calls in the textual format. If a
bug has demonstrations (`demonstrate.py`), they take the place of a script's episodes, which are much longer. Malformed
calls stay in the conversation, so that the repair after them makes sense, but are not imitated (`train` false, mask 0).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from selfplay.agent import Finish, Trajectory, call_format, native_calls
from selfplay.agent.actions import Call, Observation, cap
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import shown
from selfplay.agent.model import Message
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory import TrajectoryError, load
from selfplay.artifact import Bug
from selfplay.curriculum import Curriculum
from selfplay.curriculum.stored import demonstration_of, original_of, read_bug
from selfplay.errors import SelfplayError
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import specification
from selfplay.repository import Suite
from selfplay.roles.injector.prompt import injector_prompt
from selfplay.roles.prompt import opening
from selfplay.roles.solver.prompt import solver_prompt
from selfplay.roles.solver.task import SolverTask
from selfplay.sandbox import World
from selfplay.sft.demonstrate import injector_task_of
from selfplay.sft.demonstration import FAREWELL

Role = Literal["injector", "solver"]


@dataclass(frozen=True)
class Lesson:
    """One example. `messages` end with one of the model's; `malformed` ones are not to be imitated."""

    id: str
    role: Role
    policy: str
    messages: tuple[Message, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """What was told and said, without the observations: equal for lessons that teach the same."""
        return tuple(m.content for at, m in enumerate(self.messages) if at < 2 or m.role == "assistant")

    def to_json(self, chat: ChatFormat | None) -> dict[str, Any]:
        """A row: `messages` with `train`; with a tokenizer also `ids` and `mask`, exactly as in an episode."""
        told = [
            {"role": m.role, "content": m.content, "train": m.role == "assistant" and not m.malformed}
            for m in self.messages
        ]
        row = {"id": self.id, "role": self.role, "policy": self.policy, "messages": told}
        return row if chat is None else {**row, **tokens(self.messages, chat)}


@dataclass(frozen=True)
class Success:
    """A stored successful episode, and its role's prompt. `family`: the first-order bug that it is about."""

    path: Path
    role: Role
    told: str
    family: str = ""


def successes(pool: Curriculum, roles: tuple[Role, ...]) -> Iterator[Success]:
    """The successful episodes of a run, in the order of its pool. A bug that is damaged is left out."""
    folder = pool.folder / "trajectories"
    if "injector" in roles:
        for record in pool.episodes.with_bugs():
            assert record.bug is not None
            shown = demonstration_of(pool.folder, record.bug.id, "injector")
            if shown.is_file():
                yield Success(shown, "injector", "", record.bug.id)
                if (record.bug.policy or "").startswith("scripted"):
                    continue
            told = _injector_told(record.bug, record.number)
            yield Success(folder / record.trajectory, "injector", told, record.bug.id)
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
    yield from (Success(path, "solver", "", bugs[bug][1]) for bug, path in shown_repairs.items())
    for attempt in pool.attempts.all(diffs=False):
        if attempt.bug in shown_repairs and attempt.policy.startswith("scripted"):
            continue
        path = folder / attempt.trajectory
        told, family = bugs.get(attempt.bug, ("", ""))
        if attempt.resolved and told and path.is_file():  # a control has no episode
            yield Success(path, "solver", told, family)


def lessons(success: Success, observation_chars: int) -> list[Lesson]:
    """The examples of an episode: one, or one per stage of a staged injector. Empty for a script whose calls the
    textual format cannot express. Raises `TrajectoryError`."""
    trajectory = load(success.path, linked=False)
    name = success.path.name.removesuffix(".jsonl.zst")
    conversations = _ended(trajectory) or _spoken(trajectory, success.told, observation_chars)
    return [
        Lesson(f"{name}-{number}" if len(conversations) > 1 else name, success.role, trajectory.policy, kept)
        for number, conversation in enumerate(conversations)
        if (kept := _until_last_answer(_textual(conversation)))
    ]


def tokens(messages: tuple[Message, ...], chat: ChatFormat) -> dict[str, list[int]]:
    """The ids of a conversation as an episode with this tokenizer would hold them; `mask`: 1 where to learn."""
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
    """A script's episode as messages; empty when a call cannot be expressed."""
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
    except call_format.Unspeakable:
        return ()
    return ((*messages, Message("assistant", FAREWELL)),)


def _ended(trajectory: Trajectory) -> tuple[tuple[Message, ...], ...]:
    """The conversations, without the last message if the episode was cut short: its call was never answered."""
    conversations = trajectory.record.conversations
    if trajectory.finish == Finish.SUBMITTED or not conversations or conversations[-1][-1].role != "assistant":
        return conversations
    return (*conversations[:-1], conversations[-1][:-1])


def _rounded(call: Call) -> Call:
    """Round the time limits, which a script computes to the digit; a model would not write them like that."""
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
    """A message of a conversation with native calls, in the textual format."""
    if message.role == "tool":
        return replace(message, role="user", answers="")
    if not message.calls:
        return message
    found = native_calls.read(message.calls, message.content, SSR_TOOLS)
    if not isinstance(found, Call):
        return replace(message, calls=(), malformed=True)
    try:
        said = f"{message.content}\n\n{call_format.write(found, SSR_TOOLS)}".strip()
    except call_format.Unspeakable:
        return replace(message, calls=(), malformed=True)
    return replace(message, content=said, calls=())


def _until_last_answer(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation up to the last message that is worth imitating; empty without one."""
    good = [at for at, message in enumerate(messages) if message.role == "assistant" and not message.malformed]
    return messages[: good[-1] + 1] if good else ()
