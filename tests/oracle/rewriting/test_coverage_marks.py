"""Marks at the new places of a file: every choice that no input makes is told, and the program stays as it is."""

import fnmatch
import inspect
import shlex
import sys
import textwrap
from types import ModuleType
from typing import Any

import pytest

from selfplay.oracle import inside
from selfplay.oracle.rewriting.coverage_marks import Marked, Noters, with_marks
from selfplay.oracle.rewriting.new_lines import KnownLines, Lines, lines_of, ordered_lines

NOTERS = Noters("ran", "gave", "caught")
OLD = '''
def f(items):
    """The documentation."""
    if not items:
        return None
    return sorted(items)
'''


def marks(text: str, *known: str) -> Marked:
    """`known`: the programs that are not new."""
    lines = Lines()
    for one in known:
        lines |= lines_of(one)
    made = with_marks("a.py", text, KnownLines(lines, tuple(map(ordered_lines, known))), NOTERS)
    assert made is not None
    return made


def played(made: Marked, name: str, *calls: tuple[Any, ...]) -> tuple[list[Any], list[str]]:
    """What the calls of a function return, and the places that they leave, in words."""
    left = dict(made.places)

    def ran(word: str) -> None:
        left.pop(word, None)

    def gave(word: str, value: Any) -> Any:
        ran(word + ("+" if value else "-"))
        return value

    def caught(word: str, kinds: Any) -> None:
        if sys.exc_info()[0] in (kinds if isinstance(kinds, tuple) else (kinds,)):
            ran(word + "=")

    space: dict[str, Any] = {"ran": ran, "gave": gave, "caught": caught}
    exec(compile(made.text, "marked", "exec"), space)
    values, unseen = [space[name](*given) for given in calls], " in any test or on any hidden input"
    return values, [place.removeprefix("a.py: ").removesuffix(unseen) for place in left.values()]


@pytest.mark.parametrize(("line", "left"), [
    ("    if len(items) > 40:\n        return items", ["`len(items) > 40` was never true", "`return items` never ran"]),
    ("    if len(items) < 40:\n        return sorted(items)", ["`len(items) < 40` was never false"]),
    ("    return sorted(items) if len(items) < 40 else items", ["`len(items) < 40` was never false"]),
    ("    return [items, sorted(items)][len(items) < 40]", ["`len(items) < 40` was never false"]),
    ("    return [sorted(items), items][not len(items) < 40]", ["`not len(items) < 40` was never true"]),
    ("    return len(items) > 40 and items or sorted(items)",
     ["`len(items) > 40` was never true", "`len(items) > 40 and items` was never true"]),
    ("    return [one for one in sorted(items) if one < 99]", ["`one < 99` was never false"]),
    ("    {one: 9 for one in items[40:]}", ["`9` never ran"]),
    ("    while len(items) > 40:\n        items = items[1:]",
     ["`len(items) > 40` was never true", "`items = items[1:]` never ran"]),
    ("    for one in items[40:]:\n        items = []", ["`items = []` never ran"]),
    ("    try:\n        items[2]\n    except IndexError:\n        pass",
     ["`except IndexError:` caught none of this very kind"]),
    ("    try:\n        items[0]\n    except KeyError:\n        raise", []),
    ("    try:\n        items[0]\n    except KeyError:\n        raise ValueError",
     ["`except KeyError:` caught none of this very kind", "`raise ValueError` never ran"]),
    ("    try:\n        items[9]\n    except Exception:\n        items = items",
     ["`except Exception:` caught none of this very kind", "`items[9]` begins a `try` that never came to its end"]),
    ("    try:\n        items[9]\n    except (KeyError, IndexError):\n        items = items",
     ["`items[9]` begins a `try` that never came to its end"]),
    ("    try:\n        items[9]\n    except:\n        items = items",
     ["`items[9]` begins a `try` that never came to its end"]),
    ("    try:\n        import nothing\n    except ModuleNotFoundError:\n        items = items",
     ["`import nothing` begins a `try` that never came to its end"]),
    ("    for one in items:\n        try:\n            if one > 2:\n                break\n            items[9]\n"
     "        except IndexError:\n            pass",
     ["`except IndexError:` caught none of this very kind", "`items[9]` never ran", "`one > 2` was never false"]),
    ("    try:\n        for one in items:\n            break\n        items[9]\n    except IndexError:\n        pass",
     ["`for one in items:` begins a `try` that never came to its end"]),
    ("    try:\n        return sorted(items)\n    except TypeError:\n        pass",
     ["`except TypeError:` caught none of this very kind"]),
    ("    try:\n        return items.nothing\n    except AttributeError:\n        pass",
     ["`return items.nothing` begins a `try` that never came to its end"]),
    ("    other = lambda: 9", ["`lambda: 9` never ran"]),
    ("    def other():\n        return 9", ["`return 9` never ran"]),
    ("    assert len(items) < 40", []), ("    assert items[0] if items[9:] else items", ["`items[9:]` was never true"]),
    ("    text = f'{1 if len(items) < 40 else 2}'",
     ["`f'{(1 if len(items) < 40 else 2)}'` holds a choice that cannot be marked"]),
    ("    match items:\n        case [1]:\n            pass\n        case _ if len(items) < 40:\n            pass",
     ["`case [1]:` never ran", "`len(items) < 40` was never false"]),
    ("    items = list(items)", []), ("    global rest", []), ("    'some words'", []),
])  # fmt: skip
def test_what_no_input_chose_is_left(line: str, left: list[str]) -> None:
    text = OLD.replace("    return sorted(items)", f"{line}\n    return sorted(items)")
    values, found = played(marks(text, OLD), "f", ([3, 1, 2],), ([],))
    assert values == [[1, 2, 3], None] and sorted(found) == sorted(left)


def test_both_outcomes_of_a_new_condition_leave_nothing() -> None:
    text = OLD.replace("    return sorted", "    items = items if len(items) < 3 else items[:2]\n    return sorted")
    assert played(marks(text, OLD), "f", ([3, 1, 2],), ([2, 1],)) == ([[1, 3], [1, 2]], [])


def test_what_either_program_holds_in_this_function_is_not_new() -> None:
    """The same line in another function is: a patch may copy what belongs elsewhere."""
    other = OLD.replace("def f", "def g").replace("return sorted(items)", "return items")
    assert marks(OLD, OLD).places == {} and marks(OLD, OLD.replace("if not items:", "if items:"), OLD).places == {}
    assert [*marks(OLD + other, OLD + other.replace("return items", "pass")).places.values()] == [
        "a.py: `return items` never ran in any test or on any hidden input"
    ]
    moved = OLD.replace("return sorted(items)", "return None")
    assert any("`return None` never ran" in one for one in marks(moved, OLD).places.values())  # held once, used twice


def test_comments_and_layout_are_not_new() -> None:
    assert marks(OLD.replace("sorted(items)", "sorted(  # quickly\n        items\n    )"), OLD).places == {}


def test_what_is_no_python_has_no_marks() -> None:
    assert with_marks("a.py", "def f(:\n", KnownLines(), NOTERS) is None


def test_a_value_without_a_truth_is_no_condition(tmp_path: Any) -> None:
    """Such as an array of truths."""

    class Many:
        def __bool__(self) -> bool:
            raise ValueError

    space: dict[str, Any] = {"SELFPLAY_FILE": str(tmp_path / "record")}
    exec(inside.text("selfplay_covered.py"), space)
    one = Many()
    assert space["selfplay_gave"]("7", one) is one and space["selfplay_ran"]("8") is None
    space["selfplay_gave"]("7", True)
    assert (tmp_path / "record").read_text() == "7+\n7-\n8\n"


@pytest.mark.parametrize(("module", "name", "given"), [
    (shlex, "split", ("a 'b c' \"d\\e\" #f",)), (textwrap, "dedent", ("  a\n    b\n\n  c",)),
    (textwrap, "wrap", ("one two three four five six", 9)), (fnmatch, "translate", ("a*[!b-d]?",)),
])  # fmt: skip
def test_a_marked_module_does_what_it_did(module: ModuleType, name: str, given: tuple[Any, ...]) -> None:
    """All of its places are new, and some run."""
    made = marks(inspect.getsource(module))
    values, left = played(made, name, given)
    assert values == [getattr(module, name)(*given)] and 5 < len(left) < len(made.places) - 5
