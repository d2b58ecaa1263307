"""What surrounds a call of the program: how long it waited for a processor, its end where it is asynchronous, and the
lines that ran."""


def selfplay_waited():
    """What tells for how many seconds this thread was ready and got no processor: 0 where the kernel does not."""
    import os

    try:
        stream, read, size = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC), os.pread, 100
    except OSError:
        return float
    return lambda: int(read(stream, size, 0).split()[1]) / 1e9


def selfplay_ender(start, stop):
    """What brings a coroutine, or an asynchronous generator, to its end, and gives its result; anything else as it
    is. `start`, `stop`: of the clock, which does not run while asyncio is loaded."""
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


def selfplay_tracer(lines, traced):
    """What gathers the lines that run of what the bug changes; nothing when nothing is asked. `traced`: file -> the
    first lines of its functions, all of them where none is named."""
    if not traced:
        return None

    def inner(frame, event, value):
        if event == "line":
            lines.add(frame.f_lineno)
        return inner

    def outer(frame, event, value):
        code = frame.f_code
        firsts = traced.get(code.co_filename)
        return inner if firsts is not None and (not firsts or code.co_firstlineno in firsts) else None

    return outer
