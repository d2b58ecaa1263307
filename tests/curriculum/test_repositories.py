"""A pool of several repositories: settings that bind one of them, its tree, its row in the summary."""

from dataclasses import replace
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.curriculum import CurriculumError, OtherSettings, open_curriculum, read_pool
from selfplay.curriculum.repositories import repository_rows

FIRST, SECOND = "pypi:a", "pypi:b"


def test_what_fixes_one_repository_binds_it_alone(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "list.txt", "seed": 1})
        pool.add_repositories([FIRST, SECOND])
        for name in (FIRST, SECOND):
            pool.settle_repository(name, {"test": f"test {name}"})
        pool.episodes.store(replace(result(0), repository=FIRST))
        pool.settle_repository(SECOND, {"test": "mended"})
        with pytest.raises(OtherSettings, match="made with repository pypi:a: test = 'test pypi:a', not 'other'"):
            pool.settle_repository(FIRST, {"test": "other"})
        assert pool.repository_setting(FIRST, "test", str, "") == "test pypi:a"
        assert pool.repository_setting(SECOND, "test", str, "") == "mended"


def test_a_run_of_one_repository_keeps_its_settings_when_others_join(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": FIRST, "test": "one"})
        pool.episodes.store(replace(result(0), repository=FIRST))
        with pytest.raises(OtherSettings, match="made with test = 'one', not 'two'"):
            pool.settle_repository(FIRST, {"test": "two"})
        pool.settle_repository(SECOND, {"test": "two"})
        assert [pool.repository_setting(name, "test", str, "") for name in (FIRST, SECOND)] == ["one", "two"]


def test_a_row_for_each_repository(tmp_path: Path) -> None:
    """Of three artifacts of the first two are valid, one of them a duplicate, which is not judged: 1 of 2."""
    with open_curriculum(tmp_path) as pool:
        pool.add_repositories([FIRST, SECOND])
        for number, (status, tree) in enumerate([("valid", "t"), ("invalid", "u"), ("valid", "t"), ("gave_up", "v")]):
            pool.episodes.store(replace(result(number, status, tree), repository=FIRST))
        pool.episodes.take(9, repository=FIRST)
        pool.add_cost(FIRST, 90.0, 1.0)
        pool.record_repository(FIRST, {"wanted": 5, "tests": 7})
        pool.record_repository(FIRST, {"stopped": "no more", "hint": ""})
        pool.record_repository(SECOND, {"stopped": "it is not there", "hint": "Name another.", "failed": True})
        first, second = repository_rows(pool, pool.episodes.records())
        assert pool.homes() == {bug.id: FIRST for bug in pool.bugs()}
    assert first == {
        "name": FIRST, "wanted": 5, "tests": 7, "stopped": "no more", "hint": "", "failed": False, "bugs": 1,
        "by_strategy": {"removal": 1}, "episodes": 4, "valid_share": 0.5, "minutes": 1.5,
    }  # fmt: skip
    assert second["failed"] and second["hint"] == "Name another." and second["minutes"] is None


def test_an_original_that_is_a_link_is_refused(tmp_path: Path) -> None:
    with open_curriculum(tmp_path / "run"):
        pass
    (tmp_path / "run" / "original-7").symlink_to("/etc")
    with pytest.raises(CurriculumError, match="original-7"), read_pool(tmp_path / "run"):
        pass


def test_facts_that_selfplay_did_not_write(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.add_repositories([FIRST])
        pool.record_repository(FIRST, {"wanted": "many"})
        with pytest.raises(CurriculumError, match=r"a repository of .* is damaged: it: wanted"):
            repository_rows(pool, [])
