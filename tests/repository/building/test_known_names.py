"""What the errors of a build may lead to: names of fixed tables and of the project's own declarations, nothing else."""

import pytest

from selfplay.repository.building.known_names import PLUGINS, WORDS, distributions_of, missing_modules, named_plugins


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("'thread_unsafe' not found in `markers` configuration option", ["pytest-run-parallel"]),
        ("PytestUnknownMarkWarning: Unknown pytest.mark.asyncio - is this a typo?", ["pytest-asyncio"]),
        ("PytestConfigWarning: Unknown config option: asyncio_mode", ["pytest-asyncio"]),
        ("E       fixture 'mocker' not found", ["pytest-mock"]),
        ("error: unrecognized arguments: --reruns --other", ["pytest-rerunfailures"]),
        ("pytest.UsageError: Missing required plugins: pytest-xdist>=3, pytest-evil", ["pytest-xdist"]),
        ("async def functions are not natively supported.", ["pytest-asyncio"]),
        ("fixture 'pytest-evil' not found; fixture 'evil' not found; 'evil' not found in `markers`", []),
    ],
)
def test_plugins_come_from_the_table(said: str, named: list[str]) -> None:
    assert named_plugins(said) == named


def test_a_module_that_nobody_knows_is_not_installed() -> None:
    said = "ModuleNotFoundError: No module named 'reqeusts'\nImportError: No module named yaml.nodes\n"
    assert missing_modules(said) == ["reqeusts", "yaml.nodes"]
    assert distributions_of(missing_modules(said), declared=()) == {"PyYAML"}


def test_what_the_project_declares_may_be_installed() -> None:
    assert distributions_of(["roman_numerals.parser"], declared={"roman-numerals"}) == {"roman-numerals"}
    assert distributions_of(["roman_numerals.parser"], declared={"roman"}) == set()


def test_no_word_leads_outside_the_tables() -> None:
    assert set(WORDS.values()) <= PLUGINS | {"anyio", "hypothesis", "pytest-flake8"}
