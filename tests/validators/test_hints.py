"""The lint for comments that give a change away, over several languages' comment signs."""

import pytest

from selfplay.patches import parse
from selfplay.validators.hints import find_hint


def changed(*lines: str) -> str:
    old, new = (sum(line[0] in signs for line in lines) for signs in (" -", " +"))
    return f"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,{old} +1,{new} @@\n" + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("-    return total(x)", "+    # return total(x)"),
        ("-  return total(x);", "+  // return total(x);"),
        ("-  return total(x);", "+  /* return total(x); */"),
        ("-return total(x)", "+-- return total(x)"),
        ("-    return total(x)", "+    #return  total( x )"),
        ("-        tokens.pop(-1)", "+        break  # tokens.pop(-1)"),
        ("-  return total(x);", "+  return 0; // was return total(x);"),
        (" keep", "+    # BUG: injected here"),
        (" keep", "+    // deliberate fault"),
        ("-    return total(x)", "+    return total(y)  # bug injected here"),
        ("-  return a;", "+  return b; // planted defect"),
    ],
)
def test_giveaways(lines):
    assert find_hint(parse(changed(*lines)))


@pytest.mark.parametrize(
    "lines",
    [
        ("-    return total(x)", "+    return total(y)  # all of them"),
        ("-    # return total(x)", "+    return x"),
        ("-  // sums up", "+  # sums up"),
        ("-    }", "+    # }"),
        ("-    return total(x)", "+    return total(y)  # fixes a bug"),
        ("-    return a  # injected bug", "+    return a  # injected bug", "+    b"),
        ("-#include <a.h>", "+#include <b.h>"),
        ("-    total(x)", "+    # works around a bug of the compiler", "+    total(y)"),
        ("-    total(x)", "+    # total(x)", "+    total(x)"),
    ],
)
def test_ordinary_changes(lines):
    assert find_hint(parse(changed(*lines))) == ""
