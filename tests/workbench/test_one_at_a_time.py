"""The backend these tests run on notices a second live sandbox, and only that."""

import pytest

from selfplay.sandbox import Backend, World


def test_a_second_live_sandbox_is_an_error(backend: Backend) -> None:
    with backend.open(World()), pytest.raises(AssertionError, match="while one is live"), backend.open(World()):
        pass
    with backend.open(World()) as sandbox:
        assert sandbox.run("echo one", timeout=9).text == "one\n"


def test_a_sandbox_that_was_closed_does_not_count(backend: Backend) -> None:
    with backend.open(World()) as first:
        first.close()
        with backend.open(World()) as second:
            assert second.run("echo two", timeout=9).text == "two\n"
