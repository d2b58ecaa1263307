"""The recorder beside the probes of a test run: one module under an unknown name, a key, and a file.

In stored test files it goes by `PLACEHOLDER`, and what it gives by `NAMES`; each run has names of its own.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from selfplay.oracle import inside
from selfplay.oracle.behaviour.signed import BrokenRecord, Signed, read_signed
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.plain_text import decode, encode
from selfplay.workbench.files import TestFile

PLACEHOLDER = "selfplay_recorder"
NAMES = ("selfplay_begin", "selfplay_saw", "selfplay_raised", "SelfplayCaught")
LOCAL = "selfplay_error"
"""What an exception is called in a probe."""


def drawn_names() -> dict[str, str]:
    """What the recorder gives, and the local name, under names drawn anew."""
    return {name: secret_name(()) for name in (*NAMES, LOCAL)}


def in_names(text: str, names: Mapping[str, str]) -> str:
    """Source with these names."""
    return decode(_OURS.sub(lambda found: encode(names.get(decode(found[0]), decode(found[0]))), encode(text)))


_OURS = re.compile(rb"\b(?:" + "|".join((PLACEHOLDER, LOCAL, *NAMES)).encode() + rb")\b")


@dataclass(frozen=True)
class Recording:
    """`key`: what signs. `file`: where the record is written. `names`: those in the probes -> those of this run."""

    key: str = field(default_factory=lambda: secrets.token_hex(32))
    file: str = field(default_factory=lambda: f"/tmp/selfplay-{secrets.token_hex(8)}")
    names: Mapping[str, str] = field(default_factory=drawn_names)

    def source(self) -> str:
        """The module's text; what the probes call are its names."""
        text = "".join(inside.text(name) for name in ("selfplay_plain.py", "selfplay_record.py"))
        given = {self.names[name]: name for name in NAMES}
        return inside.apart(f"SELFPLAY_FILE = {self.file!r}\n{text}", "recorder", given)

    def read(self, found: Mapping[str, bytes]) -> Signed | None:
        """What the probes recorded; None for a record that another wrote into."""
        try:
            return read_signed(found.get(self.file, b""), self.key)[0]
        except BrokenRecord:
            return None

    def under_name(self, files: Mapping[str, TestFile], module: str) -> dict[str, TestFile]:
        """The test files with the recorder under this name."""
        fresh = {old.encode(): new.encode() for old, new in {PLACEHOLDER: module, **self.names}.items()}
        return {
            path: replace(file, content=_OURS.sub(lambda found: fresh[found[0]], file.content))
            for path, file in files.items()
        }
