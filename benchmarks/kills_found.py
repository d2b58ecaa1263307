"""What came of the runs with kills: counted, kept in a file after each run, and shown as a table."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.figures import Figure, Sheet


@dataclass
class Found:
    """What came of the runs of one kind. `by_command`: the kills during each of the two commands."""

    by_command: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    same: int = 0
    different: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """All of them."""
        return sum(self.by_command.values())

    def count(self, command: str, kills: int) -> None:
        """So many more kills during a command."""
        self.by_command[command] = self.by_command.get(command, 0) + kills

    def keep(self, path: Path) -> None:
        """Write it, so that a benchmark that is stopped goes on from here."""
        path.write_text(json.dumps(asdict(self)))


def kept(path: Path) -> Found:
    """What was found so far; nothing at the start."""
    return Found(**json.loads(path.read_text())) if path.exists() else Found()


def sheet(found: dict[str, Found]) -> Sheet:
    """The table."""
    rows = []
    for kind, one in found.items():
        bad = len(one.different) + len(one.hung) + len(one.early)
        rows += [
            Figure(f"{kind}: the same after {one.kills} kills", one.same, "runs", f"= {one.runs}", not bad),
            Figure(f"{kind}: different", len(one.different), "runs", "= 0", not one.different),
            Figure(f"{kind}: hung", len(one.hung), "runs", "= 0", not one.hung),
            Figure(f"{kind}: ended early", len(one.early), "runs", "= 0", not one.early),
        ]
    said = [line for one in found.values() for line in (*one.different, *one.hung, *one.early)]
    return Sheet("kills at random moments of curriculum and solve", tuple(rows), "\n".join(said))
