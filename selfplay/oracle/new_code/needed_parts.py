"""Is each part of a prediction's new code needed, and each part of the original that it lacks? Each is taken away
(`rewriting/parts.py`), from the prediction or from the original, and the calls that judge the prediction are made
again, and for the few parts that no call needs the tests: a part without which all end as before was judged by nobody.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from selfplay.formatting import and_more, count
from selfplay.oracle import layers
from selfplay.oracle.behaviour.call_runner import Additions, Called
from selfplay.oracle.layers import Layer
from selfplay.oracle.new_code.added_code import added_code, known_expressions, known_lines
from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.new_code.lacking_code import kept_expressions, kept_lines, originals
from selfplay.oracle.rewriting.mutant_schema import SchemaNames
from selfplay.oracle.rewriting.new_lines import KnownLines
from selfplay.oracle.rewriting.parts import MOST_PARTS, Sources, with_parts, without_part
from selfplay.oracle.rewriting.secret_names import secret_names
from selfplay.oracle.trial import Trial

MOST_TRIED = 4
"""Parts without which all calls are answered as before, and the tests are run: each costs a run. One that has more is
weakly assured."""

_WHOLE = f"cannot be taken apart, or has more than {MOST_PARTS} parts"


@dataclass(frozen=True)
class PartedCode:
    """`files`: path -> text whose parts can be taken away; `words`: of the parts, numbered from 1; `fixed`: what cannot
    be taken away."""

    files: Mapping[str, str]
    words: tuple[str, ...]
    names: SchemaNames
    fixed: tuple[str, ...] = ()

    def without(self, number: int) -> dict[str, str]:
        """The files without this part."""
        return {path: without_part(text, self.names.chosen, number) for path, text in self.files.items()}


def added_parts(files: ChangedFiles) -> PartedCode | None:
    """The new code of a prediction in parts; None if it has too many, or cannot be taken apart."""
    with suppress(RecursionError):
        return _parted(added_code(files), files, known_lines(files), known_expressions(files))
    return None


def lacking_parts(files: ChangedFiles) -> PartedCode | None:
    """The original in parts, where a prediction has other code, which lacks them; None as for its new code."""
    with suppress(RecursionError):
        made = _parted(originals(files), files, kept_lines(files), kept_expressions(files))
        return made and replace(made, files={**originals(files), **made.files}, fixed=())
    return None


def _parted(texts: Mapping[str, str], files: ChangedFiles, lines: KnownLines, known: Sources) -> PartedCode | None:
    """These texts, with a mutant for each part that is in none of the `lines` and `known` expressions. Raises
    `RecursionError`."""
    secrets = secret_names(3, "\n".join([*files.after.values(), *files.repaired.values()]))
    names, made = SchemaNames(*(f"_{secret}" for secret in secrets)), dict[str, str]()
    words, fixed = list[str](), list[str]()
    for path, text in texts.items():
        parted = with_parts(text, lines, known, names, len(words) + 1)
        if parted is None or parted.too_many or len(words) + len(parted.words) > MOST_PARTS:
            return None
        made |= {path: parted.text} if parted.words else {}
        words += parted.words
        fixed += parted.fixed
    return PartedCode(made, tuple(words), names, tuple(fixed))


def needed_parts(
    files: ChangedFiles, make: Callable[..., Called], tests: Callable[[Mapping[str, str]], Trial], wanted: Set[str]
) -> tuple[Layer, float]:
    """Whether each part is needed, then whether each that it lacks is; the layer has the runs of the tests, and the
    seconds are those of all scripts. `make`: makes the calls that judge the prediction, with files in place of its own
    and `planted` in them; `tests`: runs its tests so, of which it passes those that are `wanted`. Raises
    `SandboxError`."""
    code = added_parts(files)
    if code is None:
        return layers.unavailable("parts", f"its new code {_WHOLE}"), 0.0
    left, runs, seconds = _untold(code, make, tests, wanted)
    if left:
        why = f"no hidden input and no test tells {_named(left)}"
        return replace(layers.unavailable("parts", why), runs=runs), seconds
    if code.fixed:
        why = f"{code.fixed[0]}: no part of it can be taken away"
        return replace(layers.unavailable("parts", why), runs=runs), seconds
    lost = lacking_parts(files)
    if lost is None:
        return replace(layers.unavailable("parts", f"what it lacks of the original {_WHOLE}"), runs=runs), seconds
    left, more, later = _untold(lost, make, tests, wanted)
    runs, seconds = runs + more, seconds + later
    if left:
        why = f"it lacks a part of the original, which no hidden input and no test tells from it {_named(left)}"
        return replace(layers.unavailable("parts", why), runs=runs), seconds
    if not code.words:
        return layers.passed("parts", "it adds nothing that could be taken away", runs), seconds
    return layers.passed("parts", f"each of its {count(len(code.words), 'part')} is needed", runs), seconds


def _untold(
    code: PartedCode, make: Callable[..., Called], tests: Callable[[Mapping[str, str]], Trial], wanted: Set[str]
) -> tuple[list[str], int, float]:
    """The words of parts without which all ends as before, the runs that this took, and their seconds."""
    if not code.words:
        return [], 0, 0.0
    numbers = range(1, len(code.words) + 1)
    called = make(
        code.files, planted=Additions(mutants=tuple(numbers), names=code.names, refusing=False, loading=False)
    )
    said = called.outcomes.get("mutant", {})
    left = [number for number in numbers if said.get(f"mutant/{number}", "[]") == "[]"]
    runs, seconds = 1, called.seconds
    while left and len(left) + runs <= MOST_TRIED + 1:
        trial = tests(code.without(left[0]))
        runs, seconds = runs + 1, seconds + trial.seconds
        if trial.failed_at is not None or wanted <= trial.passed:
            break
        left.pop(0)
    return [code.words[number - 1] for number in left], runs, seconds


def _named(words: Sequence[str]) -> str:
    return words[0] + and_more(len(words) - 1, "part")
