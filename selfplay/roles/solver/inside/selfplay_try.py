"""Tries repairs: for each, the changed modules are loaded anew in a forked child and the failing tests run there.

A repair is written to the files too, for tests that start processes, and taken back by the parent. Loading anew happens
in place (functions get new code, classes new attributes), because other modules hold references to the old ones. What
comes out clean here is run once more from nothing before it is handed in.
"""

import os
import sys
import time
import types

from selfplay_job import forked, outcome


def run(session, job):
    """`job`: `candidates` (lists of [path, start, end, lines]), ids to `screen` by and all `failing` ones, `seconds`
    for all and for `each`, and after how many clean ones it is `enough`."""
    items = {item.nodeid: item for item in session.items}
    failing = [items[test] for test in job["failing"] if test in items]
    screen = [items[test] for test in job["screen"] if test in items]
    end, results, clean, before = time.monotonic() + job["seconds"], [], 0, None
    for number, edits in enumerate(job["candidates"]):
        if time.monotonic() > end or clean >= job["enough"] or not screen:
            break
        texts = {path: read(path) for path, _, _, _ in edits}
        try:
            after = edited(texts, edits)
            for path, text in after.items():
                write(path, text)
            found = forked(lambda: tried(after, screen, failing), job["each"])
            result = {"number": number, "state": "ran" if found else "late", "passed": [], "error": ""}
            result.update(found or {})
            if found and len(found["passed"]) == len(failing):
                if before is None:
                    before = baseline(session, texts, after, job)
                result["regressed"] = regressed(before, after, items, job)
                clean += not result["regressed"]
        finally:
            for path, text in texts.items():
                write(path, text)
        results.append(result)
    return {"results": results, "seconds_left": end - time.monotonic()}


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return stream.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)


def edited(texts, edits):
    after = {}
    for path, text in texts.items():
        lines = text.split("\n")
        for _, start, end, new in sorted((edit for edit in edits if edit[0] == path), key=lambda e: -e[1]):
            lines[start - 1 : end] = new
        after[path] = "\n".join(lines)
    return after


def tried(after, screen, failing):
    """The failing tests that pass now. All of them are run only when those of the screen do."""
    try:
        load(after)
    except BaseException as error:
        return {"state": "broken", "error": type(error).__name__}
    passed, error = [], ""
    for item, following in zip(screen, screen[1:] + [None]):
        good, call = outcome(item, following)
        if good:
            passed.append(item.nodeid)
        elif call is not None and not error:
            error = type(call.excinfo.value).__name__ + ": " + str(call.excinfo.value)[:200]
    if len(passed) < len(screen):
        return {"passed": passed, "error": error}
    for item in failing:
        if item.nodeid in passed:
            continue
        if not outcome(item)[0]:
            return {"passed": passed, "error": "another test fails"}
        passed.append(item.nodeid)
    return {"passed": passed}


def baseline(session, texts, after, job):
    """Seconds of each test that passes without the repair, as far as the time goes."""
    for path, text in texts.items():
        write(path, text)
    failing = set(job["failing"])
    others = [item for item in session.items if item.nodeid not in failing]
    found = forked(lambda: timed(others, job["suite_seconds"]), job["suite_seconds"] + 10) or {}
    for path, text in after.items():
        write(path, text)
    return found


def timed(items, seconds):
    end, found = time.monotonic() + seconds, {}
    for item, following in zip(items, items[1:] + [None]):
        began = time.monotonic()
        if began > end:
            break
        if outcome(item, following)[0]:
            found[item.nodeid] = time.monotonic() - began
    return found


def regressed(before, after, items, job):
    """The first test that passed before and does not with the repair; empty when there is none."""

    def work():
        load(after)
        for test in before:
            if outcome(items[test])[0] is False:
                return test
        return ""

    found = forked(work, 10 + 3 * sum(before.values()))
    return "too slow" if found is None else found


def load(after):
    for path, text in after.items():
        full = os.path.abspath(path)
        code = compile(text, full, "exec", dont_inherit=True)
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == full:
                renew(module, code)


def renew(module, code):
    """Run the new source in the module and put the old objects, renewed, back where others may hold them."""
    old = dict(module.__dict__)
    exec(code, module.__dict__)
    for name, value in list(module.__dict__.items()):
        was = old.get(name)
        if was is None or was is value or getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(was, type) and isinstance(value, type):
            renew_class(was, value)
            module.__dict__[name] = was
        elif renew_function(was, value):
            module.__dict__[name] = was
        else:
            replace(was, value)


def replace(was, value):
    """Other modules that took the old object by name get the new one."""
    for other in list(sys.modules.values()):
        space = getattr(other, "__dict__", None)
        if isinstance(space, dict):
            for name in [name for name, held in list(space.items()) if held is was]:
                space[name] = value


def renew_class(was, new):
    for name, value in list(vars(new).items()):
        if name in ("__dict__", "__weakref__", "__module__", "__doc__", "__slots__"):
            continue
        held = vars(was).get(name)
        if isinstance(held, type) and isinstance(value, type) and held.__qualname__ == value.__qualname__:
            renew_class(held, value)
            continue
        if not renew_function(held, value):
            own_class(value, was, new)
            set_quietly(was, name, value)
    for name in [name for name in vars(was) if name not in vars(new)]:
        if isinstance(vars(was)[name], (types.FunctionType, classmethod, staticmethod, property)):
            delattr(was, name)


def set_quietly(owner, name, value):
    try:
        setattr(owner, name, value)
    except (AttributeError, TypeError, ValueError):
        pass


def own_class(value, was, new):
    """`super()` in a new method means the class others know."""
    for function in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
        for cell in getattr(function, "__closure__", None) or ():
            try:
                if cell.cell_contents is new:
                    cell.cell_contents = was
            except ValueError:
                continue


def renew_function(was, new):
    """Whether the old function could be given the new one's code."""
    if isinstance(was, (classmethod, staticmethod)) and type(was) is type(new):
        return renew_function(was.__func__, new.__func__)
    if not isinstance(was, types.FunctionType) or not isinstance(new, types.FunctionType):
        return False
    if was.__code__.co_freevars != new.__code__.co_freevars or hasattr(was, "__wrapped__") or extra(was, new):
        return False
    was.__code__, was.__defaults__, was.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    return True


def extra(was, new):
    """A wrapper made by a decorator: its code is the decorator's, what matters is in its closure."""
    cells = [cell for cell in (was.__closure__ or ())]
    return any(name != "__class__" for name in was.__code__.co_freevars) and bool(cells)
