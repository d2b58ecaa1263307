"""Records values as plain JSON, in signed and chained lines.

Shared by the recorder of probes and by the caller. Everything used here is looked up before the repository's code is
loaded.
"""

RECORD_MOST = 400
RECORD_ITEMS = 100
RECORD_NODES = 600


def selfplay_signer(key, stream, sha256, write, getpid):
    """A function that writes one outcome: its place, and its value or a digest of it. The key exists only in a
    closure."""
    pid, count, before, escaped = getpid(), [0], [b""], selfplay_escaper()

    def dumps(value):
        if value is None:
            return "null"
        if value is True or value is False:
            return "true" if value else "false"
        if type(value) is str:
            return escaped(value)
        return "[%s]" % ", ".join([dumps(one) for one in value])

    def say(place, value):
        if getpid() != pid:
            return
        text = dumps(value)
        if len(text) > RECORD_MOST:
            text = escaped(sha256(text.encode("ascii")).hexdigest())
        line = dumps([str(count[0]), place, text]).encode("ascii")
        mac = sha256(key + before[0] + line + key).hexdigest().encode("ascii")
        count[0], before[0] = count[0] + 1, mac
        write(stream, mac + b" " + line + b"\n")

    return say


def selfplay_escaper():
    """A function that writes text as JSON, in C if available."""
    from json import encoder

    return encoder.c_encode_basestring_ascii or encoder.py_encode_basestring_ascii


def selfplay_plainer():
    """The function that makes a value plain, with its helpers."""
    import types

    functions = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
    generator, left, around = types.GeneratorType, [0], set()
    bases = (int, str, bytes, float, list, tuple, dict)

    def whole(value, depth):
        """The value in JSON form, with at most `RECORD_NODES` parts."""
        left[0] = RECORD_NODES
        around.clear()
        return plain(value, depth)

    def plain(value, depth):
        """The value in JSON form: built-in types by content, others by class and public fields."""
        kind = type(value)
        left[0] -= 1
        if left[0] < 0:
            return "..."
        if value is None or kind in (bool, str):
            return value
        if kind in (int, float, complex, bytes, bytearray):
            return [kind.__name__, repr(value)]
        name = kind.__qualname__  # a repair may move a class to another module
        if depth == 0:
            return [name]
        if kind in (list, tuple, set, frozenset, dict):
            return container(value, kind, depth)
        if isinstance(value, type) or kind in functions:
            known = getattr(value, "__qualname__", None) or value.__name__
            return [name] if "<" in known else [name, known]  # what is made in a function has any name
        if isinstance(value, BaseException):
            return [name]
        if kind is generator or (hasattr(value, "__next__") and hasattr(value, "__iter__")):
            return [name, *items_of(value, depth)]
        if isinstance(value, bases):
            base = next(one for one in bases if isinstance(value, one))
            return [name, plain(base(value), depth - 1)]
        return inner(value, name, depth)

    items_of, container = selfplay_containers(plain, around)
    inner = selfplay_objects(plain, around)
    return whole


def selfplay_containers(plain, around):
    """Two functions: the plain items of an iterable, and a built-in container as its type and items; a dictionary that
    an object holds (`around`) without its order, which no answer shows."""

    def items_of(value, depth):
        items = []
        for one in value:
            items.append(plain(one, depth - 1))
            if len(items) == RECORD_ITEMS:
                break
        return items

    def container(value, kind, depth):
        if kind in (list, tuple):
            return [kind.__name__, *items_of(value[:RECORD_ITEMS], depth), str(len(value))]
        if kind is dict:
            pairs = list(value.items())[:RECORD_ITEMS]
            shown = [[plain(one, depth - 1), plain(two, depth - 1)] for one, two in pairs]
            return ["dict", *(sorted(shown, key=str) if around else shown)]
        return [kind.__name__, *sorted([str(plain(one, depth - 1)) for one in value])]

    return items_of, container


def selfplay_objects(plain, around):
    """The function that makes an object plain. `around`: ids of the objects in which it lies, which it adds to."""
    import re

    address = re.compile(r"0x[0-9a-f]+").sub

    def inner(value, name, depth):
        """An object as its class, its `str` if it defines one, and its public fields."""
        kind, key = type(value), id(value)
        said = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
        known = [name, address("0x", str(value))] if said else [name]
        if key in around:
            return known
        names = {one for owner in kind.__mro__ for one in slots(owner)}
        names.update(getattr(value, "__dict__", None) or ())
        around.add(key)
        try:
            shown = sorted(str(one) for one in names if not str(one).startswith("_"))
            return known + [[one, plain(getattr(value, one, None), depth - 1)] for one in shown]
        finally:
            around.discard(key)

    def slots(owner):
        found = vars(owner).get("__slots__", ())
        return (found,) if type(found) is str else found

    return inner


selfplay_plain = selfplay_plainer()
