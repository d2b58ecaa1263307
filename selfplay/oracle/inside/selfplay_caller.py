"""Makes calls of a program in a separate process, and records the plain value of each outcome in one signed line.

Key and calls come by standard input before any code of the repository is loaded. Everything used while that code runs
is looked up before: the functions have their own built-ins, which the program cannot replace. A record that the program
writes has no signature; dropped or moved lines break the chain. Nothing is judged here.
"""

REPEATED, QUICK = 2000, 0.02
"""Repeating the quick calls: the most repetitions, and the seconds below which a call counts as quick: by the clock,
since a call may wait, without the time it waited for a processor."""


def selfplay_caller():
    """Read key and calls from standard input, make the calls, and exit."""
    import hashlib
    import json
    import os
    import sys

    data = b""
    while True:
        block = os.read(0, 65536)
        if not block:
            break
        data += block
    key, order = data[:64], json.loads(data[64:].decode("utf-8"))
    if not order["terminal"] or not selfplay_terminal():
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    selfplay_script(order["argv"][0], order["script"])
    os.environ.pop("PYTHONHASHSEED", None)
    stream = os.open(order["record"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | os.O_CLOEXEC, 0o600)
    say, leave = selfplay_signer(key, stream, hashlib.sha256, os.write, os.getpid), os._exit
    del data, key, block
    seen = []
    waited = selfplay_waited()
    chance = selfplay_chance(order["clock"])  # before events are told
    call, repeat, outcomes = selfplay_call(order, say, selfplay_events(order, stream), seen, waited, chance)
    sys.path[:] = order["paths"] + [path for path in sys.path if path]
    sys.argv[:] = order["argv"]
    if order["recursion"]:
        sys.setrecursionlimit(order["recursion"])
    asked = selfplay_unmutated(order["schema"]) if order["mutants"] else None
    space = selfplay_space(order, seen)
    if order["mutants"]:
        selfplay_mutants(order, outcomes, space, say, asked)
    else:
        first = len(order["calls"]) - order["late"]
        for name, source in order["calls"][:first]:
            call(name, source, space)
        repeat(order["again"], space)
        for name, source in order["calls"][first:]:
            call(name, source, space)
    say("end", None)
    leave(0)


def selfplay_space(order, seen):
    """The names that calls use: modules of the program, and helpers; without those that cannot be loaded."""
    import sys

    space, load, modules, module_of = {}, __import__, sys.modules, type(sys)
    given = selfplay_given(order["given"], seen)
    for module, name in order["modules"].items():
        try:
            load(module)
            space[name] = modules[module]
        except Exception:
            continue
    for name, source in order["helpers"].items():
        space[name] = module_of("__main__")
        vars(space[name]).update(given)
        try:
            exec(compile(source, order["argv"][0] or "<stdin>", "exec"), vars(space[name]))
        except Exception:
            continue
    return space


def selfplay_events(order, stream):
    """Set the hook; events are collected here, in order, until they are written."""
    import sys

    seen = []

    def speak(word, place, detail):
        kind, _, file = place.partition("\n")
        seen.append([kind, file[:200], detail[:100]])

    if hasattr(sys, "addaudithook"):
        watch(order, ("_pytest", "pytest", "pluggy", "unittest"), speak, stream)
    return seen


def selfplay_given(names, seen):
    """The functions that scenarios call, under these names: each shown value and each exception is added to `seen`."""
    plain, kind_of, most, size = selfplay_plain, type, RECORD_ITEMS, len

    def put(value):
        if size(seen) < most:
            seen.append(value)

    def saw(value):
        put(plain(value, 5))
        return value

    def raised(error):
        put(["raised", kind_of(error).__name__])

    class Caught:
        def __init__(self, error):
            self.value = self.exception = error
            self.type = kind_of(error)

        def match(self, pattern):
            saw(str(self.value))
            return True

    made = {"selfplay_begin": str, "selfplay_saw": saw, "selfplay_raised": raised, "SelfplayCaught": Caught}
    return {new: made[old] for old, new in names.items()}


def selfplay_call(order, say, events, seen, waited, chance):
    """Three functions: one makes a call and records its value or exception type, its output, and what a scenario has
    `seen`; one repeats the quick calls many times; one only returns the outcomes of a call. A user's process has no
    clock of ours."""
    import time

    lines, said, stopped, spent, quick, clock = set(), [0], [0], [0.0], [], time.monotonic
    ranges, marked = selfplay_ranges, order["marked"]
    outcomes = selfplay_outcomes(order, seen, lines, selfplay_limits(order, waited), chance)
    place = order["argv"][0] or "<stdin>"

    def now():
        return clock() - waited()

    def call(name, source, space):
        if stopped[0] >= order["slow"] or spent[0] >= order["enough"]:
            return say("%s/0" % name, "selfplay: not made")
        code, begun = compile(source, place, "eval"), now()
        texts = outcomes(code, space)
        took, late = now() - begun, texts[0] == "selfplay: slow"
        stopped[0] += late
        spent[0] += 0 if late else took
        if took < QUICK:
            quick.append((name, code, texts))
        if marked:
            say("%s/lines" % name, ranges(lines))
        tell_all(name, texts)

    def repeat(most, space):
        """Repeat the quick calls; the first outcome that differs is recorded."""
        done, until = 0, now() + most
        while quick and done < REPEATED and now() < until:
            done += 1
            name, code, first = quick.pop(0)
            texts = outcomes(code, space)
            if texts == first:
                quick.append((name, code, first))
            else:
                tell_all(name + " again", texts)

    def tell_all(name, texts):
        for at, text in enumerate(texts):
            say("%s/%d" % (name, at), text)
        while events:
            said[0] += 1
            say("event/%d" % said[0], events.pop(0))

    return call, repeat, outcomes


def selfplay_outcomes(order, seen, lines, limits, chance):
    """The function that evaluates a call: its plain value or exception type, what a scenario has `seen`, what it wrote.
    It empties `lines` first, in which marked files collect what runs."""
    import builtins
    import io

    if order["marked"]:
        builtins.selfplay_line = lines.add  # what marks call
    start, stop, slow = limits
    files, made, printed, plain = [], io.StringIO, [""], selfplay_plain
    place = order["argv"][0] or "<stdin>"
    printing, read = selfplay_printed(bool(order["script"]) and place.rpartition(".")[0] + ".log")
    ended = selfplay_ender(start, stop)

    def file(text=""):
        files.append(made(text))
        return files[-1]

    def value_of(code, space):
        printing(), start()
        try:
            return plain(ended(eval(code, dict(space, selfplay_file=file))), 5)
        finally:
            stop()
            printed[:] = [read()]

    def outcomes(code, space):
        del files[:], seen[:]
        lines.clear()
        drawn = chance()
        try:
            texts = [value_of(code, space)]
        except slow:
            texts = ["selfplay: slow"]
        except BaseException as error:
            near = error.__traceback__.tb_next.tb_next  # of the call itself
            gone = (near is None or near.tb_next is None) and type(error) in (AttributeError, NameError)
            texts = ["selfplay: gone"] if gone else [["raised", type(error).__name__]]
        if chance(drawn):
            return ["selfplay: chance"]
        texts += seen
        return texts + [one for one in printed + [one.getvalue() for one in files if not one.closed] if one]

    return outcomes
