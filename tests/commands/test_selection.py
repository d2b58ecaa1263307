"""`selfplay solve --bug`: which bugs a name means, and that no others are attempted."""

from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay.commands.solve import chosen
from selfplay.curriculum import CurriculumError, read_pool


def test_a_bug_is_named_by_its_id_or_a_beginning_of_its_own(finished: tuple[Path, Done]) -> None:
    with read_pool(finished[0]) as pool:
        ids = [bug.id for bug in pool.bugs()]
        assert chosen(pool, ()) is None
        assert chosen(pool, (ids[0], ids[1][:-1])) == {ids[0], ids[1]}  # two ids of eight hex digits differ before
        with pytest.raises(CurriculumError, match="the run has no bug 'nobody'"):
            chosen(pool, ("nobody",))
        with pytest.raises(CurriculumError, match="'shop' is the beginning of 4 bugs"):
            chosen(pool, ("shop",))


@pytest.mark.slow
def test_only_the_named_bug_is_attempted(selfplay: Command, calibrated: Path, tmp_path: Path) -> None:
    run = copy_of(calibrated, tmp_path / "run")
    with read_pool(run) as pool:
        first, second, *_ = [bug.id for bug in pool.bugs()]
    done = selfplay("solve", run, "--policy", "empty", "--attempts", 1, "--bug", second, "--json")
    assert done.code == 0, done.err
    rows = {row["id"]: row["solved"] for row in done.json["bugs"]}
    assert rows.pop(second) == {"empty": {"resolved": 0, "attempts": 1}} and first in rows
    assert not any(rows.values()) and done.json["quality"]["audited"] == 1
    refused = selfplay("solve", run, "--policy", "empty", "--bug", "nobody")
    assert refused.code == 2 and "the run has no bug 'nobody'" in refused.err and second in refused.err
