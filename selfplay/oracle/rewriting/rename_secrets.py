"""Renews the secret names of a calibration for each grading, so that names seen in one grading are useless in the next.

Each name is replaced by another of the same length, in the test files and in their compiled forms, so nothing is
compiled or run again. Which of two canaries must fail is random too: the parity of its name decides a canary's outcome.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from selfplay.oracle.behaviour.stored_behaviour import Behaviour, Outcomes
from selfplay.oracle.calibration import Calibration, ImpossibleTests
from selfplay.oracle.rewriting.instrument import Instrumented, forms
from selfplay.oracle.rewriting.secret_names import secret_name, some_words
from selfplay.plain_text import decode, encode
from selfplay.workbench.files import TestFile

_PROBE = re.compile(rb"\btest_p\d+_\d+\b")


def renewed(known: Calibration) -> Calibration:
    """The calibration with new names."""
    made, counts = _shuffled(known)
    odd = dict.fromkeys(made.must_pass, True) | dict.fromkeys(made.must_fail, False)
    names = _Names(made.names, made.files, odd)
    fresh = Instrumented(
        names.files(made.files), names.texts(made.must_pass), names.texts(made.must_fail),
        dict(zip(names.texts([*made.copies]), made.copies.values(), strict=True)), names.texts(made.false_claims),
        names.texts(made.names),
    )  # fmt: skip
    never, shown = known.impossible, known.behaviour
    return replace(
        known, made=fresh, compiled=names.blobs(known.compiled), must_pass=counts[0], must_fail=counts[1],
        impossible=never and _impossible(never), behaviour=shown and _probes(shown),
    )  # fmt: skip


def _impossible(never: ImpossibleTests) -> ImpossibleTests:
    names = _Names(never.names, never.files, {})
    return replace(never, files=names.files(never.files), compiled=names.blobs(never.compiled))


def _shuffled(known: Calibration) -> tuple[Instrumented, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Randomly swap canaries between those that must pass and those that must fail, if both have the same number of
    ids."""
    one, other, made = list(known.made.must_pass), list(known.made.must_fail), known.made
    if len(one) == len(other):
        for at in range(len(one)):
            if known.must_pass[at] == known.must_fail[at] and secrets.randbelow(2):
                one[at], other[at] = other[at], one[at]
    return replace(made, must_pass=tuple(one), must_fail=tuple(other)), (known.must_pass, known.must_fail)


class _Names:
    """Maps old names to new ones. `odd`: the names whose parity matters."""

    def __init__(self, names: Sequence[str], files: Mapping[str, TestFile], odd: Mapping[str, bool]) -> None:
        text = "\n".join(decode(file.content) for file in files.values())
        words, drawn = some_words(re.findall(r"\btest\w*", text)), {*names}
        self._fresh: dict[bytes, bytes] = {}
        for name in names:
            joint = " " if " " in name else "_"
            new = secret_name(words, text, drawn, odd.get(name), joint, len(name))
            drawn.add(new)
            self._fresh |= dict(zip(map(encode, forms(name)), map(encode, forms(new)), strict=True))

    def within(self, data: bytes) -> bytes:
        for name in sorted(self._fresh, key=len, reverse=True):  # one pattern for all takes twice as long
            data = data.replace(name, self._fresh[name])
        return data

    def text(self, text: str) -> str:
        return decode(self.within(encode(text)))

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.text(one) for one in texts)

    def files(self, files: Mapping[str, TestFile]) -> dict[str, TestFile]:
        return {self.text(path): replace(file, content=self.within(file.content)) for path, file in files.items()}

    def blobs(self, blobs: Mapping[str, bytes]) -> dict[str, bytes]:
        return {self.text(path): self.within(data) for path, data in blobs.items()}


def _probes(shown: Behaviour) -> Behaviour:
    """The probes with new names."""
    found = {name for file in shown.files.values() for name in _PROBE.findall(file.content)}
    whole = "\n".join(decode(file.content) for file in shown.files.values())
    words, taken = some_words(re.findall(r"\btest\w*", whole)), set[str]()
    fresh = dict[bytes, bytes]()
    for name in sorted(found):
        drawn = secret_name(words, whole, taken)
        taken.add(drawn)
        fresh[name] = encode(f"test_{drawn}")

    def named(content: bytes) -> bytes:
        return _PROBE.sub(lambda found: fresh.get(found[0], found[0]), content)

    def text(name: str) -> str:
        return decode(named(encode(name)))

    def outcomes(known: Outcomes) -> Outcomes:
        return {text(probe): {text(place): said for place, said in places.items()} for probe, places in known.items()}

    files = {path: replace(file, content=named(file.content)) for path, file in shown.files.items()}
    return replace(shown, files=files, right=outcomes(shown.right), wrong=outcomes(shown.wrong))
