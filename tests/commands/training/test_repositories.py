"""A repository in which no bug can be valid is refused before an episode is played, or benched beside others."""

from pathlib import Path

import pytest
import tiny_repository
from scripted.injector.test_impossible import suite_of

from selfplay.commands.order import Order
from selfplay.commands.training.repositories import prepared_sources, refuse_too_few_tests
from selfplay.curriculum import open_curriculum
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import open_ledger
from selfplay.sandbox import Backend
from selfplay.validators import Thresholds


class Silent:
    """A watcher that keeps what was said."""

    def __init__(self) -> None:
        self.lines = list[str]()

    def say(self, line: str) -> None:
        self.lines.append(line)

    def bug(self, bug: object, *, had: int, of: int) -> None: ...

    def expect(self, total: int | None, what: str, done: int = 0) -> None: ...

    def advance(self) -> None: ...


def asking(source: str, out: Path, passing: int) -> Order:
    return Order(source, out, thresholds=Thresholds(min_passing_tests=passing), policy="openai:m")


def test_too_few_tests_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TrainingError) as refused:
        refuse_too_few_tests(asking("shop", tmp_path, 1000), suite_of(10))
    assert (
        refused.value.message
        == "no bug of shop can be valid: the suite has 10 usable tests, and a bug needs 1000 (min-passing)"
    )
    assert "injector.min_passing" in refused.value.hint
    refuse_too_few_tests(asking("shop", tmp_path, 10), suite_of(10))


@pytest.mark.slow
def test_one_of_several_is_benched(backend: Backend, source, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    one, other = (str(source(tiny_repository.FILES, name)) for name in ("one", "other"))
    out, watcher = tmp_path / "run", Silent()
    orders = [asking(one, out, 1000), asking(other, out, 1)]
    with open_curriculum(out) as pool, open_ledger(out) as ledger:
        pool.settle({"source": [one, other]})
        pool.add_repositories([one, other])
        assert prepared_sources(orders, pool, ledger, backend, watcher).keys() == {other}
        assert "no bug of" in ledger.benched(0)[one] and any("is benched: no bug of" in line for line in watcher.lines)
        assert prepared_sources(orders, pool, ledger, backend, watcher, injects=False).keys() == {one, other}
