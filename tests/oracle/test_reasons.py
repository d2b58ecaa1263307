"""Every reason that the code gives has its words and somebody to blame, and no other has."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import selfplay
from selfplay.oracle import layers
from selfplay.oracle.layers import Doubt, Judgement, Precondition
from selfplay.oracle.reasons import REASONS, WORDS, Blame, blamed, reason_in_words

ROOT = Path(selfplay.__file__).parent
GIVEN: dict[str, int | None] = {"Grade": 1, "SolverOutcome": 1, "Refusal": 0, "replace": None}
"""What is called with a reason, and its place among the arguments; `reason=` in any."""
READ: dict[str, int | None] = {"PredictionError": 0}
"""Called with a reason where a prediction is read; elsewhere for files of them, which get no grade."""
LAYERS: dict[str, int | None] = {"Layer": 0, "passed": 0, "caught": 0, "unavailable": 0}


def trees(place: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of a room, or one module, by name, with their code."""
    found = ROOT / place
    for path in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
        if "inside" not in path.parts:  # that runs in the sandbox
            yield ".".join(path.relative_to(ROOT.parent).with_suffix("").parts), ast.parse(path.read_text())


def given(place: str, called: dict[str, int | None], keyword: str) -> set[str]:
    """The texts with which these are called: written there, or in the module's constants."""
    found = set[str]()
    for module, tree in trees(place):
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in called:
                at = called[name]
                arguments = [word.value for word in call.keywords if word.arg == keyword]
                arguments += call.args[at : at + 1] if at is not None else []
                found.update(*(texts(module, argument) for argument in arguments))
    return found - {""}


def texts(module: str, argument: ast.expr) -> set[str]:
    nodes = list(ast.walk(argument))
    named = [getattr(import_module(module), node.id, None) for node in nodes if isinstance(node, ast.Name)]
    found = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    found |= {one for one in named if isinstance(one, str)}
    return found.union(*(one.values() for one in named if isinstance(one, dict)))


def named_layers() -> set[str]:
    """The names that the grader gives to layers; a name in a variable is `Final`, since it could not be one else."""
    found = given("oracle", LAYERS, "name")
    for _, tree in trees("oracle"):
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
                found |= {node.value.value} if "Final" in ast.unparse(node.annotation) else set()
    return found


def names_of(literal: object) -> set[str]:
    return set(get_args(literal))


def test_every_reason_of_a_grade_or_an_attempt_has_words_and_no_other_has() -> None:
    found = given("oracle/screening", READ, "reason")
    for place in ("oracle", "rollout/solver.py", "commands"):
        found |= given(place, GIVEN, "reason")
    assert {"does-not-apply", "weak", "unplayed", "nothing-handed-in", "touches-tests"} < found  # each form is seen
    assert found | names_of(Judgement) == REASONS.keys() | {"resolved"}
    assert WORDS.keys() == REASONS.keys() and all(WORDS.values())


def test_every_layer_that_catches_somebody_says_who_is_to_blame() -> None:
    """A new layer is named in `LayerName`, as the type checker demands, and then here."""
    silent = names_of(Precondition) | names_of(Doubt)
    assert named_layers() == names_of(Judgement) | silent
    assert names_of(Judgement) <= REASONS.keys() and not silent & REASONS.keys()
    assert {judge.__name__.replace("_", "-") for judge in layers.OF_A_RUN} <= names_of(Judgement)


def test_who_is_to_blame() -> None:
    everybody = [blamed(one) for one in get_args(Blame)]
    assert sum(map(len, everybody)) == len(REASONS) and blamed(*get_args(Blame)) == REASONS.keys()
    honest = {"behaviour": "wrong", "suspect": "person"}
    assert {name: REASONS[name].blame for name in names_of(Judgement) - blamed("cheat")} == honest
    assert blamed("machine", "person") == {"cannot-be-graded", "error", "unplayed", "suspect", "weak"}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("test-files", "a test file was rewritten while the tests ran"),
        ("unplayed", "it could not be run"),
        ("resolved", "resolved"),
        ("of-a-later-version", "of a later version"),
    ],
)
def test_reasons_in_words(reason: str, words: str) -> None:
    assert reason_in_words(reason) == words
