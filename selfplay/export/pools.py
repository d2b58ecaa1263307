"""Collects the bugs of pools with all facts for a dataset. A damaged bug is left out, counted and named."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from selfplay import patches
from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.curriculum import Curriculum, CurriculumError, read_pool
from selfplay.curriculum.solving import Solves, solves
from selfplay.curriculum.stored_bugs import is_tree, original_of, read_attempt, read_bug
from selfplay.curriculum.trust import is_own
from selfplay.errors import SelfplayError
from selfplay.export.bug_selection import BugSelection
from selfplay.export.compose_diffs import undoing
from selfplay.export.names import instance_id
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import hidden_tests, specification
from selfplay.repository.detection.licence import licence_of
from selfplay.rollout.controls import CONTROLS
from selfplay.sandbox import World

MOST_TEXTS = 400
"""Original test files that are kept in memory: bugs of one repository share them."""


@dataclass(frozen=True)
class PoolBug:
    """A bug as it is exported. `id`: unique in the dataset. `attempt`: the failed attempt in a second-order bug.
    `original`: its repository's tree; `environment`: equal for bugs whose original and environment are equal.
    `specification`: the tests that a solver is shown, as a diff; empty if nothing was weakened. `run`: the folder of
    its pool. `patch`: the gold patch, which undoes the failed attempt and the bug; `repairs`: the paths it touches;
    `test_patch`: restores the weakened tests. `parent`, `root`: the dataset names of the bugs that a second-order bug
    comes from."""

    id: str
    bug: Bug
    artifact: Artifact
    attempt: str | None
    original: Path
    language: str
    licence: str | None
    environment: str
    specification: str
    run: Path
    patch: str
    repairs: tuple[str, ...]
    test_patch: str
    solved: Solves = field(default_factory=dict)
    parent: str | None = None
    root: str | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """The diffs that turn the original into the tree that a solver gets."""
        return (*self.artifact.diffs, *((self.attempt,) if self.attempt else ()))

    @property
    def solve_rate(self) -> float | None:
        """The share of all attempts that are resolved; None without an attempt."""
        made = sum(one["attempts"] for one in self.solved.values())
        return sum(one["resolved"] for one in self.solved.values()) / made if made else None


@dataclass
class Collected:
    """The bugs of an export by id, and what was left out: damaged bugs by name, others by count."""

    bugs: list[PoolBug] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def leave_out(self, why: Mapping[str, str]) -> None:
        """Leave out the bugs of these names as damaged. Raises `CurriculumError` if no bug is left."""
        self.damaged.update(why)
        self.bugs = [one for one in self.bugs if one.id not in why]
        if not self.bugs:
            said = ", ".join(f"{count} {what}" for what, count in sorted(self.left_out.items()))
            said = ", ".join(filter(None, [said, *(f"{bug}: {text}" for bug, text in list(self.damaged.items())[:3])]))
            raise CurriculumError("there is no bug to export", f"Left out: {said}." if said else "Make some first.")


def collect(runs: Sequence[Path], choice: BugSelection) -> Collected:
    """The chosen bugs of these runs. Raises `CurriculumError` for a folder that is not a run, and if no bug is left."""
    found = Collected()
    for run in runs:
        with read_pool(run) as pool:
            _Reader(run, pool, choice, found).read()
    found.bugs = sorted(_named(found), key=lambda one: one.id)
    found.leave_out({})
    return found


def _named(found: Collected) -> Iterator[PoolBug]:
    """Each bug once, under a unique name: of different bugs with one name, all but one get a part of their hash.
    Parents are named likewise."""
    named: dict[str, dict[str, list[PoolBug]]] = {}
    for one in found.bugs:
        named.setdefault(one.id, {}).setdefault(_identity(one), []).append(one)
    names: dict[tuple[Path, str | None], str] = {}
    for name, same in named.items():
        for place, (digest, equal) in enumerate(sorted(same.items())):
            names |= {(one.run, one.bug.id): f"{name}.{digest[:12]}" if place else name for one in equal}
    own = {run: is_own(run) for run in {one.run for one in found.bugs}}
    for equal in (equal for same in named.values() for equal in same.values()):
        one = max(equal, key=lambda one: own[one.run])  # the user's own record before another's of the same bug
        parent, root = (
            names.get((one.run, known), instance_id(known)) if known else None
            for known in (one.bug.parent, one.bug.root)
        )
        yield replace(one, id=names[one.run, one.bug.id], parent=parent, root=root)
    if twice := len(found.bugs) - len(set(names.values())):
        found.left_out["in two pools"] += twice


def _identity(one: PoolBug) -> str:
    attempt = one.bug.attempt.sha256 if one.bug.attempt else ""
    return hashlib.sha256(f"{one.bug.tree_hash} {one.bug.content_hash} {attempt}".encode()).hexdigest()


class _Reader:
    """Reads the bugs of one run."""

    def __init__(self, run: Path, pool: Curriculum, choice: BugSelection, found: Collected) -> None:
        self.run, self.pool, self.choice, self.found = run, pool, choice, found
        self.solved = _solved(pool)
        made = pool.episodes.with_bugs()
        self.bugs = [*(one.bug for one in made if one.bug), *pool.imports.bugs(), *pool.attempts.bugs()]
        self.trees = {one.bug.tree_hash: pool.episodes.original(one.repository) for one in made if one.bug}
        self.languages = {name: str(facts.get("language") or "") for name, facts in pool.repositories().items()}
        self.licences: dict[Path, str | None] = {}
        self.texts: dict[tuple[Path, str], dict[str, str]] = {}

    def read(self) -> None:
        for known in self.bugs:
            solved = self.solved.get(known.id, {})
            if why := self.choice.refuses(known, solved):
                self.found.left_out[why] += 1
                continue
            try:
                self.found.bugs.append(self._one(known, solved))
            except (SelfplayError, ValueError) as error:
                self.found.damaged[f"{self.run}: {known.id}"] = str(error).partition("\n")[0]

    def _one(self, known: Bug, solved: Solves) -> PoolBug:
        folder = self.run / "bugs" / known.id
        bug, artifact, _ = read_bug(folder)
        original = original_of(self.run, bug, self.trees)
        if original is None or not is_tree(bug.tree_hash):
            raise ArtifactError(f"the original of {bug.id} is not in {self.run}")
        attempt = read_attempt(folder, bug) if bug.attempt else None
        patch = undoing(original, [diff for diff in (artifact.bug_inject, attempt) if diff])
        test_patch = patches.reverse(artifact.test_weaken) if artifact.test_weaken else ""
        language = self.languages.get(bug.source) or _language(bug)
        one = PoolBug(
            id=instance_id(bug.id),
            bug=bug,
            artifact=artifact,
            attempt=attempt,
            original=original,
            language=language,
            licence=self._licence(original),
            environment=environment_key(bug, language),
            specification=self._specification(bug, artifact, original) if self._hides(bug) else test_patch,
            run=self.run,
            patch=patch,
            repairs=patches.touched_paths(patch),
            test_patch=test_patch,
            solved=solved,
        )
        refuse_odd(one)
        return one

    def _licence(self, original: Path) -> str | None:
        if original not in self.licences:
            self.licences[original] = licence_of(original)
        return self.licences[original]

    def _hides(self, bug: Bug) -> bool:
        return bool(bug.hidden) or self.choice.public_share is not None

    def _specification(self, bug: Bug, artifact: Artifact, original: Path) -> str:
        share = self.choice.public_share
        if artifact.test_weaken is None:
            return ""
        texts = self._original_texts(original, patches.touched_paths(artifact.test_weaken))
        hidden: Sequence[str] = bug.hidden
        if share is not None:
            hidden = hidden_tests(artifact.test_weaken, texts, bug.fail_to_pass, share, bug.content_hash)
        return specification(artifact.test_weaken, texts, hidden)

    def _original_texts(self, original: Path, paths: Sequence[str]) -> Mapping[str, str]:
        key = (original, "\0".join(paths))
        if key not in self.texts:
            if len(self.texts) >= MOST_TEXTS:
                self.texts.clear()
            self.texts[key] = original_texts(World(tree=(original,)), paths)
        return self.texts[key]


def _solved(pool: Curriculum) -> dict[str, Solves]:
    """Bug -> policy -> its solves, without controls."""
    every = (one for one in pool.attempts.all(diffs=False) if one.policy not in CONTROLS)
    return solves(every)


def _language(bug: Bug) -> str:
    return "python" if bug.environment.get("python") else "unknown"


def environment_key(bug: Bug, language: str) -> str:
    """Equal for bugs that can share an image of their environment: everything that is written for it is in the key."""
    known = {name: bug.environment.get(name) for name in ("python", "setup", "version", "lock", "image", "as_of")}
    return hashlib.sha256(json.dumps([bug.tree_hash, language, known], sort_keys=True).encode()).hexdigest()[:16]


def refuse_odd(one: PoolBug) -> None:
    """Raises `ArtifactError` for a bug that JSON cannot hold, or whose repair and tests share a file."""
    texts = (*one.artifact.texts().values(), one.attempt or "", *one.bug.fail_to_pass, *one.bug.pass_to_pass)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ArtifactError("its files hold bytes that are not UTF-8, which no JSON text can hold") from error
    tests = set(one.artifact.test_files)
    if both := sorted(tests & set(one.repairs)):
        raise ArtifactError(f"its repair and its tests share the file {both[0]!r}")
