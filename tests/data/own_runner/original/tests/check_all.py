"""Run by `python tests/check_all.py`: the project has no test framework."""

import sys

sys.path.insert(0, ".")
import ring


def check(name, good):
    print(f"{'PASS' if good else 'FAIL'}: {name}")


def check_ring():
    buffer = ring.Ring(3)
    check("ring: empty", buffer.pop() is None)
    check("ring: fills", all([buffer.push(n) for n in range(3)]))
    check("ring: full", not buffer.push(9))
    check("ring: first in, first out", buffer.pop() == 0)
    check("ring: room again", buffer.push(4))
    check("ring: counts", buffer.pushed == 4)


def check_words():
    check("words: none", ring.count_words("") == 0)
    check("words: one", ring.count_words("one") == 1)
    check("words: spaces around", ring.count_words("  two words ") == 2)
    check("words: lines", ring.count_words("a\nb\nc") == 3)


check_ring()
check_words()
