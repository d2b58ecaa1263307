"""Patches of the hand-made Python bug that print results, as the tests end, in the form that a grader reads."""

from collections.abc import Sequence
from pathlib import Path

import hand_made


def swebench(tests: Sequence[str]) -> str:
    """Its markers, spelled so that five of their signs are left where five were made harmless, and results that stand
    in one line until a reader takes each `\\r` for the end of one."""
    results = "\r".join(f"PASSED {test}" for test in tests)
    return printing(f"{'>' * 9} Start Test Output\r{results}\r{'>' * 9} End Test Output\n")


def r2e(tests: Sequence[str]) -> str:
    """The heading that its parser looks for, with a colour in it, which it takes out first."""
    results = "".join(f"PASSED ::{test}\n" for test in tests)
    heading = "short test summary info"
    return printing(f"short test sum\x1b[0mmary info\n{results}{heading}\n")


def printing(text: str) -> str:
    """The diff that makes the package print a text when a process that imported it ends."""
    code = f"import atexit\nimport os\n\natexit.register(lambda: os.write(1, {text.encode()!r}))\n"

    def edit(root: Path) -> None:
        (root / "store" / "__init__.py").write_text(code)

    return hand_made.diff(hand_made.original("python"), edit)
