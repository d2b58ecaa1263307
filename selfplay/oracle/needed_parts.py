"""Is each part of a prediction's new code needed? Each is taken away (`rewriting/parts.py`), and the calls that judge
the prediction are made again: a part without which all are answered as before was judged by nobody.

Only parts that calls can reach are told so; a part that only the tests of the suite need is not needed by any call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from selfplay.formatting import count
from selfplay.oracle import layers
from selfplay.oracle.added_code import added_code, known_expressions, known_lines
from selfplay.oracle.behaviour.call_runner import Additions, Called
from selfplay.oracle.layers import Layer
from selfplay.oracle.rewriting.mutant_schema import SchemaNames
from selfplay.oracle.rewriting.parts import with_parts
from selfplay.oracle.rewriting.secret_names import secret_names
from selfplay.oracle.screening.screen import ChangedFiles

MOST_PARTS = 200
"""A prediction with more parts is weakly assured."""


@dataclass(frozen=True)
class PartedCode:
    """`files`: path -> text whose parts can be taken away; `words`: of the parts, numbered from 1."""

    files: Mapping[str, str]
    words: tuple[str, ...]
    names: SchemaNames


def parted_code(files: ChangedFiles) -> PartedCode | None:
    """The new code of a prediction in parts; None if it cannot be parted."""
    one, other = secret_names(2, "\n".join(files.after.values()))
    names, made, words = SchemaNames(f"_{one}", f"_{other}"), dict[str, str](), list[str]()
    try:
        lines, known = known_lines(files), known_expressions(files)
        for path, text in added_code(files).items():
            parted = with_parts(text, lines, known, names, len(words) + 1)
            if parted is None:
                return None
            made |= {path: parted.text} if parted.words else {}
            words += parted.words
    except RecursionError:
        return None
    return PartedCode(made, tuple(words), names)


def needed_parts(files: ChangedFiles, make: Callable[..., Called]) -> tuple[Layer, float]:
    """Whether each part is needed, and the seconds of the script. `make`: makes the calls that judge the prediction,
    with files in place of its own and `planted` in them. Raises `SandboxError`."""
    code = parted_code(files)
    if code is None or len(code.words) > MOST_PARTS:
        why = f"its new code has {len(code.words)} parts" if code else "its new code cannot be taken apart"
        return layers.unavailable("parts", why), 0.0
    if not code.words:
        return layers.passed("parts", "it adds nothing that could be taken away"), 0.0
    called = make(code.files, planted=Additions(mutants=tuple(range(1, len(code.words) + 1)), names=code.names))
    said = called.outcomes.get("mutant", {})
    left = [word for number, word in enumerate(code.words, 1) if said.get(f"mutant/{number}", "[]") == "[]"]
    if left:
        more = f", and {count(len(left) - 1, 'more part')}" if len(left) > 1 else ""
        return layers.unavailable("parts", f"no hidden input tells {left[0]}{more}"), called.seconds
    return layers.passed("parts", f"each of its {count(len(code.words), 'part')} is needed"), called.seconds
