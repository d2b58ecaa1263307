"""Appended to a test file: records what a probe saw, as plain values, one line of JSON each.

Nothing here decides: what is recorded is compared outside, where no code of the repository runs. Code under test may
change this code or its file; that helps only a program that knows what the original does.
"""

RECORD_MOST = 400
RECORD_ITEMS = 100


class SelfplayRecord:
    """The probe that runs, and how many outcomes it has."""

    probe, calls, index = "", {}, 0


def selfplay_begin(probe):
    SelfplayRecord.calls[probe] = SelfplayRecord.calls.get(probe, 0) + 1
    SelfplayRecord.probe, SelfplayRecord.index = "%s/%d" % (probe, SelfplayRecord.calls[probe]), 0


def selfplay_saw(value):
    """The next outcome of the running probe; returns the value."""
    import hashlib
    import json

    text = json.dumps(selfplay_plain(value, 5))
    if len(text) > RECORD_MOST:
        text = hashlib.sha256(text.encode()).hexdigest()
    line = json.dumps(["%s/%d" % (SelfplayRecord.probe, SelfplayRecord.index), text])
    SelfplayRecord.index += 1
    if SelfplayRecord.index <= RECORD_ITEMS:
        with open("/tmp/selfplay-record", "a") as stream:
            stream.write(line + "\n")
    return value


def selfplay_raised(error):
    """An exception as an outcome: its kind and its arguments."""
    selfplay_saw(("raised", type(error).__name__, error.args))


def selfplay_needs(named):
    """What a probe calls by its name. Where there is nothing of that name, the probe says so, and ends."""
    try:
        named()
    except Exception:
        selfplay_saw("selfplay: gone")
        raise


class SelfplayCaught:
    """What `with raises(...) as NAME` leaves in NAME."""

    def __init__(self, error):
        self.value = self.exception = error
        self.type = type(error)

    def match(self, pattern):
        selfplay_saw(str(self.value))
        return True


def selfplay_plain(value, depth):
    """The value as JSON can hold it: exact kinds of the language taken apart, anything else by its class and fields."""
    import re
    import types

    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value if kind is not int else [str(value)]
    if kind in (float, complex, bytes, bytearray):
        return [kind.__name__, repr(value)]
    name = "%s.%s" % (kind.__module__, kind.__qualname__)
    if depth == 0:
        return [name]
    if kind in (list, tuple):
        return [kind.__name__, *(selfplay_plain(one, depth - 1) for one in value[:RECORD_ITEMS]), len(value)]
    if kind in (set, frozenset):
        return [kind.__name__, *sorted(str(selfplay_plain(one, depth - 1)) for one in value)]
    if kind is dict:
        pairs = list(value.items())[:RECORD_ITEMS]
        return ["dict", *([selfplay_plain(one, depth - 1), selfplay_plain(two, depth - 1)] for one, two in pairs)]
    if isinstance(value, type) or kind in (types.FunctionType, types.BuiltinFunctionType, types.ModuleType):
        return [name, getattr(value, "__qualname__", None) or value.__name__]
    if isinstance(value, BaseException):
        return [name, selfplay_plain(value.args, depth - 1)]
    if kind is types.GeneratorType or (hasattr(value, "__next__") and hasattr(value, "__iter__")):
        items = []
        for one in value:
            items.append(selfplay_plain(one, depth - 1))
            if len(items) == RECORD_ITEMS:
                break
        return [name, *items]
    fields = getattr(value, "__dict__", None)
    if isinstance(value, (int, str, bytes, float, list, tuple, dict)):
        base = next(one for one in (int, str, bytes, float, list, tuple, dict) if isinstance(value, one))
        return [name, selfplay_plain(base(value), depth - 1)]
    if isinstance(fields, dict) and fields:
        return [name, *([str(key), selfplay_plain(one, depth - 1)] for key, one in sorted(fields.items(), key=str))]
    return [name, re.sub(r"0x[0-9a-f]+", "0x", repr(value))[:RECORD_MOST]]
