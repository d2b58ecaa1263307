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
from selfplay.artifact.bug import FailedAttempt
from selfplay.curriculum.records import PROMOTED, REPEATED, Attempt, Promotion
from selfplay.errors import SelfplayError
from selfplay.oracle.leak_audit.audit import AuditState, audit
from selfplay.oracle.world import open_world
from selfplay.patches import is_test_file, parse
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
    measured = measure_second_order(_bench(ready, prepared, backend), ready.bug, attempt.diff)
    if isinstance(measured, str):
        return replace(nothing, status=measured, tree_hash=tree_hash)
    return replace(nothing, status=PROMOTED, tree_hash=tree_hash, bug=_bug(ready.bug, attempt, measured))


def _unfit(attempt: Attempt) -> str:
    """Why an attempt cannot become a bug, decided without running anything; empty when it can."""
    if attempt.reason not in HONEST_FAILURES:
        return attempt.reason
    sections = parse(attempt.diff)  # cannot fail: a graded diff is readable
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
    return parent.model_copy(
        update={
            "id": f"{parent.id}.o2.{digest[:8]}",
            "order": 2,
            "parent": parent.id,
            "root": parent.root or parent.id,
            "attempt": FailedAttempt(policy=attempt.policy, number=attempt.number, sha256=digest),
            "fail_to_pass": fails,
            "pass_to_pass": passes,
            "flaky": flaky,
            "verdicts": (*parent.verdicts, said.to_json()),
            "policy": attempt.policy,
            "versions": {**parent.versions, "selfplay": VERSION},
        }
    )
