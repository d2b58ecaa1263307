"""One injection rollout: an injector's episode in a sandbox with history, its artifact checked, the result a value."""

import hashlib
import platform
import random
import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from selfplay import __version__, patches
from selfplay.agent import Trajectory, play_episode
from selfplay.agent.trajectory import save as save_trajectory
from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.curriculum import DUPLICATE, EpisodeResult
from selfplay.errors import SelfplayError
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import hidden_tests
from selfplay.patches.changes import changes
from selfplay.plain import encode, shown
from selfplay.repository import Prepared, Suite
from selfplay.roles.injector import INJECTOR
from selfplay.roles.injector.collect import collect
from selfplay.roles.injector.seeds import seed_location
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.rollout.players import Player, ScriptedPlayer
from selfplay.rollout.stage import entered
from selfplay.sandbox import Backend, Limits
from selfplay.sandbox.workers import Workers
from selfplay.validators import Thresholds, Validation, validate
from selfplay.workbench import RunCache, Workbench

Mix = Literal["removal", "history", "direct", "feature", "mix"]


class UnknownStrategy(SelfplayError):
    """A strategy name that does not exist."""


def mix_named(name: str) -> Mix:
    """The strategy of this name. Raises `UnknownStrategy`."""
    names = get_args(Mix)
    if name not in names:
        raise UnknownStrategy(f"there is no strategy {name!r}", f"The strategies are {', '.join(names)}.")
    return cast(Mix, name)


@dataclass(frozen=True)
class Injection:
    """Everything the episodes of one run share. `trajectories`: the folder their files go to.

    `public_share`: how much of F2P a solver will be shown. `seen`: tree keys of the bugs in the pool; an artifact with
    one of them is a duplicate whatever the checks say.
    """

    prepared: Prepared
    suite: Suite
    backend: Backend
    thresholds: Thresholds
    strategy: Mix
    seed: int
    trajectories: Path
    environment: dict[str, Any]
    limits: Limits = field(default_factory=Limits)
    public_share: float = 1.0
    seen: set[str] = field(default_factory=set)
    cache: RunCache = field(default_factory=RunCache)
    player: Player = field(default_factory=ScriptedPlayer)


async def inject(run: Injection, number: int, workers: Workers) -> EpisodeResult:
    """Play episode `number` and check what it hands in. What goes wrong in it is the result's status and reason.

    Raises `SandboxError` only when no sandbox can be started at all.
    """
    started = time.monotonic()
    strategy = strategy_of(run.strategy, run.seed, number)
    trajectory, artifact, why = await _play(run, number, strategy, workers)
    path = run.trajectories / f"{number:06d}-injector.jsonl.zst"
    await workers.run(save_trajectory, trajectory, path)
    return await workers.run(_check, run, number, strategy, trajectory, artifact, why, started)


def counted(trajectory: Trajectory) -> dict[str, Any]:
    """The figures of an episode as they are stored."""
    figures = asdict(trajectory.figures)
    return {"episode_seconds": figures.pop("seconds"), **figures, "finish": str(trajectory.finish)}


def _check(
    run: Injection,
    number: int,
    strategy: Strategy,
    trajectory: Trajectory,
    artifact: Artifact | None,
    why: str,
    started: float,
) -> EpisodeResult:
    figures = counted(trajectory)
    if artifact is None:
        figures["seconds"] = time.monotonic() - started
        status = "gave_up" if trajectory.submission is None and not trajectory.error else "failed"
        return EpisodeResult(number, strategy, status, why, figures)
    key = _key_or_none(artifact)
    if key in run.seen:
        return EpisodeResult(number, strategy, "duplicate", DUPLICATE, figures)
    bench = _bench(run, artifact)
    validation = validate(artifact, bench, run.thresholds)
    figures |= _figures(artifact, validation) | {"seconds": time.monotonic() - started}
    return _result(run, number, strategy, artifact, validation, figures, trajectory.policy, key)


def strategy_of(mix: Mix, seed: int, number: int) -> Strategy:
    """The strategy of an episode; under `mix` one of each pair removes and one reverts (the paper's best; 50/50 is
    ours)."""
    if mix != "mix":
        return mix
    first_removes = random.Random(f"mix:{seed}:{number // 2}").random() < 0.5
    return "removal" if first_removes == (number % 2 == 0) else "history"


async def _play(
    run: Injection, number: int, strategy: Strategy, workers: Workers
) -> tuple[Trajectory, Artifact | None, str]:
    task = await workers.run(injector_task, run, number, strategy)
    policy = run.player.policy(INJECTOR, task)
    async with entered(workers, run.backend.open(run.prepared.world(history=True), run.limits)) as sandbox:
        trajectory = await play_episode(
            policy,
            sandbox,
            INJECTOR.name,
            toolset=INJECTOR.toolset,
            workers=workers,
            limits=run.player.limits,
            hand_in=INJECTOR.hand_in,
        )
        try:
            return trajectory, await workers.run(collect, trajectory, sandbox), ""
        except ArtifactError as error:
            return trajectory, None, error.message


def injector_task(run: Injection, number: int, strategy: Strategy) -> InjectorTask:
    """What the injector of episode `number` is told."""
    return InjectorTask(
        strategy=strategy,
        seed=run.seed,
        number=number,
        suite=run.suite,
        min_passing_tests=run.thresholds.min_passing_tests,
        min_changed_files=run.thresholds.min_changed_files,
        min_failing_tests=run.thresholds.min_failing_tests,
        seconds=run.thresholds.seconds,
        seed_location=seed_location(run.prepared.tree, run.seed, number),
    )


def _result(
    run: Injection,
    number: int,
    strategy: Strategy,
    artifact: Artifact,
    validation: Validation,
    figures: dict[str, Any],
    policy: str,
    key: str | None,
) -> EpisodeResult:
    if not validation.valid:
        check = validation.verdicts[-1].check
        return EpisodeResult(number, strategy, "invalid", validation.reason, figures, failed_check=check)
    content = artifact.content_hash()
    bug = Bug(
        id=f"{_slug(run.prepared)}.{strategy}.{content[:8]}",
        strategy=strategy,
        seed=run.seed,
        source=run.prepared.source,
        revision=run.prepared.revision,
        commit=run.prepared.commit,
        tree_hash=run.prepared.tree_hash,
        content_hash=content,
        fail_to_pass=validation.fail_to_pass,
        pass_to_pass=validation.pass_to_pass,
        flaky=validation.flaky,
        public_share=run.public_share,
        hidden=_hidden(run, artifact, validation.fail_to_pass),
        thresholds=run.thresholds.to_json(),
        verdicts=tuple(verdict.to_json() for verdict in validation.verdicts),
        environment=run.environment,
        policy=policy,
        versions={"selfplay": __version__, "python": platform.python_version()},
    )
    return EpisodeResult(number, strategy, "valid", "", figures, tree_key=key, artifact=artifact, bug=bug)


def _hidden(run: Injection, artifact: Artifact, fail_to_pass: tuple[str, ...]) -> tuple[str, ...]:
    texts = original_texts(run.prepared.world(), artifact.test_files)
    return hidden_tests(artifact.test_weaken, texts, fail_to_pass, run.public_share, artifact.content_hash())


def tree_key(diff: str) -> str:
    """Equal for equal trees made of one original: the diff's content without what a context line may vary in."""
    sections = sorted(
        "\n".join([str(p.paths), str(p.kind), str(p.new_mode), *p.binary_halves, *_changes(p)])
        for p in patches.parse(diff)
    )
    return hashlib.sha256(encode("\0".join(sections))).hexdigest()


def _key_or_none(artifact: Artifact) -> str | None:
    """The tree key; None for a diff that cannot be read, which is for the checks to say."""
    try:
        return tree_key(artifact.bug_inject)
    except patches.PatchError:
        return None


def _changes(patch: patches.FilePatch) -> list[str]:
    return [f"{one.start} {one.removed} {one.added}" for hunk in patch.hunks for one in changes(hunk)]


def _figures(artifact: Artifact, validation: Validation) -> dict[str, Any]:
    sections = patches.parse(artifact.bug_inject) if validation.valid else ()
    return {
        "suite_runs": validation.runs,
        "validation_seconds": validation.seconds,
        "files": [shown(section.path) for section in sections],
        "changed_lines": sum(section.added + section.removed for section in sections),
        "fail_to_pass": len(validation.fail_to_pass),
    }


def _bench(run: Injection, artifact: Artifact) -> Workbench:
    return Workbench(
        run.backend,
        run.prepared.world(),
        artifact,
        time_limit=run.thresholds.seconds,
        limits=run.limits,
        shared=run.cache,
    )


def _slug(prepared: Prepared) -> str:
    """A short name of the source: the project's, and the version or the commit."""
    name = re.split(r"[/:]", prepared.source.removeprefix("pypi:").split("==")[0].rstrip("/"))[-1]
    name = name.split("@")[0].removesuffix(".git")
    revision = prepared.revision if prepared.source.startswith("pypi:") else prepared.commit[:8]
    return re.sub(r"[^a-z0-9.]+", "-", f"{name}-{revision}".lower()).strip("-.")[:60] or "bug"
