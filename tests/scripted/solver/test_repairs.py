"""Each idea proposes the repair it is for: the right text is among what it proposes for a function broken by hand."""

from collections.abc import Callable, Iterable

import pytest
from scripted.solver.shop import evidence, failed, place, program

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.names import outermost_functions
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.mutations import subtle_cuts
from selfplay.scripted.solver.calls import call_repairs, name_repairs, parameter_repairs, signatures
from selfplay.scripted.solver.evidence import Evidence
from selfplay.scripted.solver.expressions import expression_repairs
from selfplay.scripted.solver.guards import guard_repairs
from selfplay.scripted.solver.hardcoded_cases import answer_repairs
from selfplay.scripted.solver.ingredients import Ingredients, insertion_repairs
from selfplay.scripted.solver.repair import Repair, changes, distinct, order
from selfplay.scripted.solver.reports import SeenCall
from selfplay.scripted.solver.transplants import method_repairs, transplant_repairs

Idea = Callable[[Evidence, str], Iterable[Repair]]


def texts_of(found: Evidence, repairs: Iterable[Repair], path: str = "shop.py") -> set[str]:
    """The programs the repairs make."""
    made = [changes(repair, found.texts) for repair in repairs]
    return {program(change.after or "") for changed in made for change in changed or () if change.path == path}


def proposes(texts: dict[str, str], name: str, idea: Idea, wanted: str, **more: object) -> bool:
    found = evidence(texts, **more)
    return program(wanted) in texts_of(found, idea(found, name))


def expressions(found: Evidence, name: str) -> Iterable[Repair]:
    return expression_repairs(found, place(found, name))


ORIGINAL = """def price(items, tax=True, rate=19):
    total = 0
    for count, cents in items:
        if count > 0 and cents is not None:
            total += count * cents
    if not tax or "free" in items:
        return total
    while total % 5 != 0:
        total = total - 1 | 0
    return total + total * rate // 100
"""


@pytest.mark.slow
def test_every_direct_bug_is_turned_back() -> None:
    """What the direct strategy breaks in one place, one proposed repair mends, for each of its plain kinds: those of
    `subtle` are not a search's to find."""
    lines = split_lines(ORIGINAL)
    [function] = outermost_functions(__import__("ast").parse(ORIGINAL))
    subtle = set(subtle_cuts(function, lines))
    cuts = [cut for cut in direct_cuts(function, lines) if cut not in subtle]
    assert len(cuts) >= 12
    for cut in cuts:
        broken = "".join([*lines[: cut.start - 1], f"{cut.lines[0]}\n", *lines[cut.end :]])
        assert proposes({"shop.py": broken}, "price", expressions, ORIGINAL), cut


GUARDED = """def first(items):
    if not items:
        return None
    head = items[0]
    return head
"""


def test_a_guard_and_a_return_come_back() -> None:
    def guards(found: Evidence, name: str) -> Iterable[Repair]:
        return guard_repairs(found, place(found, name))

    broken = GUARDED.replace("    if not items:\n        return None\n", "")
    wanted = GUARDED.replace("return None", "return")
    assert proposes({"shop.py": broken}, "first", guards, wanted)
    assert proposes({"shop.py": GUARDED.replace("    return head\n", "")}, "first", guards, GUARDED)


TWO = """def add(stock, name):
    key = name.strip().lower()
    stock[key] = stock.get(key, 0) + 1


def take(stock, name):
    key = name.strip().lower()
    stock[key] = stock.get(key, 0) - 1
"""


def test_a_statement_that_stands_elsewhere_is_put_in() -> None:
    def donated(found: Evidence, name: str) -> Iterable[Repair]:
        return insertion_repairs(Ingredients(found), place(found, name))

    head, _, tail = TWO.rpartition("    key = name.strip().lower()\n")
    assert proposes({"shop.py": head + tail}, "take", donated, TWO)
    renamed = TWO.replace("def take(stock, name)", "def take(stock, label)")
    head, _, tail = renamed.rpartition("    key = name.strip().lower()\n")
    wanted = head + "    key = label.strip().lower()\n" + tail
    assert proposes({"shop.py": head + tail}, "take", donated, wanted)


CLASSES = """class Fruit(Base):
    def __init__(self, names):
        self.names = names

    def __len__(self):
        return len(self.names)

    def shown(self):
        return ", ".join(self.names)


class Tools(Base):
    def __init__(self, names):
        self.names = names

    def __len__(self):
        pass

    def size(self):
        return 0
"""


def test_a_body_and_a_method_are_taken_from_siblings() -> None:
    def bodies(found: Evidence, name: str) -> Iterable[Repair]:
        stubs = [one for one in found.places if one.owner == "Tools" and one.function.name == name]
        return transplant_repairs(found, stubs[0])

    wanted = CLASSES.replace("        pass\n", "        return len(self.names)\n")
    assert proposes({"shop.py": CLASSES}, "__len__", bodies, wanted)
    found = evidence({"shop.py": CLASSES}, failed("t.py::t", "'Tools' object has no attribute 'shown'"))
    wanted = CLASSES + '\n    def shown(self):\n        return ", ".join(self.names)\n'
    assert program(wanted) in texts_of(found, method_repairs(found))


CALLER = """def build(stack, options):
    stack.add(Filter(width=options['width']))


class Filter:
    def __init__(self, width=0, compact=False):
        self.width = width
        self.compact = compact
"""


def test_an_argument_is_passed_on_as_its_neighbours_are() -> None:
    def calls(found: Evidence, name: str) -> Iterable[Repair]:
        return call_repairs(found, place(found, name), signatures(found))

    wanted = CALLER.replace("options['width'])", "options['width'], compact=options['compact'])")
    assert proposes({"shop.py": CALLER}, "build", calls, wanted)


@pytest.mark.parametrize(
    ("text", "message", "wanted"),
    [
        ("def f(x):\n    return unicode(x)\n", "name 'unicode' is not defined", "def f(x):\n    return str(x)\n"),
        (
            "def f(x):\n    return os.sep\n",
            "name 'os' is not defined",
            "import os\ndef f(x):\n    return os.sep\n",
        ),
    ],
)
def test_an_unknown_name_becomes_a_known_one(text: str, message: str, wanted: str) -> None:
    failing = failed("t.py::t", message, ("shop.py", 2, "f"))
    found = evidence({"shop.py": text}, failing)
    assert program(wanted) in texts_of(found, name_repairs(found))


def test_a_parameter_the_tests_pass_is_added() -> None:
    found = evidence(
        {"shop.py": "def f(x):\n    return x\n"},
        failed("t.py::t", "f() got an unexpected keyword argument 'deep'"),
    )
    assert program("def f(x, deep=False):\n    return x\n") in texts_of(found, parameter_repairs(found))


def test_answers_are_cases_of_the_function_the_test_calls() -> None:
    text = "def f(x, deep=False):\n    return x\n"
    call = SeenCall("shop.py", 1, {"x": "3", "deep": "False"}, "3")
    found = evidence({"shop.py": text}, calls=(call,), operands=(("==", "3", "9"),))
    assert texts_of(found, answer_repairs(found)) == {
        program("def f(x, deep=False):\n    if x == 3:\n        return 9\n    return x\n")
    }


def test_no_kind_of_repair_crowds_out_the_others() -> None:
    found = evidence({"shop.py": ORIGINAL})
    [mended] = [one for one in expressions(found, "price") if one.what == "dropped a negation"]
    many = [Repair(mended.edits, "guard", 1.0, str(n)) for n in range(100)]
    other = Repair(mended.edits, "constant", 0.4)
    assert order([*many, other]).index(other) < 60
    assert len(distinct([*many, other])) == 1
