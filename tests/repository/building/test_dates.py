"""The day as of which an environment is built, and what happens where the index does not say when files came."""

from datetime import date
from pathlib import Path

import pytest

from selfplay.repository.building.build import Building, BuildRequest
from selfplay.repository.building.dates import last_day
from selfplay.repository.fetching.reading import BuildPlan
from selfplay.sandbox import Completed

TODAY = date(2026, 5, 10)


@pytest.mark.parametrize(
    ("dated", "last"),
    [
        ("2024-02-28", "2024-03-01"),  # two days later; 2024 has a 29th of February
        ("2026-05-07", "2026-05-09"),
        ("2026-05-08", ""),  # that would be today
        ("2031-01-01", ""),
        ("1970-01-01", ""),  # before any index: a clock that was not set
        ("9999-12-31", ""),
        ("", ""),
        ("yesterday", ""),
        ("2024-02-28; rm -rf /", ""),
    ],
)
def test_the_last_day(dated: str, last: str) -> None:
    assert last_day(dated, TODAY) == last


class Index(Building):
    """A build whose installations work, or work only without a day."""

    says_when = True

    def run(self, step, command, *, timeout=0.0, online=False, **env) -> Completed:  # type: ignore[no-untyped-def]
        self.ran = [*getattr(self, "ran", []), step]
        works = self.says_when or "--exclude-newer" not in command
        return Completed(0 if works else 1, b"", b"", False, False, 0.1, 0.1)


def build(folder: Path, as_of: str) -> Index:
    return Index(BuildRequest(BuildPlan("python"), None, {}, as_of=as_of), None, folder / "log", print, {})  # type: ignore[arg-type]


def test_packages_are_installed_as_of_the_day(tmp_path: Path) -> None:
    building = build(tmp_path, "2024-03-01")
    assert building.install("installing a", "a")
    assert building.install("installing a tool of ours", "coverage", dated=False)
    assert (building.ran, building.notes) == (["installing a as of 2024-03-01", "installing a tool of ours"], [])


def test_an_index_without_times_is_asked_once(tmp_path: Path) -> None:
    building = build(tmp_path, "2024-03-01")
    building.says_when = False
    assert building.install("installing a", "a") and building.install("installing b", "b")
    assert building.ran == ["installing a as of 2024-03-01", "installing a", "installing b"]
    assert building.notes == ["installing a does not work as of 2024-03-01: today's versions were taken"]


def test_one_package_that_is_newer_leaves_the_others_dated(tmp_path: Path) -> None:
    building = build(tmp_path, "2024-03-01")
    building.install("installing a", "a")
    building.says_when = False
    building.install("installing b", "b")
    building.says_when = True
    building.install("installing c", "c")
    assert building.ran[-1] == "installing c as of 2024-03-01"
