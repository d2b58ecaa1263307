"""The first look: which tests fail and how, and which lines failing and passing tests run.

The spectrum is counted by `sys.settrace`, which every Python has: the failing tests first, then as many passing ones as
the time allows.
"""

import inspect
import os
import sys
import time

from selfplay_job import SEEN, Allowance, forked, literal, outcome, used

ROOT = os.getcwd() + os.sep
MOST_CALLS = 400
WARM = 3


def run(session, job):
    """`job`: `seconds` for the plain run and `trace_seconds` for each of the traced ones, `most` failing tests."""
    items = session.items
    tests = forked(lambda: plain_run(items, job["seconds"]), job["seconds"] + 20) or []
    failing = [test["id"] for test in tests if test["passed"] is False]
    wanted = set(spread(failing, job["most"]))
    first = [item for item in items if item.nodeid in wanted]
    rest = [test["id"] for test in tests if test["passed"]]
    passing = near(items, set(rest), {name.split("::")[0] for name in failing})
    warm(passing)
    traced = forked(lambda: traced_run(first, job["trace_seconds"], True), job["trace_seconds"] + 20)
    others = forked(lambda: traced_run(passing, job["trace_seconds"], False), job["trace_seconds"] + 20)
    return {"tests": tests, "failing": traced or empty(), "passing": others or empty()}


def warm(items):
    """Run a few passing tests for real, so that one-time work of the process is neither traced nor repeated in every
    child."""
    for item in items[:WARM]:
        outcome(item)


def empty():
    return {"ran": 0, "lines": {}, "calls": [], "operands": []}


def spread(ids, most):
    """At most `most` of the ids, from as many test functions as possible."""
    by_function = {}
    for test in ids:
        by_function.setdefault(test.split("[")[0], []).append(test)
    chosen = []
    while len(chosen) < most and by_function:
        for function in list(by_function):
            chosen.append(by_function[function].pop(0))
            if not by_function[function]:
                del by_function[function]
    return chosen[:most]


def near(items, ids, files):
    """The passing tests, those of files with failing ones first, each other one taken early."""
    chosen = [item for item in items if item.nodeid in ids]
    chosen = chosen[::3] + chosen[1::3] + chosen[2::3]
    return sorted(chosen, key=lambda item: item.nodeid.split("::")[0] not in files)


def plain_run(items, seconds):
    allowance, found = Allowance(seconds), []
    for item, following in zip(items, items[1:] + [None], strict=False):
        if allowance.over():
            break
        began, work = time.monotonic(), used()
        SEEN["operands"].clear()
        passed, call = outcome(item, following)
        test = {"id": item.nodeid, "passed": passed, "seconds": time.monotonic() - began, "work": used() - work}
        if call is not None:
            test.update(described(call))
        found.append(test)
    return found


def described(call):
    """Where and how a test failed: frames of the repository, outermost first."""
    frames, step = [], call.excinfo._excinfo[2]
    while step is not None:
        path = relative(step.tb_frame.f_code.co_filename)
        if path:
            frames.append([path, step.tb_lineno, step.tb_frame.f_code.co_name])
        step = step.tb_next
    return {"message": str(call.excinfo.value)[:2000], "frames": frames[-40:]}


def relative(path):
    path = os.path.abspath(path) if not path.startswith("<") else path
    return path[len(ROOT) :] if path.startswith(ROOT) and path.endswith(".py") else ""


def traced_run(items, seconds, values):
    """Lines run, as {path: {line: tests}}; with `values` the calls out of the tests and the operands too."""
    allowance, lines, calls, ran = Allowance(seconds), {}, [], 0
    SEEN["operands"].clear()
    for item in items:
        if allowance.over():
            break
        tracer = Tracer(calls if values else None, str(getattr(item, "fspath", "")))
        sys.settrace(tracer.begin)
        try:
            outcome(item)
        finally:
            sys.settrace(None)
        ran += 1
        for code, numbers in tracer.seen.items():
            counts = lines.setdefault(tracer.paths[code.co_filename], {})
            for number in numbers:
                counts[number] = counts.get(number, 0) + 1
    return {"ran": ran, "lines": lines, "calls": calls, "operands": SEEN["operands"][:]}


class Tracer:
    """One test's lines. `calls`: where to note plain calls from the test's own file into the repository."""

    def __init__(self, calls, test_file):
        self.calls, self.test_file = calls, test_file
        self.seen, self.paths = {}, {}

    def begin(self, frame, event, argument):
        code = frame.f_code
        path = self.paths.get(code.co_filename)
        if path is None:
            path = self.paths[code.co_filename] = relative(code.co_filename)
        if not path or code.co_filename == self.test_file:
            return None
        numbers = self.seen.setdefault(code, set())
        numbers.add(frame.f_lineno)
        arguments = self.arguments(frame) if self.calls is not None else None

        def inside(frame, event, argument):
            if event == "line":
                numbers.add(frame.f_lineno)
            elif event == "return" and arguments is not None:
                self.returned(code, path, arguments, argument)
            return inside

        return inside

    def arguments(self, frame):
        """The plain arguments of a call out of the test file; None for any other."""
        caller = frame.f_back
        if caller is None or caller.f_code.co_filename != self.test_file or len(self.calls) > MOST_CALLS:
            return None
        info = inspect.getargvalues(frame)
        names = list(info.args) + [name for name in (info.varargs, info.keywords) if name]
        found = {name: literal(info.locals.get(name)) for name in names if isinstance(name, str)}
        receiver = names[:1] in (["self"], ["cls"])
        return found if all(found[name] is not None for name in names[receiver:]) else None

    def returned(self, code, path, arguments, value):
        call = {"path": path, "line": code.co_firstlineno, "arguments": arguments, "value": literal(value)}
        self.calls.append(call)
