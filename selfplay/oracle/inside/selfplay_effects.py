"""Shows what a call does besides answering; a helper of calls, in which `selfplay_saw` records a value.

What becomes of its arguments, also where it fails; which of them its result holds, and which objects twice; when it
takes what it is given and calls the functions it is given; and whether the next call answers the same when somebody has
changed what the first one returned.
"""

import collections
import itertools
import types

MOST, DEEP = 100, 3
"""Objects of a value that are compared, and how deep they are looked for."""
WITHIN = [[], 0]
"""What the current call has told, and at which call functions fail."""
MARK = "a stranger's"
"""What is put into a result."""


def effects(function, make, place=-1, kind=0, fails=0):
    """Make a call twice, each time with what `make` gives, and show what it does. The argument at `place` has another
    type, by `kind`; the functions that it is given fail at one of their first `CALLS` calls with one of the `ERRORS`:
    `fails` says which."""
    ways = place, kind, fails
    first, error = shown(function, make, ways)
    if hasattr(first, "__await__"):
        return first
    undo = changed(first)
    try:
        shown(function, make, ways)
    finally:
        for one in undo:
            one()
    if error is not None and not fails and not isinstance(error, Failed):
        raise error
    return first


def given(*values, **named):
    return list(values), named


def within(value):
    """An argument of a call whose result is an argument: a function that the result may call, as a decorator's does,
    tells of it and fails as one that is given does."""
    return in_its_place(value, *WITHIN, None)


def shown(function, make, ways):
    """What the call returned, or its error, after both were shown with all else that it did. What an error says is
    anybody's choice, but for the key that is missing."""
    place, kind, fails = ways
    told = []
    WITHIN[:] = told, fails
    values, named = make()
    kinds = [kind if at == place else None for at in range(len(values) + len(named))]
    values = [in_its_place(one, told, fails, kinds.pop(0)) for one in values]
    named = {name: in_its_place(one, told, fails, kinds.pop(0)) for name, one in named.items()}
    before, result, error = objects([values, named]), None, None
    told.append("called")
    try:
        result = function(*values, **named)
    except Exception as raised:
        error = raised
    told.append("returned")
    if hasattr(result, "__next__"):
        items, error = given_out(result, told)
        result = [type(result).__name__, *items]
    told.append("ended")
    held = {id(one) for one in objects(result)}
    missing = error.args if isinstance(error, KeyError) else ()
    selfplay_saw(result if error is None else [type(error).__name__, *missing, result])
    selfplay_saw([at for at, one in enumerate(before) if id(one) in held])
    selfplay_saw(repeated(result))
    selfplay_saw(values)
    selfplay_saw(named)
    selfplay_saw(told)
    return result, error


def in_its_place(value, told, fails, kind):
    """The value, or what tells of its use in its place."""
    if kind is not None:
        others = OTHERS.get(type(value), ())
        return others[kind](value, told) if kind < len(others) else value
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return telling(value, told, fails)
    return value


def given_out(result, told):
    """The items of a result, each told of when it is there, and the error at which it ended."""
    items, error = [], None
    try:
        for one in itertools.islice(result, MOST):
            told.append("given out")
            items.append(one)
    except Exception as raised:
        error = raised
    return items, error


def objects(value, deep=DEEP, own=True):
    """The objects in it that can be changed, in order, with repetitions. `own`: also those in fields of objects."""
    found, known = [], set()

    def look(one, left):
        changing = isinstance(one, (list, dict, set, bytearray, collections.deque))
        fields = getattr(one, "__dict__", None) if own and not callable(one) else None
        if len(found) >= MOST or isinstance(one, types.ModuleType):
            return
        if changing or isinstance(fields, dict):
            found.append(one)
            if id(one) in known:
                return
            known.add(id(one))
        inner = list(one.values()) if isinstance(one, dict) else []
        inner += list(itertools.islice(one, MOST)) if isinstance(one, (list, tuple)) else []
        inner += list(fields.values()) if isinstance(fields, dict) else []
        for each in inner if left else ():
            look(each, left - 1)

    look(value, deep)
    return found


def repeated(value):
    """Which objects of its lists and dictionaries are the same: for each its place, and that of the first."""
    first, found = {}, []
    for at, one in enumerate(objects(value, own=False)):
        if first.setdefault(id(one), at) != at:
            found.append([at, first[id(one)]])
    return found


def changed(value):
    """Put something into its lists, dictionaries and sets; returns what takes it out again."""
    undo = []
    for one in objects(value, own=False):
        if type(one) is list:
            one.append(MARK)
            undo.append(lambda one=one: one.__setitem__(slice(None), [each for each in one if each is not MARK]))
        elif type(one) is dict:
            one[MARK] = MARK
            undo.append(lambda one=one: one.pop(MARK, None))
        elif type(one) is set:
            one.add(MARK)
            undo.append(lambda one=one: one.discard(MARK))
    return undo
