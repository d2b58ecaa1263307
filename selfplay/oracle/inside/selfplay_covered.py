"""Runs at the top of each changed file of a prediction: notes which of its new places run, and what its new conditions
give. What is noted decides how well a grade is assured, never whether a prediction is resolved.
"""


def selfplay_noter(path):
    """(ran, gave, caught): `ran` notes a word and returns None; `gave` notes a word and a truth, and returns the value;
    `caught` notes a word if what is handled is of this very kind, or of one of these."""
    import os
    import sys

    noted, stream, opened, write = set(), [], os.open, os.write
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC

    def ran(word):
        if word not in noted:
            noted.add(word)
            if not stream:
                stream.append(opened(path, how, 0o666))
            write(stream[0], word.encode("ascii") + b"\n")

    def gave(word, value):
        try:
            ran(word + ("+" if value else "-"))
        except Exception:  # a value without a truth, such as an array: it is no condition
            ran(word + "+")
            ran(word + "-")
        return value

    def caught(word, kinds):
        if sys.exc_info()[0] in (kinds if isinstance(kinds, tuple) else (kinds,)):
            ran(word + "=")

    return ran, gave, caught


selfplay_ran, selfplay_gave, selfplay_caught = selfplay_noter(SELFPLAY_FILE)
