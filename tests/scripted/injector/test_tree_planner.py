"""What the injector tries in a language without a survey: which functions, and which past changes."""

import itertools
import random
import subprocess
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.agent.actions import Budget, Call, Observation
from selfplay.repository import Suite
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector.impossible import impossible
from selfplay.scripted.injector.past_planner import PastPlanner
from selfplay.scripted.injector.repository_knowledge import known_of
from selfplay.scripted.injector.sources import Sources, read_sources
from selfplay.scripted.injector.tree_planner import TreePlanner
from selfplay.scripted.injector.trial import Ran, _failures
from selfplay.scripted.policy import Stuck

CODE = """package shop

func Sum(items []int) int {
	sum := 0
	for _, item := range items {
		if item < 0 {
			continue
		}
		sum += item
	}
	return sum
}

func Unnamed(items []int) int {
	best := 0
	for _, item := range items {
		if item > best {
			best = item
		}
	}
	return best
}
"""
TEST = 'package shop\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(nil) != 0 {\n\t\tt.Fatal()\n\t}\n}\n'
FILES = {
    "shop.go": CODE,
    "shop_test.go": TEST,
    "vendor/other.go": CODE,
    "examples/show.go": CODE,
    "broken.go": "package shop\n\nfunc {\n",
}


def _tree(folder: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _task(strategy: Strategy, number: int = 0) -> InjectorTask:
    tests = {f"shop_test.go::Test{n}": 0.1 for n in range(9)}
    return InjectorTask(strategy, 0, number, Suite(("shop_test.go",), tests))


def _proposed(script: Generator[Call, Observation, Any], folder: Path) -> Any:
    """What a script returns, its calls of bash made in `folder`."""
    try:
        call = next(script)
        while True:
            done = subprocess.run(["bash", "-c", call.arguments["command"]], cwd=folder, capture_output=True, text=True)
            call = script.send(Observation(done.stdout, done.returncode, Budget(9, 9.0)))
    except StopIteration as stopped:
        return stopped.value


def test_the_product_is_read_and_what_tests_name_comes_first(tmp_path: Path) -> None:
    sources = read_sources(_tree(tmp_path), "go")
    assert set(sources.texts) == {"shop.go", "shop_test.go", "examples/show.go", "broken.go"}
    assert [(place.path, place.name, place.named) for place in sources.places] == [
        ("shop.go", "Sum", True),
        ("shop.go", "Unnamed", False),
    ]
    assert sources.unparsed == {"broken.go": "a syntax error in go"}
    for number in range(4):
        planner = TreePlanner(_task("direct", number), sources, random.Random(number))
        assert planner.waiting[0][0].name == "Sum"


def test_a_change_of_one_function_by_each_strategy(tmp_path: Path) -> None:
    sources = read_sources(_tree(tmp_path), "go")
    for strategy in ("direct", "removal"):
        (change,) = _proposed(TreePlanner(_task(strategy), sources, random.Random(1)).propose(), tmp_path)  # type: ignore[arg-type]
        assert isinstance(change, PlantedChange) and change.path == "shop.go" and change.what


def test_a_removal_leaves_out_special_cases_first(tmp_path: Path) -> None:
    sources = read_sources(_tree(tmp_path), "go")
    for number in range(6):
        planner = TreePlanner(_task("removal", number), sources, random.Random(number))
        (change,) = _proposed(planner.propose(), tmp_path)
        assert change.what == "removed a condition" and "if item < 0" not in (change.after or ""), change.after


@pytest.mark.slow
def test_episodes_on_a_small_repository_do_not_all_end_at_its_longest_function(tmp_path: Path) -> None:
    guard = "\tif a[{n}] < 0 {{\n{body}\t}}\n"
    code = "package shop\n"
    for n in range(24):
        body = "".join(f"\t\ta[{line}] = {n}\n" for line in range(n % 8))
        code += f"\nfunc F{n}(a []int) int {{\n{guard.format(n=n, body=body)}\ta[0]++\n\ta[1]--\n" + "\ta[2]++\n" * 9
        code += "\treturn len(a)\n}\n"
    sources = read_sources(_tree(tmp_path, {"shop.go": code, "shop_test.go": TEST}), "go")
    made: dict[int, set[str]] = {0: set(), 7: set()}
    for number, least in itertools.product(range(16), made):
        planner = TreePlanner(_task("removal", number), sources, random.Random(number))
        planner.least = least or planner.least
        (change,) = _proposed(planner.propose(), tmp_path)
        made[least].add(change.after)
    assert len(made[0]) > len(made[7])  # ten and eight of sixteen: each episode draws its own least size


def test_the_same_seed_proposes_the_same(tmp_path: Path) -> None:
    sources = read_sources(_tree(tmp_path), "go")
    one, other = (
        _proposed(TreePlanner(_task("removal"), sources, random.Random(7)).propose(), tmp_path) for _ in range(2)
    )
    assert one == other


def test_a_past_fix_is_turned_back_on_top_of_later_work(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    fix = "\t\tif item < 0 {\n\t\t\tcontinue\n\t\t}\n"
    _tree(tmp_path, {"shop.go": CODE.replace(fix, ""), "shop_test.go": TEST})
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "shop.go").write_text(CODE)
    git("commit", "-qam", "fix")
    (tmp_path / "shop.go").write_text(f"// a shop\n{CODE}")
    git("commit", "-qam", "later")
    sources = read_sources(tmp_path, "go")
    (change,) = _proposed(PastPlanner(_task("history"), sources, random.Random(0)).propose(), tmp_path)
    assert change.after == f"// a shop\n{CODE}".replace(fix, "") and change.what.startswith("brought back 1 hunk of")


def test_a_clone_of_the_last_commit_alone_has_no_past(tmp_path: Path) -> None:
    _tree(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"], cwd=tmp_path, check=True
    )
    planner = PastPlanner(_task("history"), read_sources(tmp_path, "go"), random.Random(0))
    with pytest.raises(Stuck, match="no earlier commit changes the product's code: a clone of the last commit"):
        _proposed(planner.propose(), tmp_path)


def test_no_function_can_be_changed(tmp_path: Path) -> None:
    sources = read_sources(_tree(tmp_path, {"shop_test.go": TEST}), "go")
    assert impossible(_task("removal"), sources) == "no go function of two statements is in the product's files"
    assert impossible(_task("feature"), sources) == "the scripted injector adds no features"


def test_the_lines_of_a_failure_are_those_behind_its_name() -> None:
    log = "FAILED a b\nat x (test/a.js:3:1)\nFAILED a c\nat x (test/a.js:7:1) lib/b.js:9\n"
    found = _failures(Ran(log=log), ["test/a.js::a c"])
    assert [failure.lines for failure in found] == [frozenset([7])]


def test_the_test_around_a_failing_subtest_is_hidden_with_it() -> None:
    found = _failures(Ran(log='"Output":"\\ta_test.go:4: no"'), ["a_test.go::TestA", "a_test.go::TestA/b"])
    assert [(failure.name, failure.lines) for failure in found] == [("TestA/b", frozenset([4]))]


def test_files_that_cannot_be_parsed_are_named(tmp_path: Path) -> None:
    """Else a repository of deep code would have no function to change, and nobody would know why."""
    tree = _tree(tmp_path)
    (tree / "deep.go").write_text("package shop\n\nfunc Deep() {\n" + 900 * "{\n" + 900 * "}\n" + "}\n")
    said: list[str] = []
    made = SimpleNamespace(language="go", tree=tree, mounts=())
    known = known_of(made, _task("direct").suite, None, said.append)  # type: ignore[arg-type]
    assert isinstance(known, Sources) and "deep.go" in known.unparsed
    assert said == ["not read: 2 files of code or tests that cannot be parsed, first 'broken.go': a syntax error in go"]
    assert known.unparsed["deep.go"] == "nested too deeply in go"
