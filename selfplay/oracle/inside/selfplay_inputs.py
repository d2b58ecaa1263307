"""What a call was given, as text without what differs from run to run: tells whether an input is one of a test."""

import re
from hashlib import sha256

TEXT_MOST, ITEMS_MOST, PAST_MOST = 4000, 50, 500
ADDRESS, MODULE = re.compile("0x[0-9a-f]+"), re.compile("selfplay_m[0-9]+")


class SelfplayInputs:
    """`past`: id -> (object, digest of what it was told in this test); `told`: that of the object of the last call."""

    def __init__(self):
        self.past, self.told = {}, ""

    def arguments(self, frame):
        code, here = frame.f_code, frame.f_locals
        most = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        return "%s(%s)" % (code.co_name, ", ".join(self.short(here.get(name), 3) for name in code.co_varnames[:most]))

    def short(self, value, depth):
        """The value as text, without what differs from run to run; consumes no iterator."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str, bytes):
            return repr(value[:TEXT_MOST] if kind in (str, bytes) else value)
        if depth and kind in (list, tuple, set, frozenset, dict):
            items = [*value, *value.values()] if kind is dict else list(value)
            texts = [self.short(one, depth - 1) for one in items[:ITEMS_MOST]]
            return "%s%s" % (kind.__name__, sorted(texts) if kind in (set, frozenset) else texts)
        if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
            return kind.__qualname__
        try:
            return ADDRESS.sub("", "%s %s" % (kind.__qualname__, str(value)[:TEXT_MOST]))
        except Exception:
            return kind.__qualname__

    def remember(self, frame):
        """Note a method's call with its object: what was done with it before is part of a later call's input. `told`:
        what the object was told before this call. Objects are held until the test ends, so that no other one has their
        number."""
        self.told, names = "", frame.f_code.co_varnames
        if frame.f_code.co_argcount and names[0] == "self" and len(self.past) < PAST_MOST:
            thing = frame.f_locals.get("self")
            self.told = self.past.get(id(thing), (None, ""))[1]
            text = self.told + self.arguments(frame)
            self.past[id(thing)] = thing, sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    def made_of(self):
        """The call by which a test entered the program as source, with what its object was made of: `repr` of most
        objects says nothing. Modules have their own names here, since others are drawn in each run."""
        own = {name: module for module, name in self.modules.items()}
        return MODULE.sub(lambda found: own.get(found[0], ""), self.source or "")
