"""Writes values as source that makes them again: the first part of the program that records how tests enter the
program.

A value can be a literal, an object whose creation was seen, a generator that has not started, or a name of a module,
including the tests' modules.
"""

import io
import sys

WRITTEN_TEXT, WRITTEN_ITEMS = 4000, 50
STAND_IN = "(lambda *values, **named: (*values, *named.items()))"
LATER = 0x20 | 0x80 | 0x200
"""Flags of the code of generators and coroutines."""


class SelfplayWritten:
    """`made`: id -> (source, object), for objects whose creation was seen; `modules`: module -> its name in the source;
    `helpers`: modules of the tests, with their files."""

    root, tests = "/", frozenset()

    def __init__(self):
        self.made, self.modules, self.helpers, self.globals, self.loaded = {}, {}, {}, {}, 0
        self.functions_written = SelfplayFunctions(self.literal)

    def reference(self, module, name):
        """The source name of a module's object, if it is one; the module is imported under a generated name."""
        value = sys.modules.get(module)
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is None or module == "__main__":
            return None
        if self.path_of(module) in self.tests:
            if "." in name:
                return None
            self.helpers[module] = self.path_of(module)
        return "%s.%s" % (self.named(module), name)

    def named(self, module):
        return self.modules.setdefault(module, "selfplay_m%d" % len(self.modules))

    def of_tests(self, value):
        """Whether it is a function or a method that a test made, and that answers at once."""
        known = type(value) in (type(lambda: 0), type(self.of_tests)) and not value.__code__.co_flags & LATER
        file = value.__code__.co_filename if known else ""
        return file.startswith(self.root) and file[len(self.root) :] in self.tests

    def reduced(self, value, depth):
        """A value of Python's own or an installed type as the call that copies it, as `pickle` knows it, if it has no
        further state; None for any other."""
        try:
            made = value.__reduce_ex__(2)
            function, given, state, items, pairs = (*made, None, None, None)[:5]
            if state or not depth:
                return None
            name = self.literal(function, 0) if function.__module__ != "copyreg" else None
            if items is not None and given:  # as of a `deque` with a limit
                return None
            words = [*given, *([list(items)] if items is not None else []), *([list(pairs)] if pairs else [])]
            texts = [self.literal(one, depth - 1) for one in words]
        except Exception:
            return None
        return "%s(%s)" % (name, ", ".join(texts)) if name is not None and None not in texts else None

    def path_of(self, module):
        name = getattr(sys.modules.get(module), "__file__", None) or ""
        return name[len(self.root) :] if name.startswith(self.root) else ""

    def literal(self, value, depth):
        """The value as source; None if it cannot be written."""
        kind = type(value)
        if value is None or kind in (bool, int) or (kind is float and value == value and abs(value) != float("inf")):
            return repr(value)
        if kind in (str, bytes):
            return repr(value) if len(value) <= WRITTEN_TEXT else None
        if id(value) in self.made and self.made[id(value)][1] is value:
            return self.made[id(value)][0]
        if kind in (list, tuple, set, frozenset, dict):
            return self.container(value, kind, depth)
        if kind is io.StringIO and not value.closed:
            return "selfplay_file(%r)" % value.getvalue()[:WRITTEN_TEXT]
        if kind is type(sys) and sys.modules.get(value.__name__) is value and not self.path_of(value.__name__):
            return self.named(value.__name__)
        if isinstance(value, type) or hasattr(value, "__code__") or kind is type(len):
            return self.callable(value, depth)
        if not self.path_of(kind.__module__) and kind.__module__ != "__main__":
            made = self.reduced(value, depth)
            if made is not None:
                return made
        for place in ("gi", "cr", "ag"):
            if hasattr(value, place + "_code"):
                return self.unbegun(getattr(value, place + "_code"), getattr(value, place + "_frame"), depth)
        return self.global_name(value)

    def callable(self, value, depth):
        """A function or class as source; for a test's own that cannot be written, one that answers with what it is
        given stands in, so that what was made with it is known."""
        name, made = getattr(value, "__qualname__", "<"), None
        if "<" not in name:
            made = self.reference(getattr(value, "__module__", None) or "", name)
        elif type(value) is type(lambda: 0) and self.of_tests(value):
            made = self.functions_written.source(value, depth)
        return STAND_IN if made is None and self.of_tests(value) else made

    def unbegun(self, code, frame, depth):
        """A generator or coroutine that has not started, of a function with plain parameters; None for any other."""
        names = code.co_varnames[: code.co_argcount]
        if not depth or frame is None or set(frame.f_locals) != set(names) or code.co_flags & 12:
            return None
        module = frame.f_globals.get("__name__", "")
        function = vars(sys.modules.get(module, sys)).get(code.co_name)
        target = getattr(function, "__code__", None) is code and self.reference(module, code.co_name)
        words = [self.literal(frame.f_locals[name], depth - 1) for name in names]
        return "%s(%s)" % (target, ", ".join(words)) if target and None not in words else None

    def container(self, value, kind, depth):
        if depth == 0 or len(value) > WRITTEN_ITEMS:
            return None
        items = [self.literal(one, depth - 1) for one in (value if kind is not dict else [*value, *value.values()])]
        if None in items:
            return None
        if kind is dict:
            half = len(items) // 2
            return "{%s}" % ", ".join("%s: %s" % pair for pair in zip(items[:half], items[half:]))
        forms = {list: "[%s]", tuple: "(%s)", set: "set([%s])", frozenset: "frozenset([%s])"}
        return forms[kind] % (", ".join(items) + ("," if kind is tuple and items else ""))

    def global_name(self, value):
        """An object that a module of the program created at import."""
        if len(sys.modules) != self.loaded:
            self.loaded = len(sys.modules)
            self.globals = {
                id(other): (name, key, other) for name, module in list(sys.modules.items())
                if self.path_of(name) and self.path_of(name) not in self.tests
                for key, other in list(vars(module).items()) if key.isidentifier()
            }  # fmt: skip
        name, key, other = self.globals.get(id(value), (None, None, None))
        return self.reference(name, key) if name and other is value else None
