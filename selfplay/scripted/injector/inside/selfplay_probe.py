"""A pytest plugin for the injector's own looks at the tests. Runs inside the sandbox, on any Python from 3.7.

PROBE_OUT: where the report goes, JSON lines: the failing tests with the line of their definition, the line in it
that failed and, for each parameter, the number of its value, and last the number of tests that passed.
"""

import json
import os

import pytest

failures = {}
passed = set()
broken = []
"""Files that cannot be collected: what their tests would have said is not known, and nothing is reported."""


def pytest_collectreport(report):
    if report.failed:
        broken.append(report.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        passed.discard(item.nodeid)
        failures.setdefault(item.nodeid, describe(item, call))
    elif report.when == "call" and report.passed and item.nodeid not in failures:
        passed.add(item.nodeid)


def describe(item, call):
    path, line, _ = item.location
    callspec = getattr(item, "callspec", None)
    indices = dict(getattr(callspec, "indices", {})) if callspec else {}
    name = getattr(item, "originalname", None) or item.name.split("[")[0]
    crash = crashed(call.excinfo.traceback, path, name) if call.excinfo else None
    late = bool(call.excinfo) and "the test exceeded" in str(call.excinfo.value)
    if late:  # a hanging bug is refused anyway: skip the rest
        item.session.shouldstop = "a test hangs"
    return {"late": late, "path": path, "line": (line or 0) + 1, "name": name, "crash": crash, "indices": indices}


def crashed(traceback, path, name):
    """The line of the test function that failed or called the failing code; else the last one of its file."""
    here = [entry for entry in traceback if os.path.basename(str(entry.path)) == os.path.basename(path)]
    own = [entry for entry in here if entry.frame.code.raw.co_name == name]
    return (own or here)[-1].lineno + 1 if here else None


def pytest_sessionfinish(session):
    if broken:
        return
    with open(os.environ["PROBE_OUT"], "w", encoding="utf-8") as stream:
        for nodeid, found in failures.items():
            stream.write(json.dumps(dict(found, id=nodeid)) + "\n")
        stream.write(json.dumps({"passed": len(passed)}) + "\n")
