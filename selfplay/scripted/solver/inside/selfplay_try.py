"""Tries repairs: for each, the changed modules are loaded again in a forked child and the failing tests run there.

A repair is written to the files too, for tests that start processes, and reverted by the parent. A repair that passes
here is run once more in a new process before it is submitted.
"""

import functools
import time

from selfplay_job import Allowance, forked, outcome
from selfplay_renew import loader


def run(session, job):
    """`job`: `candidates` (lists of [path, start, end, lines]); ids to `warm` up, to `screen`, and all `failing` ones;
    core `seconds` for all and for `each`; `waits`: the clock limit of each; `enough`: stop after this many clean
    ones."""
    items = {item.nodeid: item for item in session.items}
    failing = [items[test] for test in job["failing"] if test in items]
    screen = [items[test] for test in job["screen"] if test in items]
    for test in job["warm"]:
        if test in items:
            outcome(items[test])
    allowance, results, clean, before = Allowance(job["seconds"]), [], 0, None
    for number, edits in enumerate(job["candidates"]):
        if allowance.over() or clean >= job["enough"] or not screen:
            break
        texts = {path: read(path) for path, _, _, _ in edits}
        try:
            after = edited(texts, edits)
            for path, text in after.items():
                write(path, text)
            result = {"number": number, "state": "late", "passed": []}
            load = loader(texts, after, edits)
            found = load and forked(functools.partial(tried, load, screen, failing), job["each"], job["waits"])
            result.update(found or {})
            result["state"] = result["state"] if load else "broken"
            if found and len(found["passed"]) == len(failing):
                if before is None:
                    before = baseline(session, texts, after, job)
                result["regressed"] = regressed(before, load, items)
                clean += not result["regressed"]
        finally:
            for path, text in texts.items():
                write(path, text)
        results.append(result)
    return {"results": results}


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return stream.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)


def edited(texts, edits):
    after = {}
    for path, text in texts.items():
        lines = text.split("\n")
        for _, start, end, new in sorted((edit for edit in edits if edit[0] == path), key=lambda e: -e[1]):
            lines[start - 1 : end] = new
        after[path] = "\n".join(lines)
    return after


def tried(load, screen, failing):
    """The failing tests that pass now. All are run only if the screening tests pass."""
    try:
        load()
    except BaseException:
        return {"state": "broken", "passed": []}
    passed = []
    for item, following in zip(screen, screen[1:] + [None], strict=False):
        if outcome(item, following)[0]:
            passed.append(item.nodeid)
    if len(passed) < len(screen):
        return {"state": "ran", "passed": passed}
    for item in failing:
        if item.nodeid in passed:
            continue
        if not outcome(item)[0]:
            break
        passed.append(item.nodeid)
    return {"state": "ran", "passed": passed}


def baseline(session, texts, after, job):
    """Seconds of each test that passes without the repair, as far as the time goes."""
    for path, text in texts.items():
        write(path, text)
    failing = set(job["failing"])
    others = [item for item in session.items if item.nodeid not in failing]
    found = forked(lambda: timed(others, job["suite_seconds"]), job["suite_seconds"] + 10) or {}
    for path, text in after.items():
        write(path, text)
    return found


def timed(items, seconds):
    allowance, found = Allowance(seconds), {}
    for item, following in zip(items, items[1:] + [None], strict=False):
        if allowance.over():
            break
        began = time.monotonic()
        if outcome(item, following)[0]:
            found[item.nodeid] = time.monotonic() - began
    return found


def regressed(before, load, items):
    """The first test that passed before and does not with the repair; empty when there is none."""

    def work():
        load()
        for test in before:
            if outcome(items[test])[0] is False:
                return test
        return ""

    found = forked(work, 10 + 3 * sum(before.values()))
    return "too slow" if found is None else found
