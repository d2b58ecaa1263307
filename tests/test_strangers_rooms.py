"""No folder of the package can read strangers' text unnoticed: each is in a table of `strangers_rooms`."""

import os
from pathlib import Path

import pytest
import strangers_rooms
from test_linear_time import READERS

import selfplay


def test_every_folder_of_the_package_says_who_reads_strangers_text() -> None:
    tables = (strangers_rooms.MEASURED, strangers_rooms.OTHERWISE, strangers_rooms.NO_STRANGER)
    package = Path(selfplay.__file__).parent
    walked = os.walk(package, followlinks=True)  # some rooms are links to folders at the top
    with_code = (Path(folder) for folder, _, files in walked if any(file.endswith(".py") for file in files))
    folders = {folder.relative_to(package).as_posix().removeprefix(".") for folder in with_code}
    assert sorted(folder for table in tables for folder in table) == sorted(folders)


@pytest.mark.parametrize("folder", strangers_rooms.MEASURED)
def test_a_measured_folder_has_its_readers(folder: str) -> None:
    for beginning in strangers_rooms.MEASURED[folder]:
        assert any(name.startswith(beginning) for name in READERS), beginning
