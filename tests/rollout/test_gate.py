"""The gate behind the checks: whose bugs it judges, and what it says of one."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hand_made
import pytest

from selfplay.artifact import Artifact
from selfplay.believable import BelievableRules
from selfplay.commands.order import Order, settings_of
from selfplay.repository import Prepared, Suite
from selfplay.rollout.bug_record import Origin
from selfplay.rollout.injector import LEAKS, InjectorRun, _faults, _leak
from selfplay.sandbox import Backend, Mount, World
from selfplay.validators import Thresholds

HEAD = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n"
DIFF = f"{HEAD}@@ -1,2 +1,2 @@\n def f(a):\n-    return a + 1\n+    return b\n"


@pytest.mark.parametrize(
    ("policy", "believable", "rules"),
    [
        ("scripted", None, BelievableRules()),
        ("scripted", False, None),
        ("openai:x", None, None),  # the paper's checks alone
        ("openai:x", True, BelievableRules()),
    ],
)
def test_scripts_keep_the_rules_and_models_when_asked(
    policy: str, believable: bool | None, rules: BelievableRules | None
) -> None:
    order = Order("s", Path("o"), policy=policy, believable=believable)
    assert order.rules == rules
    assert settings_of(order)["believable"] is (rules is not None)  # a resumed run keeps it


def test_the_gate_names_what_gives_a_bug_away(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def f(a):\n    return a + 1\n")
    prepared = SimpleNamespace(world=lambda: World((tmp_path,)))
    nothing: Any = None
    run = InjectorRun("shop", SimpleNamespace(prepared=prepared), Suite((), {}), "mix", nothing, nothing, nothing)  # type: ignore[arg-type]
    bug = Artifact(**{**vars(hand_made.artifact("python")), "bug_inject": DIFF})
    assert _faults(run, bug) == ()
    assert _faults(replace(run, rules=BelievableRules()), bug) == ("shop.py: b is not defined",)
    moved = Artifact(**{**vars(bug), "bug_inject": DIFF.replace("-1,2 +1,2", "-2,2 +2,2")})
    assert _faults(replace(run, rules=BelievableRules()), moved) == ()  # git would move the hunk; nothing is said of it


@pytest.mark.parametrize(("folder", "leaks"), [("store", True), ("other", False)])
def test_a_bug_whose_world_leaks_is_refused_beside_a_copy_of_the_project(
    folder: str, leaks: bool, backend: Backend, tmp_path: Path
) -> None:
    """The packages hold what the bug removed. Nothing is searched where no folder looks like a copy."""
    world, nothing = hand_made.world("python", backend, tmp_path), cast(Any, None)
    shutil.copytree(world.tree[0] / "store", tmp_path / "packages" / folder)
    mounts = (Mount(tmp_path / "packages", "/packages"),)
    prepared = Prepared("s", "r", "c", "t", "python", world.tree[0], tmp_path / "none", mounts, world.env)
    origin = Origin(prepared, Thresholds(), 0, 1.0, {})
    run = InjectorRun("shop", origin, Suite((), {}), "mix", nothing, nothing, nothing)
    told = _leak(run, backend, hand_made.artifact("python"))
    assert told.startswith(f"{LEAKS}: /packages/store/") if leaks else told == ""
