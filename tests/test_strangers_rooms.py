"""No folder of the package can read strangers' text unnoticed: each is in a table of `strangers_rooms`."""

from pathlib import Path

import pytest
import strangers_rooms
from test_linear_time import READERS

import selfplay


def test_every_folder_of_the_package_says_who_reads_strangers_text() -> None:
    tables = (strangers_rooms.MEASURED, strangers_rooms.OTHERWISE, strangers_rooms.NO_STRANGER)
    package = Path(selfplay.__file__).parent
    folders = {file.parent.relative_to(package).as_posix().removeprefix(".") for file in package.rglob("*.py")}
    assert sorted(folder for table in tables for folder in table) == sorted(folders)


@pytest.mark.parametrize("folder", strangers_rooms.MEASURED)
def test_a_measured_folder_has_its_readers(folder: str) -> None:
    for beginning in strangers_rooms.MEASURED[folder]:
        assert any(name.startswith(beginning) for name in READERS), beginning
