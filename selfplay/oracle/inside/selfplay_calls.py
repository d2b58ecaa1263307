"""A pytest plugin for one run of the original: writes down the calls that tests make to the program, and those of the
functions that a bug changes, as source that makes the same call again.

An argument is a literal, or an object whose making was seen: a class or function called with such arguments, or a name
of a module. Any other call is left out.
"""

import json
import os
import sys

CALLS_FILE = "/tmp/selfplay-calls"
CALLS_MOST, TEXT_MOST, ITEMS_MOST, SOURCE_MOST = 400, 4000, 50, 8000


class Calls:
    """What was seen. `made`: id -> (source, object), for objects whose making is known."""

    def __init__(self, order):
        self.root, self.changed = order["root"].rstrip("/") + "/", set(map(tuple, order["changed"]))
        self.tests, self.wanted = tuple(order["tests"]), set(order["wanted"])
        self.made, self.open, self.seen, self.modules = {}, {}, {}, {}

    def path(self, frame):
        name = frame.f_code.co_filename
        return name[len(self.root) :] if name.startswith(self.root) else ""

    def profile(self, frame, event, value):
        if event == "call":
            path = self.path(frame)
            if path and not path.startswith(self.tests):
                above = frame.f_back
                by_test = above is not None and self.path(above).startswith(self.tests) and bool(self.path(above))
                if by_test or (path, frame.f_code.co_name) in self.changed:
                    self.called(frame, by_test)
        elif event == "return" and frame in self.open:
            source = self.open.pop(frame)
            if value is not None and self.literal(value, 1) is None:
                self.made[id(value)] = source, value

    def called(self, frame, by_test):
        source = self.call(frame)
        if source is None or len(source) > SOURCE_MOST:
            return
        if by_test and frame.f_code.co_name != "__init__":
            self.open[frame] = source
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        if test in self.wanted and len(self.seen) < CALLS_MOST:
            self.seen.setdefault(source, test)

    def call(self, frame):
        code, here = frame.f_code, frame.f_locals
        names = code.co_varnames
        plain = list(names[: code.co_argcount])
        only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        at = code.co_argcount + code.co_kwonlyargcount
        rest = here.get(names[at], ()) if code.co_flags & 4 else ()
        more = here.get(names[at + bool(code.co_flags & 4)], {}) if code.co_flags & 8 else {}
        target, bound = self.target(frame, here.get(plain[0]) if plain else None)
        if target is None:
            return None
        given = [here.get(name) for name in plain[bound:]] + list(rest)
        words = [self.literal(value, 5) for value in given]
        named = [(name, self.literal(here.get(name), 5)) for name in only] + [
            (name, self.literal(value, 5)) for name, value in more.items()
        ]
        if None in words or any(word is None or not name.isidentifier() for name, word in named):
            return None
        source = "%s(%s)" % (target, ", ".join(words + ["%s=%s" % pair for pair in named]))
        if code.co_name == "__init__":
            self.made[id(here[plain[0]])] = source, here[plain[0]]
        return source

    def target(self, frame, first):
        """(what is called, as source; how many arguments it has bound), or (None, 0)."""
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        if self.is_code(frame.f_globals.get(name), frame.f_code):
            return self.reference(module, name), 0
        kind = first if isinstance(first, type) else type(first)
        owner = next((one for one in kind.__mro__ if self.is_code(vars(one).get(name), frame.f_code)), None)
        if owner is None:
            return None, 0
        if name == "__init__" and kind.__init__ is owner.__init__:
            return self.reference(kind.__module__, kind.__qualname__), 1
        base = self.literal(first, 1)
        if base is None or name == "__init__":
            return None, 0
        return (base if name == "__call__" else "%s.%s" % (base, name)), 1

    @staticmethod
    def is_code(value, code):
        while value is not None:
            value = getattr(value, "__func__", value)
            if getattr(value, "__code__", None) is code:
                return True
            value = getattr(value, "__wrapped__", None)
        return False

    def reference(self, module, name):
        """The name of a module's object, if it is one; the module is imported under a name of its own."""
        value = sys.modules.get(module)
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is None or module == "__main__" or self.path_of(module).startswith(self.tests):
            return None
        return "%s.%s" % (self.modules.setdefault(module, "selfplay_m%d" % len(self.modules)), name)

    def path_of(self, module):
        name = getattr(sys.modules.get(module), "__file__", None) or ""
        return name[len(self.root) :] if name.startswith(self.root) else ""

    def literal(self, value, depth):
        """The value as source; None where it cannot be written."""
        kind = type(value)
        if value is None or kind in (bool, int) or (kind is float and value == value and abs(value) != float("inf")):
            return repr(value)
        if kind in (str, bytes):
            return repr(value) if len(value) <= TEXT_MOST else None
        if id(value) in self.made and self.made[id(value)][1] is value:
            return self.made[id(value)][0]
        if kind in (list, tuple, set, frozenset, dict):
            return self.container(value, kind, depth)
        if kind is type(self.literal) or not hasattr(value, "__class__"):
            return None
        if isinstance(value, type) or hasattr(value, "__code__"):
            return self.named(value)
        return self.global_name(value)

    def container(self, value, kind, depth):
        if depth == 0 or len(value) > ITEMS_MOST:
            return None
        items = [self.literal(one, depth - 1) for one in (value if kind is not dict else [*value, *value.values()])]
        if None in items:
            return None
        if kind is dict:
            half = len(items) // 2
            return "{%s}" % ", ".join("%s: %s" % pair for pair in zip(items[:half], items[half:]))  # noqa: B905
        forms = {list: "[%s]", tuple: "(%s)", set: "set([%s])", frozenset: "frozenset([%s])"}
        return forms[kind] % (", ".join(items) + ("," if kind is tuple and items else ""))

    def named(self, value):
        source = self.reference(getattr(value, "__module__", None) or "", getattr(value, "__qualname__", ""))
        return source if "<" not in getattr(value, "__qualname__", "<") else None

    def global_name(self, value):
        """An object that a module of the program made when it was imported."""
        for name, module in list(sys.modules.items()):
            if self.path_of(name) and not self.path_of(name).startswith(self.tests):
                for key, other in list(vars(module).items()):
                    if other is value:
                        return self.reference(name, key)
        return None

    def write(self):
        with open(CALLS_FILE, "w") as stream:
            stream.write(json.dumps({"modules": self.modules, "calls": list(self.seen.items())}))


CALLS = Calls(json.loads(globals()["ORDER"]))
sys.setprofile(CALLS.profile)


def pytest_sessionfinish(session):
    sys.setprofile(None)
    CALLS.write()
