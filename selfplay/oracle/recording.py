"""The recorder beside the probes of a test run: one module under an unknown name, a key, and a file.

In test files it goes by `PLACEHOLDER`; each run has a name of its own.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from selfplay.oracle import inside
from selfplay.oracle.signed import BrokenRecord, Signed, read_signed
from selfplay.workbench.files import TestFile

PLACEHOLDER = b"selfplay_recorder"
NAMES = ("selfplay_begin", "selfplay_saw", "selfplay_raised", "SelfplayCaught")


@dataclass(frozen=True)
class Recording:
    """`key`: what signs. `file`: where the record is written."""

    key: str = field(default_factory=lambda: secrets.token_hex(32))
    file: str = field(default_factory=lambda: f"/tmp/selfplay-{secrets.token_hex(8)}")

    def source(self) -> str:
        """The module's text; what the probes call are its names."""
        text = "".join(inside.text(name) for name in ("selfplay_plain.py", "selfplay_record.py"))
        return inside.apart(f"SELFPLAY_FILE = {self.file!r}\n{text}", "recorder", *NAMES)

    def read(self, found: Mapping[str, bytes]) -> Signed | None:
        """What the probes recorded; None for a record that another wrote into."""
        try:
            return read_signed(found.get(self.file, b""), self.key)[0]
        except BrokenRecord:
            return None


def under_name(files: Mapping[str, TestFile], module: str) -> dict[str, TestFile]:
    """The test files with the recorder under this name."""
    return {
        path: replace(file, content=file.content.replace(PLACEHOLDER, module.encode())) for path, file in files.items()
    }
