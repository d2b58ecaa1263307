"""The result of one consistency check of one artifact."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """`check`: its name; `reason`: one line for users (also if it passed); `seconds`: wall time; `runs`: test-suite
    runs it caused (0 if cached); `details`: plain JSON values."""

    check: str
    passed: bool
    reason: str
    seconds: float = 0.0
    runs: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
