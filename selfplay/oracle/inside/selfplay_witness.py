"""The witness: a second reporter inside pytest, independent of the one that the test script uses.

It reads a key from standard input before any code of the repository is imported, closes that input, and signs whether
each test's call raised. A record forged by code under test has no signature. It has no assertions, so pytest need not
rewrite it (PYTEST_DONT_REWRITE).
"""

import hmac
import json
import linecache
import os
import sys
from hashlib import sha256

import pytest

KEY_BYTES = 64
FILE = "/tmp/selfplay-witness"
RUNNERS = ("_pytest", "pytest", "pluggy", "unittest")


def take_order():
    """Read all of standard input: the key and the hook's input. Empty if this is not the process that was given the
    key."""
    if os.environ.pop("SELFPLAY_WITNESS", None) is None:
        return b""
    data = b""
    while True:
        block = os.read(0, 65536)
        if not block:
            break
        data += block
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return data if len(data) > KEY_BYTES else b""


def forget():
    """Remove all traces of this module from the environment of the tests."""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != here]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    os.environ.pop("PYTEST_PLUGINS", None)
    sys.path[:] = [path for path in sys.path if path != here]


def runners():
    """The functions of the test runner's loaded modules: name -> code."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in RUNNERS and module is not None:
            for key, value in list(vars(module).items()):
                place = getattr(value, "__module__", None)
                if place != name:
                    if isinstance(place, str) and place.split(".")[0] in RUNNERS:
                        found[name, key, ""] = value  # such as `pytest.raises`, defined in another module
                    continue
                if isinstance(value, type):
                    for inner, method in list(vars(value).items()):
                        code = getattr(getattr(method, "__func__", method), "__code__", None)
                        if code is not None:
                            found[name, key, inner] = code
                elif getattr(value, "__code__", None) is not None:
                    found[name, key, ""] = value.__code__
    return found


def signer(key, stream):
    """A function that writes one signed record, in this process only; the key exists only in a closure."""
    pid, write, new, getpid, dumps = os.getpid(), os.write, hmac.new, os.getpid, json.dumps
    count = [0]

    def say(*words):
        if getpid() == pid:
            count[0] += 1
            line = dumps([count[0], *words]).encode("ascii")
            write(stream, new(key, line, "sha256").hexdigest().encode("ascii") + b" " + line + b"\n")

    return say


def shuffled(items, seed):
    """Shuffle modules, the classes in them and the tests in those, so that fixtures are not set up more often."""

    def place(item):
        return [sha256((seed + one.nodeid).encode("utf-8", "replace")).digest() for one in item.listchain()]

    items.sort(key=place)


def forgetter(root):
    """A function that forgets the lines of the repository's files that Python keeps once it has shown them. With them,
    whether a program reads a test, as asyncio does in its debug mode, would depend on the tests that failed before."""
    kept, every, kind_of, text = linecache.cache, list, type, str

    def forget_lines():
        for path in every(kept):
            if kind_of(path) is text and path.startswith(root):  # a program can put any key there
                kept.pop(path, None)

    return forget_lines


def witness(say, order):
    """The plugin that reports what each test did and, if the order asks for the `runner`, which functions of it were
    replaced. `seed`: of the test order; empty to keep it."""
    look, seed = runners if order["runner"] else dict, order["seed"]
    before, forget_lines = look(), forgetter(order["root"].rstrip("/") + "/")

    class Witness:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items):
            if seed:
                shuffled(items, seed)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self):
            forget_lines()

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_teardown(self):
            forget_lines()

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_call(self, item):
            forget_lines()
            outcome = yield
            failed = outcome.excinfo is not None or bool(getattr(item, "_excinfo", None))
            say("test", item.nodeid, "failed" if failed else "passed")

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self, session, exitstatus):
            after = look()
            other = sorted(place for place, code in before.items() if after.get(place) is not code)
            for place in other[:20]:
                say("replaced", ".".join(place), "")
            say("end", "", int(exitstatus))

    return Witness()


def start():
    """Set the hook before the first file of the repository is loaded; returns the function that registers the
    plugin."""
    told = take_order()
    forget()
    if not told:
        return lambda config: None
    stream = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | os.O_CLOEXEC, 0o600)
    say = signer(told[:KEY_BYTES], stream)
    order = json.loads(told[KEY_BYTES:].decode())
    if hasattr(sys, "addaudithook"):
        watch(order, RUNNERS, say, stream)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(config):
        config.pluginmanager.register(witness(say, order), "selfplay-witness")

    return pytest_configure


pytest_configure = start()
