"""Ids of tests that a line can carry, and of everything else that a dataset names."""

import pools
import pytest
from hand_made import artifact
from hypothesis import given
from hypothesis import strategies as st

from selfplay.export.names import bug_id_of, image_name, instance_id, plain_test, repository_name, test_name

ODD = (
    "t.py::a b  c", "t.py::a - b", "t.py::a\tb", " t.py::a", "t.py::a[1m]", "t.py::[[", "t.py::%41", "t.py::a\nb",
    "t.py::PASSED", "t.py::x FAILED", "", "t.py::\x1b[31m", "t.py::a\u2028b",
)  # fmt: skip


@pytest.mark.parametrize("test", ODD)
def test_an_id_that_a_line_would_change_is_encoded(test: str) -> None:
    assert not plain_test(test) or test == ""
    assert test_name(test) != test or test == ""
    assert " " not in test_name(test)


@pytest.mark.parametrize("test", ["t.py::a", "t.py::a[x y]", "t.py::ünïcode", 'it\'s ["quoted"] / works', "t.py::a[-]"])
def test_ordinary_ids_stay(test: str) -> None:
    assert plain_test(test) and test_name(test) == test


@given(st.lists(st.text(st.sampled_from("ab []%4 1m-\t:\nPASED"), max_size=12), min_size=2, max_size=8, unique=True))
def test_different_tests_keep_different_names(tests: list[str]) -> None:
    assert len({test_name(test) for test in tests}) == len(tests)


def test_names_of_bugs_and_images() -> None:
    assert instance_id("a-1.removal.0") == "selfplay__a-1.removal.0"
    assert bug_id_of(instance_id("a-1.removal.0")) == "a-1.removal.0"
    assert len(image_name("selfplay__" + "a" * 128).rpartition(":")[2]) <= 128  # what a tag may have


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pypi:sqlparse==0.5.3", "pypi/sqlparse"),
        ("https://example.org/pallets/jinja.git@main", "pallets/jinja"),
        ("/home/me/project", "selfplay/project"),
        ("image:/app", "image/app"),
    ],
)
def test_a_repository_has_an_owner_and_a_name(source: str, name: str) -> None:
    known = pools.bug(artifact("python"), source=source)
    assert repository_name(known) == name
