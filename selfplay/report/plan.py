"""The page of a training run's plan."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.formatting import count, listed, spoken
from selfplay.loop.config import TrainConfig
from selfplay.loop.plan import Plan
from selfplay.loop.planning.assumptions import ASSUMPTIONS, GB
from selfplay.loop.planning.memory import SHARDED, Memory
from selfplay.plain_text import printable
from selfplay.report.tables import safe


def plan_page(plan: Plan, config: TrainConfig) -> RenderableType:
    """The whole page: placement, memory, a step, the run, and every constant behind it."""
    sources = listed(one.source for one in config.repositories)
    return Group(
        safe(f"Plan of {config.model} on {sources}; every figure is an estimate"),
        safe("\n".join(_placement(plan))),
        _memory("A trainer rank", plan.trainer, plan.placement["trainers"]),
        _memory("An engine", plan.engine, 1),
        _memory("Main memory of a node", plan.node, 1),
        safe("\n".join([*_step(plan, config), *_verdict(plan)])),
        _assumptions(plan),
    )


def _placement(plan: Plan) -> Iterator[str]:
    at = plan.placement
    if at["one_process"]:
        where = "on one GPU" if at["gpus"] else "on the CPU"
        yield f"one process: engine and trainer take turns {where}, sandboxes on {count(at['host_cpus'], 'core')}"
        return
    opposed = f", and {at['opponents']} of a frozen opponent" if at["opponents"] else ""
    yield f"engines: {at['engines']} of {_on(at['engine_gpus'])}{opposed}"
    yield f"trainer: {count(at['trainers'], 'rank')} of {_on(at['trainer_gpus'])}"
    yield f"sandboxes: {count(at['hosts'], 'host')} of {count(at['host_cpus'], 'core')}"
    if at["gpus"]:
        yield f"together {count(at['gpus'], 'GPU')} on {count(at['nodes'], 'node')}"


def _on(gpus: int) -> str:
    return count(gpus, "GPU") if gpus else "CPU cores"


def _memory(title: str, found: Memory, ranks: int) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("GB", justify="right")
    table.add_column("")
    for name, size in found.parts.items():
        shared = f"divided over {ranks}" if ranks > 1 and name in SHARDED else ""
        table.add_row(name, f"{size / GB:.2f}", shared)
    room = "" if found.room is None else f"of {found.room / GB:.1f}" + ("" if found.fits else ": DOES NOT FIT")
    table.add_row("together", f"{found.total / GB:.2f}", room)
    return table


def _step(plan: Plan, config: TrainConfig) -> Iterator[str]:
    load, pace, engine = plan.load, plan.pace, plan.engine
    context = config.play.engine.context or "the model's context"
    yield ""
    yield f"an engine's cache holds {engine.tokens:,} tokens: {count(engine.episodes, 'episode')} of {context} at once"
    least, expected, most = load.solver
    yield f"a step: {count(load.injector, 'injection')}, {count(expected, 'attempt')} ({least} to {most})"
    least, expected, most = load.tokens
    yield f"tokens of a step: {expected:,} ({least:,} to {most:,})"
    for name, seconds in pace.phases.items():
        bound = ", which bounds the step" if name == pace.bound else ""
        yield f"{name}: {seconds:.1f} s{bound}"
    yield f"weight sync: {pace.sync_bytes / GB:.2f} GB"
    turns = f"up to {count(config.staleness, 'step')} behind" if config.staleness else "roles and trainer take turns"
    yield f"a step takes {spoken(pace.step)} ({turns})"
    said = f", {pace.gpu_hours:,.0f} GPU-hours" if pace.gpu_hours else ""
    yield f"the run of {count(config.steps, 'step')}: {pace.hours:.1f} h{said}"


def _verdict(plan: Plan) -> Iterator[str]:
    for problem in plan.problems:
        yield f"DOES NOT FIT: {problem}"
    if not plan.problems:
        yield "it fits, by these estimates"


def _assumptions(plan: Plan) -> Table:
    table = Table(title="\nReckoned with (machine.assume.NAME=VALUE changes one)", title_justify="left", box=None)
    for name in ("name", "value", "unit", "from"):
        table.add_column(name, justify="right" if name == "value" else "left", overflow="fold")
    for name, value in plan.assumed.items():
        one = ASSUMPTIONS[name]
        changed = value != one.value
        table.add_row(name, f"{value:g}", one.unit, "the configuration" if changed else printable(one.source))
    if plan.placement["gpu"]:
        table.add_row("GPU", "", "memory, bandwidth, operations", plan.placement["gpu"])
    return table
