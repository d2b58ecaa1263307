"""Scripts of ours that are written anew for some of their files, and others, which are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.repository.suites.narrowed import narrowed
from selfplay.repository.suites.pytest_suite import render_script

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
FILES = ("test_a.py", "tests/test b.py", "tests/it's.py")
SCRIPT = render_script(FILES, ["test_a.py::test_x", "tests/test b.py::test_y"], options=("-k", "not slow"))


@given(st.sets(NAMES, min_size=1, max_size=5), st.lists(NAMES, max_size=3), st.data())
def test_a_script_of_ours_is_as_one_that_was_written_for_these_files(files, options, data) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(files)), min_size=1))
    excluded = [f"{file}::test_flaky[{options}]" for file in sorted(files)]
    kept = [test for test in excluded if test.partition("::")[0] in chosen]
    script = render_script(files, excluded, options=options, test_seconds=2.5)
    expected = render_script(chosen, kept, options=options, test_seconds=2.5)
    assert narrowed(script, chosen) in (expected, None)
    if all(name.isprintable() and "::" not in name for name in (*files, *options)):
        assert narrowed(script, chosen) == expected


@pytest.mark.parametrize("files", [(), ("other.py",), ("test_a.py", "other.py")])
def test_files_that_a_script_does_not_name(files) -> None:
    assert narrowed(SCRIPT, files) is None


@pytest.mark.parametrize(
    "script",
    [
        "",
        "pytest test_a.py\n",
        render_script((), options=("-q",)),
        render_script(FILES, command="make test"),
        SCRIPT.replace("set -u\n", "set -u\nrm -rf tests\n"),
        SCRIPT + "true\n",
        SCRIPT.replace("import json\n", "import json, shop\n", 1),
        SCRIPT.replace('"max_timeouts": 3', '"max_timeouts": [3]'),
        SCRIPT.replace("'tests/test b.py'", "$(make)"),
        SCRIPT.replace("-k 'not slow'", "-k 'not slow' || true;"),
    ],
)
def test_any_other_script_stays_whole(script: str) -> None:
    assert script != SCRIPT
    assert narrowed(script, ["test_a.py"]) is None
