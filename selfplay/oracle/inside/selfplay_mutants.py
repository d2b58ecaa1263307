"""Makes calls of a program's mutants, each in a process of its own that begins where the calls begin; part of the
caller. `schema`, of an order: the names of the built-ins that mutants ask for."""

ALL_MUTANTS_SECONDS, MUTANT_SECONDS, LOOPED, SHOWN_BY, OF_LIMIT = 60, 10, 8, 3, 8
"""Seconds for all mutants together, after which the rest is not tried, and for one; the items of a loop that is cut
short; how many of the calls that show a mutant are looked for; the part of a call's limit that a quick one takes."""


class SelfplayLoading:
    """The number of the mutant while the program is loaded: none; notes the places that ask for it."""

    def __init__(self):
        self.asked = set()

    def __eq__(self, number):
        self.asked.add(number)
        return False


def selfplay_unmutated(schema):
    """Choose no mutant: the program may run code with mutants while it is loaded. Returns the numbers of those."""
    import builtins
    import itertools

    chosen, first = schema[:2]
    loading = SelfplayLoading()
    setattr(builtins, chosen, loading)
    setattr(builtins, first, lambda items: itertools.islice(items, LOOPED))
    return loading.asked


def selfplay_mutants(order, outcomes, space, say, asked):
    """Say for each of these mutants by which calls it shows, [] if by none; not at all if it was not tried.

    Twice no mutant is chosen first: calls that differ then do not count. `otherwise` shows a mutant that ends or holds
    up its process, or, where `loading` counts, that no call shows and that was `asked` for while the program was
    loaded."""
    import builtins
    import time

    chosen, unusual, until = order["schema"][0], frozenset(order["unusual"]), time.monotonic() + ALL_MUTANTS_SECONDS
    calls = [(name, compile(source, "<stdin>", "eval")) for name, source in order["calls"]]

    late = asked if order["loading"] else ()

    def every():
        setattr(builtins, chosen, 0)
        return [told(name, code) for name, code in calls]

    def told(name, code):
        """Nothing of a call that takes long: on a busy machine it may be stopped in any program."""
        began = time.process_time()
        texts = outcomes(code, space)
        long = time.process_time() - began > order["seconds"] / OF_LIMIT
        refused = not order["refusing"] and name in unusual and selfplay_refuses(texts)
        return "" if long or refused or texts[0] == "selfplay: slow" else selfplay_digest(texts)

    def shown_by(number, known):
        setattr(builtins, chosen, number)
        found = []
        for (name, code), right in zip(calls, known):
            texts = outcomes(code, space)
            if right and selfplay_digest(texts) != right and not (name in unusual and selfplay_refuses(texts)):
                found.append(name)
                if len(found) == SHOWN_BY:
                    break
        return found

    once, again = selfplay_apart(every, until), selfplay_apart(every, until)
    if once is None or again is None:
        return
    known = [one if one == other else "" for one, other in zip(once, again)]
    for number in order["mutants"]:
        latest = min(until, time.monotonic() + MUTANT_SECONDS)
        if time.monotonic() < until:
            found = selfplay_apart(lambda number=number: shown_by(number, known), latest)
            say("mutant/%d" % number, ["otherwise"] if found is None or (not found and number in late) else found)


def selfplay_digest(texts):
    import hashlib
    import json

    return hashlib.sha256(json.dumps(texts).encode("utf-8", "replace")).hexdigest()


def selfplay_refuses(texts):
    """Whether a call refused its input. One that ran out of something did not: it tried."""
    first = texts[0]
    return type(first) is list and first[:1] == ["raised"] and first[1:2] not in (["RecursionError"], ["MemoryError"])


def selfplay_apart(work, until):
    """What `work` returns in a process of its own, which ends with all that it started; None if it returns nothing
    until then."""
    import json
    import os
    import select
    import signal
    import time

    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        own = os.getpid()
        try:
            os.setsid()
            said = json.dumps(work()).encode() + b"\n"
            while said and os.getpid() == own:  # the program may have forked
                said = said[os.write(theirs, said) :]
        finally:
            os._exit(0)
    os.close(theirs)
    said, block = b"", b"-"
    while block and not said.endswith(b"\n") and select.select([ours], [], [], max(0, until - time.monotonic()))[0]:
        block = os.read(ours, 65536)
        said += block
    os.close(ours)
    for end in (lambda: os.killpg(child, signal.SIGKILL), lambda: os.kill(child, signal.SIGKILL),
                lambda: os.waitpid(child, 0)):  # fmt: skip
        try:
            end()
        except OSError:  # it has ended, or nobody waits for children here
            continue
    return json.loads(said.decode()) if said.endswith(b"\n") else None
