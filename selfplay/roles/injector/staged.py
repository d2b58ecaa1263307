"""A staged injector for small models: discover, plant, weaken. A harness runs each stage as its own conversation.

A model under 30B parameters rarely finishes the free-running injector: its context fills up and its diffs do not apply.
Here a stage ends with the model's submit, which the harness checks by running the tests. If the check fails, the model
is told why and the stage continues. The harness takes the diffs and submits; its own calls are steps without messages.
"""

import shlex
from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from pathlib import PurePosixPath

from selfplay import prompts
from selfplay.agent.actions import Call, Finish, Observation, Stop, Turn
from selfplay.agent.conversation import Conversation
from selfplay.agent.model import Message, Usage
from selfplay.agent.toolset import Toolset
from selfplay.agent.trajectory import Record
from selfplay.formatting import count
from selfplay.patches import is_test_file
from selfplay.plain_text import encode
from selfplay.roles.injector.prompt import HANDED_IN, variables
from selfplay.roles.injector.task import SUBMISSION, InjectorTask
from selfplay.roles.prompt import opening
from selfplay.untrusted_json import answer

SHOWN_FAILURES = 40
LITTER = frozenset(["__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".coverage", "node_modules"])
RUN = f"bash {SUBMISSION}/test_script.sh > /tmp/log 2>&1; python3 {SUBMISSION}/test_parser.py < /tmp/log"
"""Prints the outcomes that the parser reads, or the parser's error."""
LEFT = "git ls-files --others --exclude-standard -z"
"""Prints the untracked files."""
Turns = AsyncGenerator[Turn, Observation]


class StagedInjector:
    """A `Policy`. `converse` begins a conversation; each is told of `toolset`. `native`: with the endpoint's own tool
    calls."""

    def __init__(
        self,
        task: InjectorTask,
        name: str,
        converse: Callable[[tuple[Message, ...]], Conversation],
        toolset: Toolset,
        native: bool = False,
    ) -> None:
        self.name = f"{name} (staged)"
        self._task, self._converse, self._toolset, self._native = task, converse, toolset, native
        self._conversations: list[Conversation] = []
        first = self._begin("discover", **self._told("discover", [], ""))
        self._turns = self._play(first)

    async def act(self, observation: Observation | None) -> Turn:
        try:
            return await (anext(self._turns) if observation is None else self._turns.asend(observation))
        except StopAsyncIteration:
            return None

    def record(self) -> Record:
        """The records of all stages in one."""
        records = [conversation.record() for conversation in self._conversations]
        return Record(
            tuple(messages for record in records for messages in record.conversations),
            tuple(segment for record in records for segment in record.segments),
            sum(record.drift for record in records),
            sum((record.usage for record in records), Usage()),
            tuple(thought for record in records for thought in record.thoughts),
            tuple(seconds for record in records for seconds in record.seconds),
            next((record.sampling for record in records), None),
        )

    def _begin(self, stage: str, **more: object) -> Conversation:
        told = prompts.render(f"staged/{stage}", **variables(self._task), **more)
        conversation = self._converse(opening(told, self._native, self._toolset))
        self._conversations.append(conversation)
        return conversation

    async def _play(self, conversation: Conversation) -> Turns:
        """The three stages. An async generator cannot delegate, so each stage's turns are passed on explicitly."""
        failing: list[str] = []
        left: frozenset[str] = frozenset()
        bug = ""
        for stage in ("discover", "plant", "weaken"):
            if stage != "discover":
                conversation = self._begin(stage, **self._told(stage, failing, bug))
            seen: Observation | None = None
            while True:
                turn = await conversation.act(seen)
                if turn is None or isinstance(turn, Stop):
                    yield turn if isinstance(turn, Stop) and turn.finish else Stop(finish=Finish.GAVE_UP)
                    return
                if not (isinstance(turn, Call) and turn.tool == "submit"):
                    seen = yield turn
                    continue
                listed = yield Call("bash", {"command": "git add -A -N . && git diff --name-only -z HEAD"}, turn.said)
                if stage != "discover":
                    yield Call("bash", {"command": _take_diff(stage, _changed(listed.output, left))})
                ran = yield Call("bash", {"command": RUN})
                why = self._verdict(stage, ran, _changed(listed.output, left))
                if why:
                    seen = Observation(why, 1, ran.budget)
                    continue
                failing = _failing(ran.output)
                break
            if stage == "discover":
                left = frozenset((yield Call("bash", {"command": LEFT})).output.split("\0"))
            if stage == "plant":
                bug = (yield Call("bash", {"command": f"cat {SUBMISSION}/bug_inject.diff"})).output
        yield Call("submit", {"folder": SUBMISSION})

    def _told(self, stage: str, failing: list[str], bug: str) -> dict[str, object]:
        if stage == "discover":
            return {"names": HANDED_IN[:3]}
        return {} if stage == "plant" else {"failing": failing[:SHOWN_FAILURES], "bug": bug.rstrip()}

    def _verdict(self, stage: str, ran: Observation, every: list[str]) -> str:
        """What is wrong with a stage's work; empty if it is done."""
        outcomes = _outcomes(ran.output)
        if not outcomes:
            return f"{RUN}\ndoes not print a JSON object of outcomes but\n{ran.output[-2000:]}"
        failing = _failing(ran.output)
        passing = len(outcomes) - len(failing)
        if stage == "discover":
            if failing:
                return f"these tests fail on the repository as it is; leave them out: {_some(failing)}"
            least = self._task.min_passing_tests
            return "" if passing >= least else f"{count(passing, 'passing test')}; at least {least} must pass"
        changed = [path for path in every if _belongs(path, stage)]
        if not changed:
            return "nothing is changed in " + ("the code" if stage == "plant" else "the test files")
        if stage == "weaken":
            return f"these tests still fail: {_some(failing)}" if failing else ""
        if len(changed) < self._task.min_changed_files:
            return f"{count(len(changed), 'file')} changed; at least {self._task.min_changed_files} must be"
        if len(failing) < self._task.min_failing_tests:
            return f"{count(len(failing), 'failing test')}; at least {self._task.min_failing_tests} must fail"
        return "" if passing else "no test passes any more; the code must still run"


def _take_diff(stage: str, changed: Iterable[str]) -> str:
    name = "bug_inject.diff" if stage == "plant" else "test_weaken.diff"
    paths = " ".join(shlex.quote(path) for path in changed if _belongs(path, stage))
    diff = f"git --no-pager diff --no-color --no-ext-diff --binary --full-index HEAD -- {paths}" if paths else "true"
    return f"{diff} > {SUBMISSION}/{name}"


def _changed(listed: str, left: Collection[str]) -> list[str]:
    """The listed paths that a stage changed. `left`: files that the tests leave behind, such as compiled programs."""
    paths = (path for path in listed.split("\0") if path and path not in left)
    return [path for path in paths if not LITTER & set(PurePosixPath(path).parts)]


def _belongs(path: str, stage: str) -> bool:
    return is_test_file(path) == (stage == "weaken")


def _outcomes(output: str) -> dict[str, str]:
    try:
        return answer(dict[str, str], encode(output))
    except ValueError:
        return {}


def _failing(output: str) -> list[str]:
    return sorted(test for test, outcome in _outcomes(output).items() if outcome != "passed")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:SHOWN_FAILURES]) + (" and more" if len(listed) > SHOWN_FAILURES else "")
