"""The identity of a bug: its id, its record, and when two artifacts plant the same bug."""

import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay import patches
from selfplay.artifact import Artifact, Bug
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import hidden_tests
from selfplay.patches.changes import changes
from selfplay.plain_text import encode
from selfplay.repository import Prepared
from selfplay.validators import Thresholds, Validation
from selfplay.version import VERSION


@dataclass(frozen=True)
class Origin:
    """The facts that all bugs of one run share. `public_share`: the share of F2P shown to solvers; `environment`: what
    is needed to rebuild the repository's environment."""

    prepared: Prepared
    thresholds: Thresholds
    seed: int
    public_share: float
    environment: Mapping[str, Any]


def bug_of(origin: Origin, strategy: str, policy: str, artifact: Artifact, validation: Validation) -> Bug:
    """The record of a valid artifact."""
    prepared, content = origin.prepared, artifact.content_hash()
    return Bug(
        id=f"{source_name(prepared)}.{strategy}.{content[:8]}",
        strategy=strategy,
        seed=origin.seed,
        source=prepared.source,
        revision=prepared.revision,
        commit=prepared.commit,
        tree_hash=prepared.tree_hash,
        content_hash=content,
        fail_to_pass=validation.fail_to_pass,
        pass_to_pass=validation.pass_to_pass,
        flaky=validation.flaky,
        public_share=origin.public_share,
        hidden=_hidden(origin, artifact, validation.fail_to_pass),
        thresholds=origin.thresholds.to_json(),
        verdicts=tuple(verdict.to_json() for verdict in validation.verdicts),
        environment=dict(origin.environment),
        policy=policy,
        versions={"selfplay": VERSION, "python": platform.python_version()},
    )


def source_name(prepared: Prepared) -> str:
    """A short name of the source: the project's, and the version or the commit."""
    name = re.split(r"[/:]", prepared.source.removeprefix("pypi:").split("==")[0].rstrip("/"))[-1]
    name = name.split("@")[0].removesuffix(".git")
    revision = prepared.revision if prepared.source.startswith("pypi:") else prepared.commit[:8]
    return re.sub(r"[^a-z0-9.]+", "-", f"{name}-{revision}".lower()).strip("-.")[:60] or "bug"


def tree_key(diff: str) -> str:
    """A key that is equal for equal trees made from one original: the diff's content without its context lines."""
    sections = sorted(
        "\n".join([str(p.paths), str(p.kind), str(p.new_mode), *p.binary_halves, *_changes(p)])
        for p in patches.parse(diff)
    )
    return hashlib.sha256(encode("\0".join(sections))).hexdigest()


def _changes(patch: patches.FilePatch) -> list[str]:
    return [f"{one.start} {one.removed} {one.added}" for hunk in patch.hunks for one in changes(hunk)]


def _hidden(origin: Origin, artifact: Artifact, fail_to_pass: tuple[str, ...]) -> tuple[str, ...]:
    texts = original_texts(origin.prepared.world(), artifact.test_files)
    return hidden_tests(artifact.weakening, texts, fail_to_pass, origin.public_share, artifact.content_hash())
