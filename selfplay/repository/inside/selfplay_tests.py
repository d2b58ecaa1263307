"""Runs pytest and records one JSON line per test as it ends, so that a crash keeps the earlier records.

A line is begun when a test starts and ended when it ends: an unfinished line is the test that crashed the process. Also
a pytest plugin (PYTEST_PLUGINS=selfplay_tests) for commands that start pytest themselves.
"""

import importlib.util
import json
import os
import random
import signal
import sys
import time

import pytest

FOLDER = os.environ["SELFPLAY_DIR"]
RECORD = os.path.join(FOLDER, "record")
BLOCKED = {
    "pytest_cov": (
        "--cov --cov-report --cov-config --cov-fail-under --cov-context",
        "--cov-append --cov-branch --no-cov --no-cov-on-fail --cov-reset",
    ),
    "xdist": ("-n --numprocesses --dist --maxprocesses --tx --max-worker-restart --maxschedchunk", "-d"),
    "randomly": ("--randomly-seed", "--randomly-dont-reorganize --randomly-dont-reset-seed"),
    "random_order": ("--random-order-bucket --random-order-seed", "--random-order"),
}
MARKS = ("no_cover", "xdist_group(name)", "random_order(disabled)")
OPTIONAL = {
    "pytest_timeout": ("--timeout --timeout-method --session-timeout", ""),
    "pytest_rerunfailures": ("--reruns --reruns-delay", ""),
    "pytest_benchmark": ("--benchmark-group-by --benchmark-columns", "--benchmark-disable --benchmark-skip"),
    "pytest_mypy": ("", "--mypy"),
    "pytest_flake8": ("", "--flake8"),
    "pytest_black": ("", "--black"),
    "pytest_isort": ("", "--isort"),
    "pytest_ruff": ("", "--ruff --ruff-format"),
    "pytest_checkdocs": ("", "--checkdocs"),
    "pytest_enabler": ("", "--enabler"),
}


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as stream:
        return json.load(stream)


def pytest_addoption(parser):
    """Accept and ignore options in `addopts` whose plugins are switched off or absent."""
    absent = {name: words for name, words in OPTIONAL.items() if importlib.util.find_spec(name) is None}
    group = parser.getgroup("ignored")
    for valued, flags in list(BLOCKED.values()) + list(absent.values()):
        for option in valued.split():
            group._addoption(option, action="append", nargs="?", dest="selfplay_ignored")
        for option in flags.split():
            group._addoption(option, action="store_true", dest="selfplay_ignored_flag")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark + ": of a plugin that is switched off")
    if os.environ.get("SELFPLAY_PLUGIN"):
        config.pluginmanager.register(Recorder(read("selection.json")), "selfplay-recorder")


class Recorder:
    """The plugin. `selection`: ids to leave out; ids or files to keep (None: all); the seconds one test may take; and
    the factor for tests that use less processor time than that."""

    def __init__(self, selection, coverage=None):
        self.excluded = set(selection["excluded"])
        self.only = selection["only"] and set(selection["only"])
        self.files = selection["files"] and set(selection["files"])
        self.limit = selection["test_seconds"]
        self.most = self.limit and self.limit * selection["patience"]
        self.max_timeouts = selection["max_timeouts"]
        self.coverage = coverage
        self.tests = []
        self.pid = os.getpid()
        self.began = self.ended = 0.0
        self.outcome = None
        self.timeouts = 0
        self.session = None

    def write(self, text):
        if os.getpid() != self.pid:
            return  # a test forked, and its child returned into pytest
        stream = os.open(RECORD, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(stream, text.encode("ascii"))
        finally:
            os.close(stream)

    def pytest_sessionstart(self, session):
        self.session = session

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        kept = [item for item in items if self.wanted(item.nodeid)]
        if len(kept) != len(items):
            config.hook.pytest_deselected(items=[item for item in items if not self.wanted(item.nodeid)])
            items[:] = kept

    def wanted(self, test):
        if test in self.excluded or (self.only and test not in self.only):
            return False
        return not self.files or test.split("::")[0] in self.files

    def pytest_collection_finish(self, session):
        """With --collect-only: one line per test, with whether it is an example in a docstring or a document."""
        if session.config.option.collectonly:
            for item in session.items:
                kind = "doctest" if type(item).__name__ == "DoctestItem" else "test"
                self.write("SELFPLAY " + json.dumps({"id": item.nodeid, "outcome": "collected", "kind": kind}) + "\n")

    def pytest_collectreport(self, report):
        if report.failed and report.nodeid not in self.excluded:  # also classes that cannot be collected
            self.write("SELFPLAY " + json.dumps({"id": report.nodeid, "outcome": "failed", "phase": "collect"}) + "\n")

    def pytest_runtest_logstart(self, nodeid, location):
        self.began, self.outcome = time.perf_counter(), None
        random.seed(0)  # so that tests that draw without a seed repeat
        self.write("SELFPLAY " + json.dumps({"id": nodeid})[:-1])
        if self.coverage is not None:
            self.coverage.switch_context(str(len(self.tests)))
            self.tests.append(nodeid)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.outcome = "failed"
        elif self.outcome != "failed" and hasattr(report, "wasxfail"):
            self.outcome = "xpassed" if report.passed else "xfailed"
        elif report.skipped and self.outcome != "failed":
            self.outcome = "skipped"
        elif report.when == "call" and self.outcome is None:
            self.outcome = "passed"

    def pytest_runtest_logfinish(self, nodeid, location):
        seconds = round(time.perf_counter() - self.began, 4)
        self.write(', "outcome": %s, "seconds": %s}\n' % (json.dumps(self.outcome or "failed"), seconds))
        if self.timeouts >= self.max_timeouts and self.session is not None:
            self.session.shouldstop = "%d tests exceeded %s s" % (self.timeouts, self.limit)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Fail a test that exceeds its seconds, and again each second, in case the test catches the failure."""
        if self.limit and hasattr(signal, "setitimer"):
            self.fired = False
            self.used = time.process_time()
            before = signal.signal(signal.SIGALRM, self.expire)
            signal.setitimer(signal.ITIMER_REAL, self.limit, 1.0)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
        else:
            yield

    def expire(self, *_):
        idle = time.process_time() - self.used < 0.9 * self.limit
        if os.getpid() == self.pid and not (idle and time.perf_counter() - self.began < self.most):
            self.timeouts += not self.fired
            self.fired = True
            pytest.fail("the test exceeded %s s" % self.limit, pytrace=False)


def fixed():
    """Arguments that make runs repeatable: no plugins that shuffle or split, and a fixed seed for hypothesis."""
    seed = ["--hypothesis-seed=0"] if importlib.util.find_spec("_hypothesis_pytestplugin") else []
    return [word for name in BLOCKED for word in ("-p", "no:" + name)] + seed


def start_coverage():
    """Start a tracer from the tools folder; its data stays in memory."""
    os.environ["COVERAGE_CORE"] = "ctrace"  # can tell tests apart on every version
    sys.path.append(os.environ["SELFPLAY_COVERAGE"])
    import coverage

    tracer = coverage.Coverage(data_file=None, source=[os.getcwd()], config_file=False, messages=False)
    tracer.start()
    return tracer


def save_coverage(recorder, path):
    """{"tests": [id], "sets": [[test index]], "files": {path: {line: set index}}}: equal sets are stored once."""
    recorder.coverage.stop()
    data = recorder.coverage.get_data()
    sets: dict = {}
    files: dict = {}
    for name in data.measured_files():
        lines = {}
        for line, contexts in data.contexts_by_lineno(name).items():
            tests = tuple(sorted(int(context) for context in contexts if context))
            if tests:
                lines[line] = sets.setdefault(tests, len(sets))
        if lines:
            files[os.path.relpath(name).replace(os.sep, "/")] = lines
    with open(path, "w", encoding="ascii") as stream:
        json.dump({"tests": recorder.tests, "sets": list(sets), "files": files}, stream, separators=(",", ":"))


def main(arguments):
    sys.path[0] = os.getcwd()  # as `python -m pytest` does
    sys.argv = ["pytest"] + arguments
    output = os.environ.get("SELFPLAY_COVERAGE_OUT")
    recorder = Recorder(read("selection.json"), start_coverage() if output else None)
    status = pytest.main(fixed() + arguments, plugins=[recorder, sys.modules["__main__"]])
    if output:
        save_coverage(recorder, output)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
