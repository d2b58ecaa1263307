"""Appended to test files in runs of the original only: records how tests enter the program.

`calls`: the tests' calls that reach the changed functions, as source that repeats the call; an argument is a literal,
an object whose creation was seen, or a name of a module. Other calls are left out. `beside`: the same for calls that
reach only other functions of the changed files, which the bug does not change. `reached`: test -> digests of the
arguments that reach the changed functions; a probe is not new if all its digests occur in tests.

A test is watched until it has made `EVENTS_MOST` calls and returns, of C functions too: one that counts all partitions
of a set makes millions, and the suite would not end in its time. It is ended (`stopped`) after `TEST_SECONDS`, and
after `LEAST_SECONDS` in a run that took `RUN_SECONDS`: with larger numbers in its loops a probe may take hours, and the
report of its sub-tests too, which are not reported here.
"""

import atexit
import json
import os
import signal
import sys
import time
import unittest
from contextlib import suppress
from hashlib import sha256

ENTERED_FILE = "/tmp/selfplay-entered"
CALLS_MOST, SOURCE_MOST, DIGESTS_MOST = 3000, 6000, 400
SAME_CALLS = 500
BESIDE_MOST, SAME_BESIDE = 600, 40
EVENTS_MOST = 300000
TEST_SECONDS, RUN_SECONDS, LEAST_SECONDS = 3.0, 30.0, 0.1


class SelfplayStopped(KeyboardInterrupt):
    """Ends a test. Any other exception would be the failure of one sub-test, and its loop would go on."""


class SelfplayEntered(SelfplayCalls, SelfplayInputs):
    """The record. `outer`: the frame through which a test entered the program; `source`: that call as source."""

    def __init__(self, order):
        self.root, self.tests, self.changed = order["root"].rstrip("/") + "/", set(order["tests"]), order["changed"]
        SelfplayCalls.__init__(self)
        SelfplayInputs.__init__(self)
        self.calls, self.beside, self.counts = {}, {}, {}
        self.reached, self.kinds, self.begun = {}, {}, {}
        self.test, self.outer, self.source, self.touched, self.near, self.given = "", None, None, False, False, ""
        self.ended_by = SelfplayStopped
        self.left, self.stopped, self.before, self.started = [0], [], None, time.monotonic()
        self.watcher = self.watching()
        self.own = {one.__code__ for one in (self.watcher, SelfplayEntered.end, SelfplayEntered.disarm)}
        unittest.TestCase.subTest = lambda test, *message, **values: suppress(Exception)

    def kind(self, code):
        """0: not in the program; 1: in the program; 2: a changed function; 3: in a test file; 4: another function of a
        changed file."""
        found = self.kinds.get(code)
        if found is None:
            name = code.co_filename
            path = name[len(self.root) :] if name.startswith(self.root) else ""
            lines = self.changed.get(path)
            changed = lines is not None and (not lines or code.co_firstlineno in lines)
            found = self.kinds[code] = (
                0 if not path else 3 if path in self.tests else 2 if changed else 1 if lines is None else 4
            )
        return found

    def stop(self, number, frame):
        """Answers the alarm: ends the test, but not while our own code runs."""
        if self.before is None:
            return
        if frame is not None and frame.f_code in self.own:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        self.stopped.append(self.test)
        raise self.ended_by

    def arm(self, seconds):
        """Set the alarm, unless another one comes first or this is not the main thread. Another one, as of a runner
        that limits tests, is put off until this one is over."""
        try:
            handler = signal.signal(signal.SIGALRM, self.stop)
        except ValueError:  # not in the main thread
            return
        left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
        self.before = handler, left, every, time.monotonic()
        if 0 < left < seconds:
            self.disarm()

    def disarm(self):
        """Give the alarm back as it was; what was left of it is less by now."""
        if self.before is not None:
            (handler, left, every, since), self.before = self.before, None
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
            if left:
                signal.setitimer(signal.ITIMER_REAL, max(0.001, left + since - time.monotonic()), every)

    def begin(self, test, bounded=False):
        """Called first by each test. `bounded`: it catches `SelfplayStopped`."""
        self.test, self.outer, self.left[0] = test, None, EVENTS_MOST
        self.past.clear()
        if bounded and self.before is None:
            left = self.started + RUN_SECONDS - time.monotonic()
            self.arm(min(TEST_SECONDS, max(LEAST_SECONDS, left)))
        sys.setprofile(self.watcher)

    def end(self):
        """Called last by each test, so that the runner's own work is not watched."""
        sys.setprofile(None)
        self.disarm()

    def watching(self):
        """The profile function, called for each call and return; cheap for code outside of the program."""
        kinds, left = self.kinds, self.left

        def guarded(look, *given):
            try:  # an error here would end the watch, for example when recursion leaves no room
                look(*given)
            except Exception:
                self.outer = None

        def watcher(frame, event, value):
            left[0] -= 1
            if left[0] < 0:
                sys.setprofile(None)
            elif event == "call":
                kind = kinds.get(frame.f_code)
                if kind is None:
                    kind = self.kind(frame.f_code)
                if kind == 2 or (kind == 1 and self.outer is None) or (kind == 4 and not (self.outer and self.near)):
                    guarded(self.look, frame, kind)
            elif event == "return" and frame is self.outer:
                guarded(self.leave, frame, value)

        return watcher

    def look(self, frame, kind):
        if self.outer is None:
            self.enter(frame)
        if kind == 2:
            self.touch(frame)
        elif kind == 4:
            self.near = True

    def enter(self, frame):
        self.outer, self.touched, self.near, self.given = frame, False, False, None
        self.remember(frame)
        if frame in self.begun:  # a generator that resumes
            self.source = self.begun[frame]
            return
        try:
            self.source = self.call(frame)
        except Exception:
            self.source = None
        if frame.f_code.co_flags & 0x2A0 and len(self.begun) < KEPT_MOST:
            self.begun[frame] = self.source

    def touch(self, frame):
        """A changed function is entered."""
        self.touched = True
        if self.source is None and frame is not self.outer:
            self.inner(frame)
        found = self.reached.setdefault(self.test, set())
        if len(found) < DIGESTS_MOST:
            if self.given is None:
                self.given = self.arguments(self.outer) + self.made_of() + self.told
            text = self.given + self.arguments(frame)
            found.add(sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16])

    def inner(self, frame):
        """Where the call by which a test entered cannot be written, that of the changed function can stand for it, if
        it is no helper: a repair may give those other parameters."""
        if frame.f_code.co_name.startswith("_"):
            return
        try:
            source = self.call(frame)
        except Exception:
            return
        if source is not None and len(source) <= SOURCE_MOST:
            self.note(self.calls, source, SAME_CALLS, CALLS_MOST)

    def leave(self, frame, value):
        source, self.outer = self.source, None
        if source is None or len(source) > SOURCE_MOST:
            return
        if self.touched:
            self.note(self.calls, source, SAME_CALLS, CALLS_MOST)
        elif self.near:
            self.note(self.beside, source, SAME_BESIDE, BESIDE_MOST)
        if frame.f_code.co_name != "__init__":
            self.keep(value, source)
            if type(value) in (list, tuple):
                for at, one in enumerate(value[:5]):
                    self.keep(one, "%s[%d]" % (source, at))

    def note(self, found, source, same, most):
        target = id(found), source.partition("(")[0]
        if source not in found and self.counts.get(target, 0) < same and len(found) < most:
            self.counts[target] = self.counts.get(target, 0) + 1
            found[source] = self.test

    def write(self):
        sys.setprofile(None)
        paths = [path for path in sys.path if (path + "/").startswith(self.root)] or [os.getcwd()]
        said = {
            "python": sys.executable, "paths": paths, "modules": self.modules, "calls": list(self.calls.items()),
            "beside": list(self.beside), "helpers": self.helpers,
            "stopped": self.stopped, "reached": {test: sorted(found) for test, found in self.reached.items()},
        }  # fmt: skip
        with open(ENTERED_FILE, "w") as stream:
            stream.write(json.dumps(said))


if not hasattr(sys, "selfplay_entered"):
    sys.selfplay_entered = SelfplayEntered(json.loads(SELFPLAY_ORDER))
    atexit.register(sys.selfplay_entered.write)
SelfplayStopped = sys.selfplay_entered.ended_by  # noqa: F811, as of the test file that was loaded first
selfplay_enter = sys.selfplay_entered.begin
selfplay_leave = sys.selfplay_entered.end
