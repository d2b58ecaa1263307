"""What a solver is told: the reversed weakening, or only a share of it, the rest of the oracle staying hidden.

The paper shows all of it and names that as its first weakness; `public_share` below 1 keeps hunks back. The share is
of F2P tests as far as hunks can tell them apart: hunks are shown in an order fixed by `seed` until the tests they
name reach the share, and at least one hunk always is.
"""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.patches import FilePatch, Hunk


@dataclass(frozen=True)
class Specification:
    """`diff` is shown to the solver. `public` and `hidden`: F2P ids a shown hunk names, and the others."""

    diff: str
    public: tuple[str, ...]
    hidden: tuple[str, ...]


def specification(
    test_weaken: str, fail_to_pass: Sequence[str], public_share: float = 1.0, seed: str = ""
) -> Specification:
    """The specification of a bug. `public_share` in (0, 1]. Raises `PatchError`, or `ValueError` for another share."""
    if not 0 < public_share <= 1:
        raise ValueError(f"a public share is above 0 and at most 1, not {public_share}")
    whole = patches.reverse(test_weaken)
    sections = patches.parse(whole)
    pieces = [(at, hunk) for at, section in enumerate(sections) for hunk in section.hunks]
    if public_share == 1 or not pieces:  # whole files that come and go have nothing to choose from
        return Specification(whole, tuple(fail_to_pass), ())
    random.Random(f"public:{seed}").shuffle(pieces)
    wanted = math.ceil(public_share * len(fail_to_pass))
    shown: dict[int, list[Hunk]] = {}
    public: set[str] = set()
    for at, hunk in pieces:
        if shown and len(public) >= wanted:
            break
        shown.setdefault(at, []).append(hunk)
        public |= {test for test in fail_to_pass if _names(hunk, sections[at].path, test)}
    diff = "".join(_only(section, shown[at]) for at, section in enumerate(sections) if at in shown)
    hidden = tuple(test for test in fail_to_pass if test not in public)
    return Specification(diff, tuple(test for test in fail_to_pass if test in public), hidden)


def _names(hunk: Hunk, path: str, test: str) -> bool:
    """Does the hunk belong to this test? By its file, where the id tells one, and its last name."""
    file, _, _ = test.partition("::")
    if "::" in test and file != path:
        return False
    name = re.split(r"::|\.| > ", test.split("[")[0])[-1].strip()
    text = "\n".join((hunk.section, *hunk.lines))
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _only(section: FilePatch, hunks: Sequence[Hunk]) -> str:
    """The section with these hunks alone; the new side's line numbers are those of the smaller diff."""
    lines = section.text.split("\n")[:-1]
    first = next(index for index, line in enumerate(lines) if line.startswith("@@ "))
    out, shift = lines[:first], 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.old_start):
        start = hunk.old_start + shift + (hunk.old_count == 0) - (hunk.new_count == 0)
        out.append(f"@@ -{hunk.old_start},{hunk.old_count} +{start},{hunk.new_count} @@{hunk.section}")
        out += hunk.lines
        shift += hunk.new_count - hunk.old_count
    return "".join(f"{line}\n" for line in out)
