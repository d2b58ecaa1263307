"""The recorder for probes in a test run: one module under a random name, a key, and a file.

Stored test files call it `PLACEHOLDER`, and its functions `NAMES`; each run replaces these by random names.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from selfplay.oracle import inside
from selfplay.oracle.behaviour.signed import BrokenRecord, Signed, read_signed
from selfplay.oracle.rewriting.secret_names import secret_names
from selfplay.plain_text import decode, encode
from selfplay.workbench.files import TestFile

PLACEHOLDER = "selfplay_recorder"
NAMES = ("selfplay_begin", "selfplay_saw", "selfplay_raised", "SelfplayCaught")
LOCAL = "selfplay_error"
"""The name of an exception in a probe."""


def drawn_names(texts: Iterable[str]) -> dict[str, str]:
    """Random names for the recorder's functions and for the local name, which do not occur in the probes' texts: one
    that a probe defines would hide the function, and its record would be another's."""
    names = (*NAMES, LOCAL)
    return dict(zip(names, secret_names(len(names), "\n".join(texts)), strict=True))


def in_names(text: str, names: Mapping[str, str]) -> str:
    """Replace these names in a source."""
    return decode(_OURS.sub(lambda found: encode(names.get(decode(found[0]), decode(found[0]))), encode(text)))


_OURS = re.compile(rb"\b(?:" + "|".join((PLACEHOLDER, LOCAL, *NAMES)).encode() + rb")\b")


@dataclass(frozen=True)
class Recording:
    """`names`: name in the probes -> name in this run. `key`: signs the record. `file`: where the record is written."""

    names: Mapping[str, str]
    key: str = field(default_factory=lambda: secrets.token_hex(32))
    file: str = field(default_factory=lambda: f"/tmp/selfplay-{secrets.token_hex(8)}")

    @classmethod
    def of(cls, files: Mapping[str, TestFile]) -> "Recording":
        """The recorder of one run of these test files."""
        return cls(drawn_names(decode(file.content) for file in files.values()))

    def source(self) -> str:
        """The module's source, with this run's names."""
        text = "".join(inside.text(name) for name in ("selfplay_plain.py", "selfplay_record.py"))
        given = {self.names[name]: name for name in NAMES}
        return inside.apart(f"SELFPLAY_FILE = {self.file!r}\n{text}", "recorder", given)

    def read(self, found: Mapping[str, bytes]) -> Signed | None:
        """What the probes recorded; None if something else wrote into the record."""
        try:
            return read_signed(found.get(self.file, b""), self.key)[0]
        except BrokenRecord:
            return None

    def under_name(self, files: Mapping[str, TestFile], module: str) -> dict[str, TestFile]:
        """The test files with the recorder's random module name."""
        fresh = {old.encode(): new.encode() for old, new in {PLACEHOLDER: module, **self.names}.items()}
        return {
            path: replace(file, content=_OURS.sub(lambda found: fresh[found[0]], file.content))
            for path, file in files.items()
        }
