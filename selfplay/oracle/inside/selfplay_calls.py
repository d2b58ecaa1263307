"""Writes calls that are seen as source that repeats them, with the values that earlier calls made."""

KEPT_MOST = 20000


class SelfplayCalls(SelfplayWritten):
    """`functions`: code of a function that a call returned -> that call as source."""

    def __init__(self):
        SelfplayWritten.__init__(self)
        self.functions = {}

    def keep(self, value, source):
        if value is not None and len(self.made) < KEPT_MOST and self.literal(value, 2) is None:
            self.made[id(value)] = source, value
            if getattr(value, "__code__", None) is not None:
                self.functions[value.__code__] = source

    def call(self, frame):
        """The call as source; None if it cannot be written."""
        code, here = frame.f_code, frame.f_locals
        names = code.co_varnames
        plain = list(names[: code.co_argcount])
        only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        at = code.co_argcount + code.co_kwonlyargcount
        rest = here.get(names[at], ()) if code.co_flags & 4 else ()
        more = here.get(names[at + bool(code.co_flags & 4)], {}) if code.co_flags & 8 else {}
        target, bound, function = self.target(frame, here.get(plain[0]) if plain else None)
        if target is None:
            return None
        defaults = getattr(function, "__defaults__", None) or ()
        implied = dict(zip(plain[len(plain) - len(defaults) :], defaults))
        implied.update(getattr(function, "__kwdefaults__", None) or {})
        given = [(name, here.get(name)) for name in plain[bound:]]
        words, named = [], []
        for name, value in given:
            if not rest and name in implied and value is implied[name]:
                named.append(None)  # pass the rest by name
            elif named:
                named.append((name, self.literal(value, 5)))
            else:
                words.append(self.literal(value, 5))
        words += [self.literal(value, 5) for value in rest]
        named += [(name, self.literal(here.get(name), 5)) for name in only
                  if name not in implied or here.get(name) is not implied[name]]  # fmt: skip
        named += [(name, self.literal(value, 5)) for name, value in more.items()]
        named = [pair for pair in named if pair is not None]
        if None in words or any(word is None or not name.isidentifier() for name, word in named):
            return None
        source = "%s(%s)" % (target, ", ".join(words + ["%s=%s" % pair for pair in named]))
        if code.co_name == "__init__":
            self.keep(here[plain[0]], source)
        return source

    def target(self, frame, first):
        """(what is called, as source; its number of bound arguments; the function), or (None, 0, None)."""
        name, module, code = frame.f_code.co_name, frame.f_globals.get("__name__", ""), frame.f_code
        found = self.with_code(frame.f_globals.get(name), code)
        if found:
            return self.reference(module, name), 0, found
        if code in self.functions:
            return self.functions[code], 0, None
        kind = first if isinstance(first, type) else type(first)
        for owner in kind.__mro__:
            found = self.with_code(vars(owner).get(name), code)
            if found:
                break
        else:
            return None, 0, None
        if name in ("__init__", "__new__") and getattr(kind, name) in (getattr(owner, name), found):
            return self.reference(kind.__module__, kind.__qualname__), 1, found
        base = self.literal(first, 1)
        if base is None or name in ("__init__", "__new__"):
            return None, 0, None
        return (base if name == "__call__" else "%s.%s" % (base, name)), 1, found

    @staticmethod
    def with_code(value, code):
        while value is not None:
            value = getattr(value, "__func__", value)
            if getattr(value, "__code__", None) is code:
                return value
            value = getattr(value, "__wrapped__", None)
        return None
