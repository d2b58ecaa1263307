"""Bugs of many repositories, taken in the order of episodes or as they come; what a run cost is added up."""

from dataclasses import replace
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.artifact import Bug
from selfplay.curriculum import EpisodeRecord, open_curriculum


def of(repository: str, number: int, status: str = "valid") -> EpisodeRecord:
    """An episode of a repository; equal trees in different repositories are different bugs."""
    found = replace(result(number, status), repository=repository, versions=(number, number + 1), group="g")
    if found.bug is None:
        return found
    bug = Bug(**{**found.bug.model_dump(), "id": f"{repository}.{number}"})
    return replace(found, bug=bug)


def test_each_repository_has_its_own_numbers_trees_and_patience(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.record_repository("a", {"revision": "1"})
        for repository in ("a", "b"):
            for number in range(2):
                pool.episodes.store(of(repository, number))
        pool.episodes.store(of("b", 2, "invalid"))
        assert [bug.id for bug in pool.episodes.take(1, repository="a")] == ["a.0"]
        assert [bug.id for bug in pool.episodes.take(9, repository="b")] == ["b.0", "b.1"]
        assert (pool.episodes.count(), pool.episodes.count("a"), pool.episodes.waiting("a")) == (3, 1, 1)
        assert (pool.episodes.fruitless("a"), pool.episodes.fruitless("b")) == (0, 1)
        assert pool.episodes.finished("b") == {0, 1, 2}
        assert pool.episodes.keys("a") == {"tree 0"}
        assert pool.repositories() == {"a": {"revision": "1"}, "b": {}}
        assert (pool.episodes.suffix("a"), pool.episodes.suffix("b"), pool.episodes.suffix("new")) == ("", "-2", "-3")
        (first, *_) = pool.episodes.with_bugs()
        assert (first.repository, first.versions, first.group) == ("a", (0, 1), "g")
    assert sorted(path.name for path in (tmp_path / "bugs").iterdir()) == ["a.0", "b.0", "b.1"]


def test_bugs_may_be_taken_as_they_come(tmp_path: Path) -> None:
    """Episode 0 is a straggler: in order nothing can be taken before it, as they come the others can."""
    with open_curriculum(tmp_path) as pool:
        for number in (3, 1):
            pool.episodes.store(result(number))
        assert pool.episodes.take(9) == []
        assert [bug.id for bug in pool.episodes.take(9, in_order=False)] == ["b.3", "b.1"]
        pool.episodes.store(result(2, "invalid"))
        pool.episodes.store(result(0, tree="tree 3"))
        assert pool.episodes.take(9, in_order=False) == []
        assert pool.episodes.fruitless() == 2
        assert [(e.number, e.status) for e in pool.episodes.records()] == [
            (0, "duplicate"), (1, "valid"), (2, "invalid"), (3, "valid"),
        ]  # fmt: skip
        assert [bug.id for bug in pool.bugs()] == ["b.3", "b.1"]


def test_costs_are_those_of_the_whole_run(tmp_path: Path) -> None:
    for wall, core in ((1.5, 1.0), (2.0, 0.25)):
        with open_curriculum(tmp_path) as pool:
            pool.add_cost("bugs", wall, core)
    with open_curriculum(tmp_path) as pool:
        assert pool.costs() == {"bugs": (pytest.approx(3.5), pytest.approx(1.25))}


def test_a_bug_that_sets_the_task_of_an_earlier_one_is_a_duplicate(tmp_path: Path) -> None:
    """Other trees, one weakening: a solver is told the same. The same task in another repository is another one."""
    with open_curriculum(tmp_path) as pool:
        for name, task in {"a0": "t", "a1": "t", "a2": "u", "a3": "", "a4": "", "b0": "t"}.items():
            found = of(name[0], int(name[1]))
            pool.episodes.store(replace(found, figures=found.figures.model_copy(update={"task": task})))
        assert [bug.id for bug in pool.episodes.take(9, repository="a")] == ["a.0", "a.2", "a.3", "a.4"]
        assert [bug.id for bug in pool.episodes.take(9, repository="b")] == ["b.0"]
        assert pool.episodes.keys("a") == {"tree 0", "tree 2", "tree 3", "tree 4", "t", "u"}
        assert [e.status for e in pool.episodes.records("a")] == ["valid", "duplicate", "valid", "valid", "valid"]
