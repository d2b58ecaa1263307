"""What a prediction lacks of the original: lines and expressions that neither its function of this name has nor a
function or class that is new, to which a repair may move them. How far a line is indented does not count."""

from collections.abc import Set

from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.rewriting.new_lines import KnownLines, Lines, lines_of, ordered_lines
from selfplay.oracle.rewriting.parts import Sources, expressions_of


def originals(files: ChangedFiles) -> dict[str, str]:
    """Path -> text of the original's files that it changes."""
    return {path: text for path, text in files.repaired.items() if text and path in files.after}


def kept_lines(files: ChangedFiles) -> KnownLines:
    """The lines of the original that the prediction still has. Raises `RecursionError`."""
    of_original = sum(map(lines_of, originals(files).values()), Lines())
    own = {name for name, _ in of_original}
    there = _by_name(sum(map(lines_of, files.after.values()), Lines()), own)
    moved = {line for name, line in there - _by_name(of_original, own) if not name}
    kept = Lines({
        (name, line): number if line.strip() in moved else there[name, line.strip()]
        for (name, line), number in of_original.items()
    })  # fmt: skip
    return KnownLines(kept, tuple(map(ordered_lines, files.after.values())))


def _by_name(lines: Lines, names: Set[str]) -> Lines:
    """The lines, however far they are indented; those of other functions and classes stand with those of the module."""
    found = Lines()
    for (name, line), number in lines.items():
        found[name if name in names else "", line.strip()] += number
    return found


def kept_expressions(files: ChangedFiles) -> Sources:
    """The expressions of the original's functions that the prediction still has. Raises `RecursionError`."""
    of_original = frozenset[tuple[str, str]]().union(*map(expressions_of, originals(files).values()))
    there = frozenset[tuple[str, str]]().union(*map(expressions_of, files.after.values()))
    own = {name for name, _ in of_original}
    moved = {source for name, source in there if name not in own}
    return frozenset(one for one in of_original if one in there or one[1] in moved)
