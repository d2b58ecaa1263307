"""Makes several calls of what a call returned; a helper of calls. Shown are the results, what became of it, and how
often each step called the functions that it was made of: what is remembered is not computed again."""

import functools
import types

CALLED = []
"""One entry for each call of a given function."""


def counted(value):
    """A function that it is made of, which counts its calls; any other value as it is."""
    if not isinstance(value, types.FunctionType):
        return value

    @functools.wraps(value)
    def counting(*values, **named):
        CALLED.append(None)
        return value(*values, **named)

    return counting


def filled(thing):
    """An object with odd keys and a value that is false, and may be a size: a program that asks whether there is one
    (`if key:`) is wrong for them."""
    for key in ("", 0, None):
        try:
            thing[key] = 0
        except Exception:
            continue
    return thing


def several(thing, times, *steps):
    for _ in range(times):
        seen, called = [], []
        for step in steps:
            del CALLED[:]
            try:
                value = step(thing)
            except Exception as error:
                value = type(error).__name__
            seen.append(value)
            called.append(len(CALLED))
            if type(value) is type(thing) and value is not thing:
                thing = value
    return seen, thing, called
