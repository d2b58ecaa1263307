"""Failed attempts become second-order bugs (SSR section 5): the buggy tree plus a failed patch is the next task.

Rules that the paper leaves open, as in the specification: an attempt is dropped if it is empty, does not apply, was
refused by the oracle, touches only tests or changes no code. The failing set must not be empty, and some test must
still pass. No tree is used twice; the order is at most 2; a bug has at most `per_parent` children. Specification,
script, parser and file list are inherited. F2P and P2P are measured again, twice, and the new world is searched for
leaks like any other.
"""

import hashlib
from collections.abc import Sequence, Set
from dataclasses import replace

from selfplay.artifact import Bug
from selfplay.curriculum.records import PROMOTED, REPEATED, Attempt, Promotion
from selfplay.errors import SelfplayError
from selfplay.oracle.leak_audit.audit import AuditState, audit
from selfplay.oracle.world import open_world
from selfplay.patches import PatchError, is_test_file, parse
from selfplay.patches.substance import changes_code
from selfplay.plain_text import encode
from selfplay.repository import Prepared
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.second_order import Measured, measure_second_order
from selfplay.sandbox import Backend, SandboxError
from selfplay.version import VERSION
from selfplay.workbench import Workbench

PER_PARENT = 4
"""The most second-order bugs per parent bug."""
LONGEST_PARENT = 128 - len(".o2.") - 8
"""Letters of a parent's id in its child's, which has at most 128."""
HONEST_FAILURES = ("failing-tests", "missing-tests")
"""Grade reasons of an honest attempt that does not solve the bug; attempts with any other reason are not promoted."""


Looked = list[tuple[Promotion, str]]
"""Promotions, each with its diff."""


def promote(
    ready: ReadyBug,
    attempts: Sequence[Attempt],
    most: int,
    known: Set[str],
    prepared: Prepared,
    backend: Backend,
    *,
    unauditable: bool = False,
) -> Looked:
    """Look at failed attempts at one bug, in order, until `most` are promoted. `known`: trees of the other second-order
    bugs. `unauditable`: whether a bug whose world cannot be audited is allowed. Raises `SandboxError`."""
    found: list[tuple[Promotion, str]] = []
    seen = set(known)
    for attempt in attempts:
        if sum(promotion.bug is not None for promotion, _ in found) >= most:
            break
        promotion = _promotion(ready, attempt, seen, prepared, backend, unauditable)
        found.append((promotion, attempt.diff))
        seen.add(promotion.tree_hash or "")
    return found


def _promotion(
    ready: ReadyBug, attempt: Attempt, seen: Set[str], prepared: Prepared, backend: Backend, unauditable: bool
) -> Promotion:
    nothing = Promotion(attempt.bug, attempt.policy, attempt.number, _unfit(attempt))
    if nothing.status:
        return nothing
    task = replace(ready.task, extra=(attempt.diff,))
    try:
        with open_world(backend, task) as world:
            tree_hash = world.tree_hash
            if tree_hash in seen:
                return replace(nothing, status=REPEATED, tree_hash=tree_hash)
            audited = audit(world)
    except SandboxError:
        raise
    except SelfplayError as error:
        return replace(nothing, status=f"no world: {error.message}")
    if audited.worst:
        return replace(nothing, status=f"leaks: {audited.worst.where}", tree_hash=tree_hash)
    if audited.state is AuditState.NOT_AUDITABLE and not unauditable:
        return replace(nothing, status=f"not auditable: {audited.reason}", tree_hash=tree_hash)
    tests = (*ready.bug.fail_to_pass, *ready.bug.pass_to_pass)
    measured = measure_second_order(_bench(ready, prepared, backend), tests, ready.bug.flaky, attempt.diff)
    if isinstance(measured, str):
        return replace(nothing, status=measured, tree_hash=tree_hash)
    return replace(nothing, status=PROMOTED, tree_hash=tree_hash, bug=_bug(ready.bug, attempt, measured))


def _unfit(attempt: Attempt) -> str:
    """Why an attempt cannot become a bug, decided without running anything; empty when it can."""
    if attempt.reason not in HONEST_FAILURES:
        return attempt.reason
    try:
        sections = parse(attempt.diff)  # a graded diff is readable; a shared run may hold anything
    except PatchError as error:
        return f"no diff: {error.message}"
    if not sections:
        return "empty"
    if all(is_test_file(path) for section in sections for path in section.paths):
        return "test-only"
    return "" if changes_code(sections) else "no-op"


def _bench(ready: ReadyBug, prepared: Prepared, backend: Backend) -> Workbench:
    return Workbench(backend, prepared.world(), ready.artifact, time_limit=ready.seconds, shared=ready.runs)


def _bug(parent: Bug, attempt: Attempt, measured: Measured) -> Bug:
    fails, passes, flaky, said = measured
    digest = hashlib.sha256(encode(attempt.diff)).hexdigest()
    return Bug.model_validate(
        {
            **parent.model_dump(),
            "id": f"{_shortened(parent.id)}.o2.{digest[:8]}",
            "order": 2,
            "parent": parent.id,
            "root": parent.root or parent.id,
            "attempt": {"policy": attempt.policy, "number": attempt.number, "sha256": digest},
            "fail_to_pass": fails,
            "pass_to_pass": passes,
            "flaky": flaky,
            "verdicts": (*parent.verdicts, said.to_json()),
            "policy": attempt.policy,
            "versions": {**parent.versions, "selfplay": VERSION},
        }
    )


def _shortened(parent: str) -> str:
    """The parent's id where its child's still is one with what is added."""
    if len(parent) <= LONGEST_PARENT:
        return parent
    return f"{parent[: LONGEST_PARENT - 9]}.{hashlib.sha256(parent.encode()).hexdigest()[:8]}"
