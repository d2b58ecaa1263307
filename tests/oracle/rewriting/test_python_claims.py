"""Claims made false: another value is another, and a test that claims it fails where the program is right."""

import ast
import re

import pytest

from selfplay.oracle.rewriting.python_claims import CASES, VARIANTS, falsified, other_value, with_few_cases


class Pair:
    def __init__(self, left: object, right: object) -> None:
        self.left, self.right = left, right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


VALUES = [
    0, 1, -1, 0.5, 1e9, 2j, True, "", "a", "A b", "aa", " ", "\n", "a\n", b"", b"ab", bytearray(b"x"), [], [1], [1, 1],
    (), (1, "a"), ["a", ["b"]], {}, {"a": 1}, {"a": {}}, set(), {1, 2}, frozenset(), frozenset({1}), None, object(),
    Pair(1, "b"), Pair([], None),
]  # fmt: skip


def another(value: object, variant: int) -> object:
    space: dict[str, object] = {}
    exec(other_value("_o", ("word",)), space)
    return space["_o"](value, variant)  # type: ignore[operator]


@pytest.mark.parametrize("variant", range(VARIANTS))
@pytest.mark.parametrize("value", VALUES, ids=lambda value: re.sub(" object at 0x.*", "", repr(value)))
def test_another_value_is_another_in_every_variant(value: object, variant: int) -> None:
    assert another(value, variant) != value


class Itself(Pair):
    """Copied by reference, as what stands in a module under a name often is."""

    def __reduce__(self) -> str:
        return "ITSELF"


class Sharing(Pair):
    def __copy__(self) -> "Sharing":
        made = Sharing(0, 0)
        made.__dict__ = self.__dict__
        return made


def marked() -> None:
    """A function with an attribute; a function's copy is itself."""


ITSELF = Itself(1, ["a"])
marked.sign = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("variant", range(VARIANTS))
@pytest.mark.parametrize(
    "value", [ITSELF, Sharing(1, "b"), Pair(1, [2]), marked, [Pair(1, 2)], {"a": ITSELF}, {"a": [1]}]
)
def test_the_value_itself_stays_as_it_is(value: object, variant: int) -> None:
    """A test whose claim is false must not change what other tests see, in whatever order they run."""
    before = pickled(value)
    assert another(value, variant) is not value
    assert pickled(value) == before


def pickled(value: object) -> object:
    """Everything in it, as plain values."""
    if isinstance(value, dict):
        return {key: pickled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [pickled(inner) for inner in value]
    return pickled(dict(vars(value))) if hasattr(value, "__dict__") else value


@pytest.mark.parametrize("variant", range(VARIANTS))
def test_another_value_is_of_the_same_kind(variant: int) -> None:
    for value in VALUES:
        if isinstance(value, (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)):
            assert type(another(value, variant)) is type(value)


@pytest.mark.parametrize(
    ("claim", "false"),
    [
        ("assert f() == 1", "assert f() == o(1, 3)"),
        ("assert 1 == f()", "assert o(1, 3) == f()"),
        ("assert 'a' in f()", "assert o('a', 0) in f()"),
        ("assert f()", "assert not f()"),
        ("assert f() < 3", "assert not f() < 3"),
        ("self.assertEqual(f(), 1)", "self.assertEqual(f(), o(1, 3))"),
        ("assert_equal(f(), 1)", "assert_equal(f(), o(1, 3))"),
        ("self.assertGreater(f(), 1)", "self.assertGreater(f(), o(1, 0))"),
        ("self.assertTrue(f())", "self.assertTrue(not f())"),
        ("with pytest.raises(ValueError):\n    f()", "with pytest.raises(ValueError):\n    pass"),
        ("f()", ""),
        ("def", ""),
    ],
)
def test_claims_are_made_false(claim: str, false: str) -> None:
    assert falsified(claim, "o", 3).strip() == false


def test_another_exception_is_asked_for() -> None:
    made = falsified("with pytest.raises(ValueError):\n    f()", "o", 2)
    assert "ValueError" not in made and made.count("f") >= 1
    assert "KeyError" not in falsified("self.assertRaises(KeyError, f)", "o", 2)


def test_a_false_claim_is_made_for_few_cases() -> None:
    told = "@pytest.mark.parametrize('n', [1, 2, 3, 4, 5])\n@pytest.mark.parametrize('m', (6, 7))\ndef f(n, m): pass\n"
    made = with_few_cases(told)
    assert len(set(re.findall("[1-5]", made))) == CASES and "(6, 7)" in made
    for kept in (
        "@p.parametrize('n', [1, 2, 3], ids=str)\ndef f(n):\n    pass\n",
        "@x([1, 2, 3])\ndef f():\n    pass\n",
    ):
        assert with_few_cases(kept) == kept


def test_one_claim_alone_is_false_and_each_has_its_turn() -> None:
    """An honest claim that were false too would fail first, and nobody would see whether a later one is tried."""
    claims = ["assert f(1) == 1", "assert not g()", "self.assertEqual(h(), 2)", "with raises(KeyError):\n        f(0)"]
    source = "def test_a(self):\n" + "".join(f"    {claim}\n" for claim in claims)
    honest = ast.unparse(ast.parse(source)).splitlines()
    changed = set()
    for _ in range(100):
        made = falsified(source, "other", 2).splitlines()
        different = [number for number, (one, two) in enumerate(zip(honest, made, strict=True)) if one != two]
        assert len(different) == 1, made
        changed.add(different[0])
    assert len(changed) == len(claims)
