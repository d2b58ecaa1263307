"""One episode as plain values: its prompt, each call with its result, and how it ended."""

from itertools import zip_longest
from typing import Any

from selfplay.agent import Step, Trajectory
from selfplay.report.html.diffs import clean, clean_text

MOST_STEPS, MOST_TOLD, MOST_THOUGHT = 500, 12_000, 4_000
MOST_OUTPUT = 3_000
"""The most characters of one message or output in a file; a served page shows more."""


def episode_value(trajectory: Trajectory, most: int = MOST_OUTPUT) -> dict[str, Any]:
    """What an episode's page shows."""
    record, usage = trajectory.record, trajectory.record.usage
    steps = trajectory.steps[:MOST_STEPS]
    thoughts = record.thoughts[: len(steps)] if len(record.thoughts) >= len(steps) else ()
    facts = {
        "role": trajectory.role, "policy": trajectory.policy, "ended": str(trajectory.finish).replace("_", " "),
        "handed in": trajectory.submission or "nothing",
        "requests": usage.requests, "tokens in": usage.prompt_tokens, "tokens out": usage.completion_tokens,
        "cost": round(usage.cost, 4), "sampled tokens": sum(sum(one.mask) for one in record.segments),
        "weights": ", ".join(sorted({f"{one.versions[0]} to {one.versions[1]}" for one in record.segments})),
    }  # fmt: skip
    return {
        "facts": {name: clean(str(value)) for name, value in facts.items() if value},
        "seconds": round(trajectory.seconds, 2),
        "told": [clean_text(text, MOST_TOLD) for text in _told(trajectory)],
        "steps": [_step(step, thought, most) for step, thought in zip_longest(steps, thoughts, fillvalue="")
                  if isinstance(step, Step)],
        "left": len(trajectory.steps) - len(steps),
        "end": [clean_text(text, most) for text in (trajectory.last_words, trajectory.error) if text],
    }  # fmt: skip


def _told(trajectory: Trajectory) -> list[str]:
    """The prompt of each conversation: the messages before the model's first one."""
    found = []
    for conversation in trajectory.record.conversations[:10]:
        for message in conversation:
            if message.role not in ("system", "user"):
                break
            found.append(message.content)
    return found


def _step(step: Step, thought: str, most: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tool": clean(step.call.tool)[:100], "code": step.exit_code, "seconds": round(step.seconds, 2),
        "out": clean_text(step.output.rstrip(), most),
    }  # fmt: skip
    if step.call.said:
        found["said"] = clean_text(step.call.said, most)
    else:
        found["call"] = {clean(name)[:100]: clean_text(str(value), most) for name, value in step.call.arguments.items()}
    if thought:
        found["thought"] = clean_text(thought, MOST_THOUGHT)
    if step.malformed:
        found["malformed"] = True
    return found
