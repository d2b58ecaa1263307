"""Makes calls of the original's mutants, each in a process of its own that begins where the calls begin; part of the
caller. Only the original runs here."""

MUTANT_SECONDS, LOOPED, SHOWN_BY = 40, 8, 3
"""Seconds after which no further mutant is tried; the items of a loop that is cut short; how many of the calls that
show a mutant are looked for."""


def selfplay_unmutated():
    """Choose no mutant yet: the program may run code with mutants while it is loaded."""
    import builtins
    import itertools

    builtins.selfplay_mutant = 0
    builtins.selfplay_first = lambda items: itertools.islice(items, LOOPED)


def selfplay_mutants(order, outcomes, space, say):
    """Say for each of these mutants by which calls it shows, [] if by none; not at all if it was not tried.

    Twice no mutant is chosen first: calls that differ then do not count. A mutant that ends its process shows."""
    import builtins
    import hashlib
    import json
    import time

    unusual, until = frozenset(order["unusual"]), time.monotonic() + MUTANT_SECONDS
    calls = [(name, compile(source, "<stdin>", "eval")) for name, source in order["calls"]]

    def digest(texts):
        return hashlib.sha256(json.dumps(texts).encode("utf-8", "replace")).hexdigest()

    def refuses(texts):
        return type(texts[0]) is list and texts[0][:1] == ["raised"]

    def every():
        every_texts = (outcomes(code, space) for _, code in calls)
        return ["" if texts[0] == "selfplay: slow" else digest(texts) for texts in every_texts]

    def shown_by(number, known):
        builtins.selfplay_mutant, found = number, []
        for (name, code), right in zip(calls, known):
            texts = outcomes(code, space)
            if right and digest(texts) != right and not (name in unusual and refuses(texts)):
                found.append(name)
                if len(found) == SHOWN_BY:
                    break
        return found

    once, again = selfplay_apart(every), selfplay_apart(every)
    if once is None or again is None:
        return
    known = [one if one == other else "" for one, other in zip(once, again)]
    for number in order["mutants"]:
        if time.monotonic() < until:
            found = selfplay_apart(lambda number=number: shown_by(number, known))
            say("mutant/%d" % number, ["the end of the process"] if found is None else found)


def selfplay_apart(work):
    """What `work` returns in a process of its own; None if it ended the process."""
    import json
    import os

    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ours)
            os.write(theirs, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    said = b""
    while True:
        block = os.read(ours, 65536)
        if not block:
            break
        said += block
    os.close(ours)
    os.waitpid(child, 0)
    return json.loads(said.decode()) if said else None
