"""What takes the place of an argument of a call that is looked at closely (`selfplay_effects.py`): the same in another
type, a function that tells of its calls, or fails.
"""

import collections
import fractions
import functools
import itertools
import types

TOLD = 60
"""Steps that are shown."""
CALLS, LONG = 3, 1100
"""Calls of which one may fail, for each kind of error; and items, more than calls may be in each other."""


class Failed(Exception):
    """Raised in place of a function that the call was given."""


class Ended(Failed, StopIteration):
    """The same, where it ends a loop that takes it for the end of what is given."""


class Missing(Failed, KeyError):
    """The same, where it is taken for a key that is not there."""


class Invalid(Failed, ValueError):
    """The same, where a program's own errors are caught: a handler that holds too much takes it for one of them."""


class Unsuitable(Failed, TypeError):
    """The same."""


class Absent(Failed, AttributeError):
    """The same."""


class Anything:
    """Equal to all others, as what tests put in a place that does not matter."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


class Callable(Anything):
    """An object that can be called, in the place of a function, and is equal to all others."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *values, **named):
        return self._function(*values, **named)


def telling(function, told, fails=0):
    """The function, which tells of its calls and fails at one of them."""
    calls = itertools.count(1)

    @functools.wraps(function)
    def told_of(*values, **named):
        if len(told) < TOLD:
            told.append([*values, *named.items()])
        if fails and next(calls) == 1 + (fails - 1) % CALLS:
            raise ERRORS[(fails - 1) // CALLS % len(ERRORS)]
        return function(*values, **named)

    return told_of


def taken(values, told):
    """Its items, each told of when it is taken."""
    for one in values:
        if len(told) < TOLD:
            told.append(["taken", one])
        yield one


def of_type(kind):
    return lambda value, told: kind(value)


def subtypes(kind):
    """Two types below this one: one that adds nothing, and one whose values are equal to all others."""
    anything = {"__eq__": Anything.__eq__, "__ne__": Anything.__ne__, "__hash__": kind.__hash__}
    return of_type(type("Other", (kind,), {})), of_type(type("Any", (kind,), anything))


def answering(answer):
    return lambda value, told: telling(lambda *values, **named: answer, told)


def anything(value, told):
    return Anything()


def failing(kind):
    """What has this type, and while the call runs fails at its second item, and at one by its place or key."""

    def of(value, told):
        def fail():
            if "called" in told and "ended" not in told:
                raise Failed

        def items(self):
            for at, one in enumerate(kind.__iter__(self)):
                if at:
                    fail()
                yield one

        def item(self, place, *default):
            fail()
            return kind.__getitem__(self, place)

        def pairs(self):
            return ((key, kind.__getitem__(self, key)) for key in items(self))

        def values(self):
            return (each for _, each in pairs(self))

        changed = {"__iter__": items, "__getitem__": item}
        changed |= {"items": pairs, "values": values, "get": item} if kind is dict else {}
        return type("Other", (kind,), changed)(value)

    return of


def long(value, told):
    return value * (LONG // max(1, len(value)) + 1)


ERRORS = Failed, Ended, Missing, Invalid, Unsuitable, Absent
FUNCTIONS = (
    lambda value, told: Callable(telling(value, told)), lambda value, told: functools.partial(telling(value, told)),
    answering(None), answering(0), answering(True),
)  # fmt: skip
OTHERS = {
    list: (*subtypes(list), taken, of_type(collections.UserList), of_type(collections.deque), failing(list), long),
    tuple: (*subtypes(tuple), taken, of_type(list), of_type(collections.deque), failing(tuple), long),
    dict: (*subtypes(dict), of_type(types.MappingProxyType), of_type(collections.ChainMap), taken, failing(dict)),
    set: (*subtypes(set), of_type(frozenset), taken, failing(set)),
    str: (*subtypes(str), taken, of_type(collections.UserString), of_type(list), long),
    int: (*subtypes(int), of_type(float), of_type(fractions.Fraction)),
    float: (*subtypes(float), of_type(fractions.Fraction)),
    bytes: (*subtypes(bytes), of_type(bytearray), of_type(memoryview)),
    type(None): (anything, anything, lambda value, told: 0),
    types.FunctionType: FUNCTIONS,
    types.BuiltinFunctionType: FUNCTIONS,
}
"""Type of an argument -> what has the same content and another type, first two below it; of a function, what is called
like it, or answers otherwise."""
