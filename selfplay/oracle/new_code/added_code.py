"""What a prediction adds to the program: its files that may hold new code, and what in them is not new."""

from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.rewriting.new_lines import KnownLines, Line, Lines, lines_of, ordered_lines
from selfplay.oracle.rewriting.parts import Sources, expressions_of


def added_code(files: ChangedFiles) -> dict[str, str]:
    """Path -> text of the files that may add code to the program."""
    found = dict[str, str]()
    for path, text in files.after.items():
        if text and text not in (files.repaired.get(path), files.before.get(path)):
            found[path] = text
    return found


def known_lines(files: ChangedFiles) -> KnownLines:
    """The lines that the original or the buggy program has in these files. Raises `RecursionError`."""
    found, orders = Lines(), list[tuple[Line, ...]]()
    for path in sorted(files.before.keys() | files.repaired.keys()):
        texts = [one.get(path, "") for one in (files.repaired, files.before)]
        found += lines_of(texts[0]) | lines_of(texts[1])
        orders += map(ordered_lines, texts)
    return KnownLines(found, tuple(orders))


def known_expressions(files: ChangedFiles) -> Sources:
    """The expressions that they have in their functions. Raises `RecursionError`."""
    every = (*files.before.values(), *files.repaired.values())
    return frozenset[tuple[str, str]]().union(*map(expressions_of, every))
