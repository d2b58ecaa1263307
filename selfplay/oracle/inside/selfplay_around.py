"""Helpers around a call of the program: its limits, the time it waits for a processor, running coroutines to their end,
numbers as text, whether random numbers were drawn or the time was asked for."""

ENDLESS = 6
"""Seconds of a core, beyond the limit of a call, after which the process of one ends that never comes back."""
TIMES = ("time", "time_ns", "localtime", "gmtime", "strftime", "ctime", "asctime")
"""Functions of `time` that tell the time of day, some of them unless they are given one, which is not seen here."""
CLOCKED = ("logging/__init__.py", "gzip.py", "zipfile.py", "tarfile.py")
"""Modules that put the time into what they write, whatever they are asked."""


def selfplay_waited():
    """A function that returns the seconds this thread was ready but had no processor, also in a child process; 0 if the
    kernel does not tell."""
    import os

    read, size, begin, own, how = os.pread, 100, os.open, os.getpid, os.O_RDONLY | os.O_CLOEXEC
    try:
        streams = {own(): begin("/proc/self/schedstat", how)}
    except OSError:
        return float

    def waited():
        if own() not in streams:
            streams[own()] = begin("/proc/self/schedstat", how)
        return int(read(streams[own()], size, 0).split()[1]) / 1e9

    return waited


def selfplay_limits(order, waited):
    """Two functions that start and stop the clock of a call, and what it raises.

    A call may take `seconds` of a core, and by the clock three times as long plus the time it `waited` for a processor,
    so that a busy machine does not make a repair fail. One that never comes back to Python ends the process."""
    import resource
    import signal
    import time

    class Slow(BaseException):
        pass

    begin, end, busy, alarm = signal.setitimer, signal.ITIMER_REAL, signal.ITIMER_PROF, signal.SIGALRM
    clock, spent, limits, limit, cores = (
        time.monotonic, time.process_time, resource.getrlimit, resource.setrlimit, resource.RLIMIT_CPU,
    )  # fmt: skip
    least = limits(cores)[0]
    seconds, allowed, user = order["seconds"], [0.0], bool(order["script"])

    def late(number, _):
        left = 3 * seconds + waited() - allowed[0] - clock() if number == alarm else 0
        if left < 0.01:
            raise Slow
        begin(end, left)

    def end_at(soft):
        hard = limits(cores)[1]  # the program may have lowered it
        limit(cores, (soft if hard < 0 or 0 <= soft < hard else hard, hard))

    def start():
        if not user:
            allowed[0] = waited() - clock()
            begin(busy, seconds), begin(end, 3 * seconds), end_at(int(spent() + seconds) + ENDLESS)

    def stop():
        if not user:
            begin(busy, 0), begin(end, 0), end_at(least)

    if not user:
        signal.signal(signal.SIGALRM, late)
        signal.signal(signal.SIGPROF, late)
    return start, stop, Slow


def selfplay_ender(start, stop):
    """A function that runs a coroutine or an asynchronous generator to its end and returns the result; it returns other
    values unchanged. `start`, `stop`: start and stop the clock, which pauses while asyncio is imported."""
    import types

    kinds = types.CoroutineType, types.AsyncGeneratorType

    async def items_of(source):
        items = []
        async for one in source:
            items.append(one)
            if len(items) == RECORD_ITEMS:
                break
        return items

    def ended(value):
        if type(value) not in kinds:
            return value
        if not loaded:
            stop()
            import asyncio

            loaded.append(asyncio.run)
            start()
        return loaded[0](value if type(value) is kinds[0] else items_of(value))

    loaded = []
    return ended


def selfplay_ranges(lines):
    """Numbers as text: `3-5 9` for 3, 4, 5 and 9."""
    found = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return " ".join("%d-%d" % (first, last) if first < last else str(first) for first, last in found)


def selfplay_chance(clock):
    """The function that says where the program's random numbers have come to and, with `clock`, how often it asked for
    the time of day; given such an answer, whether there was any since. What a call answers by chance, or on one day, is
    nothing to compare: it differs from one grading to the next."""
    import sys

    modules, kind, asked = sys.modules, type, [0]

    def look(frame, event, function):
        if event == "c_call" and not frame.f_code.co_filename.endswith(CLOCKED):
            name = function.__name__
            if name in ("now", "today", "utcnow"):
                asked[0] += kind(getattr(function, "__self__", None)) is kind
            elif name in TIMES:
                asked[0] += getattr(function, "__module__", "") == "time"

    if clock:
        sys.setprofile(look)

    def chance(before=None):
        state = getattr(getattr(modules.get("random"), "_inst", None), "getstate", None)
        now = hash(state()) if state else None, asked[0]
        return now if before is None else before[0] not in (None, now[0]) or before[1] != now[1]

    return chance
