"""A pytest plugin that runs collected tests again and again in forked children. On any Python from 3.7.

SOLVER_FOLDER holds `job.json` (what to do) and gets `report.json` (what was seen). pytest collects once; every look at
the tests happens in a child, so the parent stays as it was after collection, and a look costs a fork.

Time limits count core seconds, so that a busy machine does not change the result. The clock ends only waiting work,
after `WAITS` times as long, and the whole job.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback

FOLDER = os.environ["SOLVER_FOLDER"]
sys.path.insert(0, FOLDER)
SEEN = {"operands": []}
REPORTS, CALLS = [], []
WAITS = 4.0
END = {"at": float("inf")}
"""When the job must be over, by the clock."""


def pytest_collection_finish(session):
    """The job's own module, imported late: a repository's imports must not find it half made."""
    with open(os.path.join(FOLDER, "job.json"), encoding="utf-8") as stream:
        session.solver_job = json.load(stream)


def pytest_runtestloop(session):
    """Replaces pytest's own loop."""
    job = session.solver_job
    END["at"] = time.monotonic() + job["within"]
    sys.dont_write_bytecode = True
    for item in session.items:
        quiet(item)
    from selfplay_renew import live_functions

    live_functions()  # what is frozen can no longer be listed
    gc.collect()
    gc.freeze()  # forks share what is not touched
    doer = importlib.import_module("selfplay_" + job["do"])
    report = doer.run(session, job)
    with open(os.path.join(FOLDER, "report.json"), "w", encoding="utf-8") as stream:
        json.dump(report, stream)
    return True


def quiet(item):
    """Reporting a failure takes ten times as long as failing, and the reports are not used."""
    item.repr_failure = item._repr_failure_py = lambda *args, **kwargs: "failed"


def pytest_assertrepr_compare(config, op, left, right):
    """The operands of a failing comparison, where they are plain values."""
    if len(SEEN["operands"]) < 50:
        SEEN["operands"].append([op, literal(left), literal(right)])
    return None


def literal(value, most=4000):
    """The source of a plain value; None for anything else. A custom `repr` is not believed."""
    try:
        if not plain(value, 4):
            return None
        text = repr(value)
        return text if len(text) <= most else None
    except Exception:
        return None


def plain(value, depth):
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return value == value and value not in (float("inf"), float("-inf"))
    if depth == 0:
        return False
    if kind in (list, tuple, set):
        return len(value) < 200 and (kind is not set or bool(value)) and all(plain(part, depth - 1) for part in value)
    if kind is dict:
        return len(value) < 200 and all(plain(k, depth - 1) and plain(v, depth - 1) for k, v in value.items())
    return False


def used():
    """The core seconds of this process and of its children that ended."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


class Allowance:
    """An allowance of seconds of work from now on."""

    def __init__(self, seconds):
        self.work, self.clock = used() + seconds, latest(WAITS * seconds)

    def left(self):
        return self.work - used()

    def over(self):
        return self.left() <= 0 or time.monotonic() > self.clock


def latest(seconds):
    """That many seconds from now by the clock, but no later than the end of the job."""
    return min(time.monotonic() + seconds, END["at"])


def forked(work, seconds, waits=None):
    """What `work()` returns in a child of this process; None when it takes too long or dies: more than `seconds` of a
    core, or `waits` by the clock. After a kill a second child is tried: the first may not be to blame."""
    waits = WAITS * seconds if waits is None else waits
    found, killed = forked_once(work, seconds, waits)
    return forked_once(work, seconds, waits)[0] if killed else found


def forked_once(work, seconds, waits):
    """(what `work()` returns, whether the child was killed before it said anything)."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            os.setsid()
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # ends it after so many seconds of a core
            data = json.dumps(work()).encode()
            while data:
                data = data[os.write(into, data) :]
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(into)
    end, found = latest(waits), None
    try:
        found = json.loads(drained(out, end).decode() or "null")
    except ValueError:
        pass
    finally:
        os.close(out)
        killed = found is None and time.monotonic() < end and by_kill(child)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found, killed


def by_kill(child):
    """Whether a SIGKILL ended the child, whose pipe is closed; it is not reaped yet."""
    for _ in range(50):
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            # 2: CLD_KILLED, which Python names from 3.9 on
            return ended.si_code == 2 and ended.si_status == signal.SIGKILL
        time.sleep(0.01)
    return False


def drained(stream, end):
    """All of a pipe, or nothing when the time is over before its end."""
    parts = []
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            return b""
        part = os.read(stream, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def outcome(item, following=None):
    """(passed, the failing call) of one test with its fixtures; `passed` is None for a skipped one."""
    REPORTS.clear()
    CALLS.clear()
    item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    if any(report.failed for report in REPORTS):
        return False, (CALLS[0] if CALLS else None)
    return (None if any(report.skipped for report in REPORTS) else True), None


def pytest_runtest_logreport(report):
    REPORTS.append(report)


def pytest_runtest_makereport(item, call):
    if call.excinfo is not None:
        CALLS.append(call)
