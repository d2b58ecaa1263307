"""`selfplay solve`, second-order bugs and predictions, on a finished run of the tiny repository."""

import asyncio
import json
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny_repository
from copied_runs import copy_of
from run_fixtures import Command, Done, done_once, with_calibrations
from together import made_once

from selfplay import patches
from selfplay.agent import EpisodeLimits
from selfplay.agent.actions import Call
from selfplay.agent.trajectory import load as load_trajectory
from selfplay.api import Quiet
from selfplay.artifact import load, load_bug
from selfplay.commands import attemptable_bugs
from selfplay.commands.solve import SolveOrder, run_solve, solve_pool
from selfplay.curriculum import Attempt, Curriculum, CurriculumError, open_curriculum
from selfplay.curriculum.summary import summarise
from selfplay.oracle.leak_audit.audit import Audit
from selfplay.repository import Prepared, rebuild
from selfplay.roles.role import Role
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers
from selfplay.scripted.policy import Script, ScriptedPolicy
from selfplay.sft.lessons import lessons
from selfplay.sft.successes import Success

pytestmark = pytest.mark.slow  # a whole run to attempt, and many attempts

SUBMIT = Call("submit", {"folder": "/testbed"})


@pytest.fixture(scope="session")
def pair(selfplay: Command, shop: Path, together: Path) -> Path:
    """A finished run of two bugs with their calibrations: copy it, never write to it."""
    out, done = done_once(
        together / "pair", lambda out: selfplay("curriculum", shop, "--out", out, "--bugs", 2, "--seed", 3)
    )
    assert done.code == 0, done.err
    return made_once(together / "pair-calibrated", lambda folder: with_calibrations(selfplay, out, folder))


@pytest.fixture
def run(pair: Path, tmp_path: Path) -> Path:
    return copy_of(pair, tmp_path / "run")


def attempts(run: Path) -> list[Attempt]:
    with open_curriculum(run) as pool:
        return list(pool.attempts.all())


@pytest.fixture(scope="session")
def solved(selfplay: Command, pair: Path, together: Path) -> tuple[Path, Done]:
    """The run after two shallow attempts at each of its two bugs, with second-order bugs made of them."""

    def solve(run: Path) -> Done:
        copy_of(pair, run)
        return selfplay("solve", run, "--attempts", 2, "--policy", "naive", "--promote", 1, "--json")

    return done_once(together / "solved", solve)


def test_every_bug_is_attempted_and_every_attempt_kept(solved: tuple[Path, Done]) -> None:
    run, done = solved
    assert done.code == 0, done.err
    found = done.json["solving"]["naive"]["order_1"]
    assert (found["bugs"], found["attempts"]) == (2, 4) and sum(found["histogram"].values()) == 2
    assert json.loads((run / "summary.json").read_text()) == done.json
    ids = {bug["id"] for bug in done.json["bugs"]}
    assert {(a.bug, a.policy, a.number) for a in attempts(run)} == {(bug, "naive", n) for bug in ids for n in (0, 1)}
    for attempt in attempts(run):
        assert attempt.resolved == (attempt.reason == "resolved")
        trajectory = load_trajectory(
            run / "trajectories" / f"{attempt.bug}-naive-{attempt.number:03d}-solver.jsonl.zst"
        )
        assert trajectory.role == "solver" and trajectory.submission == "/testbed"
        assert not any(patches.is_test_file(path) for path in patches.touched_paths(attempt.diff))


@pytest.mark.long
def test_the_same_command_again_plays_nothing_and_more_attempts_go_on(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    before = [a for a in attempts(run) if ".o2." not in a.bug]
    bug, other = sorted({a.bug for a in before})
    shutil.rmtree(run / "bugs" / other)
    done = selfplay("solve", run, "--attempts", 3, "--policy", "naive", "--json")
    assert done.code == 0, done.err
    assert f"{other} is left out" in done.err  # named, and nothing else is lost
    own = [a.number for a in attempts(run) if a.bug == bug]
    assert own == [0, 1, 2] and [a for a in attempts(run) if a.bug == bug][:2] == [a for a in before if a.bug == bug]


def test_a_player_without_anything_to_do_is_not_opened(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine takes half a minute to open."""

    async def refused(self: ScriptedPlayer, say: Callable[[str], None]) -> None:
        raise CurriculumError("opened")

    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    monkeypatch.setattr(ScriptedPlayer, "open", refused)
    run, quiet = copy_of(solved[0], tmp_path / "run"), Quiet()
    bugs = tuple(sorted({a.bug for a in attempts(run) if ".o2." not in a.bug}))
    run_solve(SolveOrder(run, 2, "naive", bugs=bugs), backend, quiet)
    with pytest.raises(CurriculumError, match="opened"):
        run_solve(SolveOrder(run, 3, "naive", bugs=bugs), backend, quiet)


@pytest.mark.slow
def test_the_gold_patch_is_resolved_and_the_untouched_world_is_not(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    for policy in ("gold", "empty"):
        done = selfplay("solve", run, "--attempts", 1, "--policy", policy, "--json")
        assert done.code == 0, done.err
        for order in ("order_1", "order_2"):  # the second-order bugs, too
            rates = done.json["solving"][policy][order]
            assert rates["bugs"] > 0 and rates["resolved"] == (rates["attempts"] if policy == "gold" else 0)


@pytest.mark.slow
def test_second_order_bugs_have_lineage_and_are_valid_bugs(selfplay: Command, solved: tuple[Path, Done]) -> None:
    run, done = solved
    second = done.json["quality"]["second_order"]
    assert second["bugs"] >= 1  # of four failed attempts at two bugs, one a bug asked for
    with open_curriculum(run) as pool:
        children, parents = pool.attempts.bugs(), {bug.id: bug for bug in pool.bugs()}
    assert len(children) == second["bugs"] and len({child.parent for child in children}) == len(children)
    for child in children:
        parent = parents[child.parent or ""]
        assert child.order == 2 and child.root == parent.id and child.attempt and child.attempt.policy == "naive"
        assert load_bug(run / "bugs" / child.id) == child and load(run / "bugs" / child.id) == load(
            run / "bugs" / parent.id
        )
        wanted = {*parent.fail_to_pass, *parent.pass_to_pass}
        assert {*child.fail_to_pass, *child.pass_to_pass} <= wanted and child.fail_to_pass
        (own,) = [a for a in attempts(run) if (a.bug, a.number) == (parent.id, child.attempt.number)]
        assert (run / "bugs" / child.id / "attempt.diff").read_text() == own.diff and not own.resolved
    validated = selfplay("validate", run / "bugs" / children[0].id, "--json")
    assert validated.code == 0, validated.out
    assert [v["check"] for v in validated.json[0]["verdicts"]][-1] == "second order"
    shown = selfplay("show", run / "bugs" / children[0].id)
    assert shown.code == 0 and f"order 2: {children[0].parent} and attempt" in shown.out and "attempt.diff" in shown.out


@pytest.mark.slow
def test_a_second_order_bug_with_another_attempt_is_refused(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    child = next(path for path in sorted((run / "bugs").iterdir()) if (path / "attempt.diff").exists())
    (child / "attempt.diff").write_text((child / "attempt.diff").read_text() + "\n")
    done = selfplay("validate", child, "--json")
    assert done.code == 1
    assert "attempt.diff is not the attempt bug.json was written for" in done.json[0]["verdicts"][-1]["reason"]
    (child / "attempt.diff").unlink()
    graded = selfplay("audit", child)
    assert graded.code == 2 and "attempt.diff is missing" in graded.err


@pytest.mark.long
def test_order_two_in_one_command_and_again(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    command = ["curriculum", shop, "--out", tmp_path, "--bugs", 1, "--order", 2, "--public-share", 0.5, "--json"]
    done = selfplay(*command, "--attempts", 2)
    assert done.code == 0, done.err
    assert done.json["figures"]["bugs"] == 1 and done.json["solving"]["scripted"]["order_1"]["attempts"] == 2
    assert "second_order" in done.json["cost"]
    bugs = [load_bug(path) for path in sorted((tmp_path / "bugs").iterdir())]
    assert {bug.public_share for bug in bugs} == {0.5}
    assert len({bug.hidden for bug in bugs}) == 1  # a second-order bug is told what its parent is
    assert 2 * len(bugs[0].hidden) <= len(bugs[0].fail_to_pass)
    promoted = done.json["quality"]["second_order"]
    assert len(bugs) == 1 + promoted["bugs"]
    failed = 2 - done.json["solving"]["scripted"]["order_1"]["resolved"]
    assert sum(promoted["statuses"].values()) == failed  # each failed attempt was looked at

    episodes = sorted((tmp_path / "trajectories").glob("*-solver.jsonl.zst"))
    assert len(episodes) == 2  # a search and a naive one: both can be said to a model, call by call
    assert all(len(lessons(Success(path, SOLVER, "the task"), 4000)) == 1 for path in episodes)

    again = selfplay(*command, "--attempts", 2)
    assert again.code == 0, again.err
    assert again.json["solving"] == done.json["solving"] and again.json["quality"] == done.json["quality"]
    fewer = selfplay(*command, "--attempts", 1)  # what was played is not forgotten
    assert fewer.code == 0 and fewer.json["solving"] == done.json["solving"], fewer.err


@pytest.mark.long
def test_a_kill_loses_no_attempt_and_counts_none_twice(selfplay: Command, run: Path) -> None:
    """Killed once an attempt is stored, with so many to go that none is the last before the kill comes."""
    with selfplay.running("solve", run, "--attempts", 4, "--policy", "naive") as solving:
        solving.until(" naive ")
        solving.ends_by(signal.SIGKILL)
    kept = attempts(run)
    assert 1 <= len(kept) < 8  # two bugs
    done = selfplay("solve", run, "--attempts", 4, "--policy", "naive", "--json")
    assert done.code == 0, done.err
    assert len(attempts(run)) == 8 and [a for a in attempts(run) if a in kept] == kept
    assert done.json["solving"]["naive"]["order_1"]["attempts"] == 8


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--policy", "nobody"), "there is no policy 'nobody'"),
        (("--attempts", 0), "Invalid value for '--attempts'"),
    ],
)
def test_what_cannot_be_asked_for(selfplay: Command, run: Path, options: tuple[object, ...], says: str) -> None:
    done = selfplay.here("solve", run, *options)
    assert done.code == 2 and says in done.err


def test_a_folder_without_a_curriculum_and_a_run_without_its_original(
    selfplay: Command, run: Path, tmp_path: Path
) -> None:
    done = selfplay.here("solve", tmp_path / "nothing")
    assert done.code == 2 and f"{tmp_path / 'nothing'} has no curriculum" in done.err
    assert not (tmp_path / "nothing").exists()
    shutil.rmtree(run / "original")
    done = selfplay("solve", run)
    assert done.code == 2 and f"{run / 'original'} is gone" in done.err


def test_a_corrupt_row_is_a_clear_error(selfplay: Command, run: Path) -> None:
    with sqlite3.connect(run / "curriculum.sqlite") as database:
        database.execute("UPDATE episodes SET bug = '{\"id\": 3}' WHERE bug IS NOT NULL")
    done = selfplay("solve", run)
    assert done.code == 2 and "selfplay: a row of the pool is damaged: id: a text is needed, not 3" in done.err


def test_the_run_is_shown_with_its_figures(selfplay: Command, solved: tuple[Path, Done]) -> None:
    done = selfplay("show", solved[0])
    assert done.code == 0, done.err
    for line in (
        "changed lines",
        "near-duplicates",
        "entropy over functions",
        "gold patch resolved",
        "mean solve rate",
    ):
        assert line in done.out


# -- players of the tests' own, in process ---------------------------------------------------------------------


class Puppet:
    """A player whose attempts are the scripts given, by number."""

    name = "puppet"
    episodes = 0
    limits = EpisodeLimits()
    settings: Mapping[str, object] = {}

    def __init__(self, *scripts: Callable[[], Script[None]]) -> None:
        self.scripts = scripts

    async def open(self, say: Callable[[str], None]) -> None: ...

    def policy(self, role: Role[Any], task: Any) -> ScriptedPolicy:
        assert isinstance(task, SolverTask)
        return ScriptedPolicy("puppet", self.scripts[task.number]())

    async def close(self) -> None: ...


def steps(*calls: Call) -> Callable[[], Script[None]]:
    def play() -> Script[None]:
        for call in calls:
            _ = yield call

    return play


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


class Solved:
    """An open pool whose first bug the scripts attempt."""

    def __init__(self, pool: Curriculum, prepared: Prepared, backend: Backend, scripts: Sequence[Any]) -> None:
        self.pool, self.prepared, self.backend = pool, prepared, backend
        self.player, self.attempts = Puppet(*scripts), len(scripts)
        self.bug = pool.episodes.bugs()[0]
        self.said: list[str] = []

    def again(self, per_parent: int = 0, *, unauditable: bool = False) -> list[Attempt]:
        """Play what is not stored yet, and make so many second-order bugs. The stored attempts."""

        async def main() -> None:
            with Workers(2) as workers:
                seats = SandboxPool(self.backend)
                run = SolverRun(self.prepared, "puppet", self.player, seats, workers, unauditable=unauditable)
                await solve_pool(run, self.pool, self.attempts, per_parent, frozenset({self.bug.id}), self)

        asyncio.run(main())
        return [attempt for attempt in self.pool.attempts.all() if attempt.policy == "puppet"]

    def say(self, line: str) -> None:
        self.said.append(line)

    def expect(self, total: int | None, doing: str = "", done: int = 0) -> None: ...

    def attempt(self, attempt: Attempt) -> None: ...


Puppets = Callable[..., Solved]


@pytest.fixture
def puppets(run: Path, selfplay: Command, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Puppets]:
    """`puppets(*scripts)`: an open pool, and what solves its first bug by these scripts."""
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    with open_curriculum(run) as pool:

        def make(*scripts: Callable[[], Script[None]]) -> Solved:
            prepared = rebuild(run / "original", pool.bugs()[0].environment, backend=backend)
            return Solved(pool, prepared, backend, scripts)

        yield make


def test_what_is_handed_in_and_when(puppets: Puppets) -> None:
    solved = puppets(
        steps(),  # nothing
        steps(bash("echo 'x = 1' >> tinyshop/words.py")),  # changed, never submitted
        steps(SUBMIT),  # submitted without a change
        steps(SUBMIT, bash("echo 'x = 1' >> tinyshop/words.py"), SUBMIT),  # twice: the last counts
        steps(SUBMIT, bash("echo 'x = 1' >> tinyshop/words.py")),  # what stands at the end counts
        steps(bash("echo 'x = 1' >> tests/test_words.py; echo 'y = 2' >> tinyshop/words.py"), SUBMIT),
        steps(*[bash(f"echo {n}") for n in range(200)], SUBMIT),  # after its budget
    )  # fmt: skip
    found = solved.again()
    assert [attempt.reason for attempt in found] == [
        "nothing-handed-in", "nothing-handed-in", "empty", "failing-tests", "failing-tests", "failing-tests",
        "nothing-handed-in",
    ]  # fmt: skip
    assert "nothing was submitted (gave up)" in found[0].detail and "(out of calls)" in found[6].detail
    assert found[3].diff == found[4].diff != ""
    assert patches.touched_paths(found[5].diff) == ("tinyshop/words.py",)  # tests are put back anyway
    assert found[5].figures.left_out == ("tests/test_words.py",)


def test_a_policy_that_fails_ends_its_attempt_alone(puppets: Puppets) -> None:
    def broken() -> Script[None]:
        yield bash("true")
        raise RuntimeError("no idea")

    found = puppets(broken, steps(SUBMIT)).again()
    assert [attempt.reason for attempt in found] == ["nothing-handed-in", "empty"]
    assert "policy error: RuntimeError: no idea" in found[0].detail


def test_a_world_that_cannot_be_audited_is_left_out_unless_it_is_asked_for(
    puppets: Puppets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attemptable_bugs, "search_world", lambda *_: Audit(0, (), 0, "nothing to tell it by"))
    solved = puppets(steps(SUBMIT))
    assert solved.again() == []
    assert f"{solved.bug.id} cannot be audited: nothing to tell it by" in solved.said
    assert (
        solved.said[-1]
        == f"worlds that cannot be audited, left out; `selfplay solve --unauditable` takes them: {solved.bug.id}"
    )
    assert summarise(solved.pool)["quality"]["not_auditable"] == [solved.bug.id]
    assert [attempt.reason for attempt in solved.again(unauditable=True)] == ["empty"]  # and it is not searched again


@pytest.mark.long
def test_what_is_promoted_and_what_is_not(puppets: Puppets) -> None:
    change = bash("echo 'x = 1' >> tinyshop/words.py")
    solved = puppets(
        steps(SUBMIT),
        steps(bash("echo '# a remark' >> tinyshop/words.py"), SUBMIT),
        steps(bash("echo 'def test_x(): pass' > tests/test_new.py"), SUBMIT),
        steps(change, SUBMIT),
        steps(change, SUBMIT),
        steps(bash("echo 'import sys; sys.exit(1)' > conftest.py"), SUBMIT),
        steps(bash("rm -r tinyshop"), SUBMIT),
        steps(bash("printf 'x = (\\n' >> tinyshop/words.py"), SUBMIT),
        steps(bash("echo 'z = 1' >> tinyshop/words.py"), SUBMIT),
    )  # fmt: skip
    solved.again(per_parent=2)
    pool = solved.pool
    statuses = [(p.number, p.status) for p in pool.attempts.promotions()]
    assert statuses[:6] == [
        (0, "empty"), (1, "no-op"), (2, "empty"), (3, "promoted"), (4, "duplicate"),
        (5, "touches-infrastructure"),
    ]  # fmt: skip
    assert statuses[6] == (6, "nothing passes")  # every test is gone
    assert statuses[7][1] == "promoted" and len(statuses) == 8  # two were asked for: the ninth is not looked at
    solved.again(per_parent=2)
    assert len(pool.attempts.promotions()) == 8  # the same again makes nothing
    solved.again(per_parent=3)
    assert [p.status for p in pool.attempts.promotions()][8:] == ["promoted"]
    broken = pool.attempts.bugs()[1]
    assert set(broken.fail_to_pass) > set(solved.bug.fail_to_pass)  # a module that no longer loads takes more along
    assert len({p.tree_hash for p in pool.attempts.promotions() if p.bug}) == 3


@pytest.mark.slow
def test_a_leaking_bug_reaches_no_solver(selfplay: Command, source: Callable[..., Path], tmp_path: Path) -> None:
    code = ("tinyshop/prices.py", "tinyshop/stock.py", "tinyshop/words.py")
    pasted = "\n".join(tiny_repository.FILES[path] for path in code)
    repository, out = source({**tiny_repository.FILES, "docs/notes.txt": pasted}), tmp_path / "out"
    assert selfplay("curriculum", repository, "--out", out, "--bugs", 1, "--strategy", "removal").code == 0
    done = selfplay("solve", out, "--attempts", 1, "--policy", "naive")
    assert done.code == 2 and "could be attempted" in done.err, done.err
    assert "is left out: docs/notes.txt gives" in done.err
    quality = json.loads((out / "summary.json").read_text())["quality"]
    assert (quality["leaking"], quality["audited"]) == (1, 1) and attempts(out) == []


# -- predictions -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_of_predictions_is_graded(selfplay: Command, run: Path, tmp_path: Path) -> None:
    bugs = sorted(path.name for path in (run / "bugs").iterdir())
    gold = patches.reverse(load(run / "bugs" / bugs[0]).bug_inject)
    lines = [{"instance_id": bugs[0], "model_patch": gold, "model_name_or_path": "gold"}]
    lines.append({"instance_id": bugs[1], "model_patch": None})
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = selfplay("grade", run, "--predictions", file, "--json")
    assert done.code == 1, done.err  # not all are resolved
    assert {bug: grade["reason"] for bug, grade in done.json.items()} == {bugs[0]: "resolved", bugs[1]: "empty"}
    file.write_text(json.dumps(lines[:1]))
    done = selfplay("grade", run, "--predictions", file)
    assert done.code == 0 and "1 of 1 resolved" in done.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"instance_id": "who", "model_patch": ""}\n', "1 prediction is for no bug of"),
        ("", "has no prediction"),
        ("[]", "has no prediction"),
        ("{", "is not JSON"),
        ("[3]", "an entry is not an object"),
        ("[" * 200_000, "nested too deep"),
        ('{"instance_id": "a", "model_patch": false}', "entry 1 has no instance_id or no model_patch"),
        ('{"instance_id": "a", "model_patch": ["x"]}', "entry 1 has no instance_id or no model_patch"),
        ('{"model_patch": "x"}', "entry 1 has no instance_id or no model_patch"),
        ('{"instance_id": "a", "model_patch": ""}\n{"instance_id": "a", "model_patch": ""}', "entry 2 is the second"),
        (b"\xff\xfe", "is not JSON as we write it"),
    ],
)
def test_a_file_that_holds_no_predictions(
    selfplay: Command, pair: Path, tmp_path: Path, content: str | bytes, says: str
) -> None:
    file = tmp_path / "predictions.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = selfplay.here("grade", pair, "--predictions", file)
    assert done.code == 2 and says in done.err


def test_one_kind_of_prediction_is_asked_for(selfplay: Command, run: Path) -> None:
    done = selfplay.here("grade", run)
    assert done.code == 2 and "give --patch FILE for one bug, or --predictions FILE for a run" in done.err
