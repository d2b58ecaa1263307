"""The page of one episode: its policy, messages, calls and observations, and how it ended."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from selfplay.agent import Step, Trajectory
from selfplay.formatting import cap, count
from selfplay.report.tables import heading, safe

SHOWN = 2_000
"""The most characters shown of one message or output."""
SHOWN_STEPS = 2_000


def episode_page(trajectory: Trajectory) -> RenderableType:
    """The whole page, for a rich console."""
    return Group(_heading(trajectory), *_told(trajectory), *_steps(trajectory), _end(trajectory))


def _heading(trajectory: Trajectory) -> Text:
    record, usage = trajectory.record, trajectory.record.usage
    lines = [
        f"{trajectory.role} by {trajectory.policy}: {trajectory.finish.replace('_', ' ')}",
        f"{count(len(trajectory.steps), 'call')} in {trajectory.seconds:.1f} s, "
        f"{sum(step.malformed for step in trajectory.steps)} malformed",
    ]
    if usage.requests:
        lines.append(
            f"{count(usage.requests, 'request')} ({count(usage.retries, 'retry', 'retries')}), "
            f"{usage.prompt_tokens} tokens in, "
            f"{usage.completion_tokens} out, cost {usage.cost:.4f}"
        )
    for number, segment in enumerate(record.segments):
        lines.append(
            f"segment {number}: {count(len(segment.ids), 'token')}, {sum(segment.mask)} sampled, "
            f"weights {segment.versions[0]} to {segment.versions[1]}, {segment.finish}"
        )
    if record.segments:
        lines.append(f"drift: {count(record.drift, 'token')}")
    text = safe("\n".join(lines))
    text.stylize("bold", 0, len(lines[0]))
    return text


def _told(trajectory: Trajectory) -> Iterator[RenderableType]:
    for conversation in trajectory.record.conversations:
        yield heading("what it was told")
        for message in conversation:
            if message.role not in ("system", "user"):
                break
            yield safe(cap(message.content, SHOWN))


def _steps(trajectory: Trajectory) -> Iterator[RenderableType]:
    for number, step in enumerate(trajectory.steps[:SHOWN_STEPS]):
        yield heading(f"{number}: {step.call.tool}")
        yield safe(cap(_said(step), SHOWN))
        seen = safe(cap(step.output.rstrip(), SHOWN))
        seen.stylize("red" if step.exit_code else "dim")
        yield seen
    if len(trajectory.steps) > SHOWN_STEPS:
        yield heading(f"... and {count(len(trajectory.steps) - SHOWN_STEPS, 'more call')}")


def _said(step: Step) -> str:
    if step.call.said:
        return step.call.said
    return "\n".join(f"{name}: {value}" for name, value in step.call.arguments.items())


def _end(trajectory: Trajectory) -> RenderableType:
    words = [trajectory.last_words, trajectory.error, f"handed in: {trajectory.submission or 'nothing'}"]
    return Group(heading("the end"), safe("\n".join(cap(word, SHOWN) for word in words if word)))
