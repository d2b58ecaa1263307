"""A repair as a value: edits of source files, the method that proposed it, and its expected worth."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from selfplay.scripted.edits.cuts import Cut, PlantedChange, change, cuts_between

Edit = tuple[str, Cut]


@dataclass(frozen=True)
class Repair:
    """`weight`: the suspicion of its place times the worth of its kind; only the order among repairs matters."""

    edits: tuple[Edit, ...]
    kind: str
    weight: float
    what: str = ""

    @property
    def key(self) -> tuple[tuple[str, int, int, tuple[str, ...]], ...]:
        return tuple((path, cut.start, cut.end, cut.lines) for path, cut in self.edits)

    def joined(self, other: "Repair") -> "Repair | None":
        """Both repairs together; None if they overlap."""
        touching = any(
            a == b and first.start <= second.end + 1 and second.start <= first.end + 1
            for a, first in self.edits
            for b, second in other.edits
        )
        if touching:
            return None
        return Repair((*self.edits, *other.edits), "pair", self.weight + other.weight, f"{self.what}; {other.what}")


def changes(repair: Repair, texts: Mapping[str, str]) -> tuple[PlantedChange, ...] | None:
    """The changed files; None when one of them does not parse any more or is still the same program."""
    cuts: dict[str, list[Cut]] = {}
    for path, cut in repair.edits:
        cuts.setdefault(path, []).append(cut)
    made = [change(path, texts[path], edits) for path, edits in cuts.items()]
    return None if None in made else tuple(one for one in made if one)


def since(path: str, before: str, after: str) -> PlantedChange:
    """All changes of a file, as one change."""
    return PlantedChange(path, before, after, cuts_between(before, after), "repaired")


def distinct(repairs: Iterable[Repair]) -> list[Repair]:
    """The heaviest of each set of equal edits, in the order given."""
    best: dict[object, Repair] = {}
    for repair in repairs:
        held = best.get(repair.key)
        if held is None or held.weight < repair.weight:
            best[repair.key] = repair
    return list(best.values())


def order(repairs: Sequence[Repair]) -> list[Repair]:
    """Heaviest first. Each further repair of the same kind, and of the same kind at the same place, counts a little
    less, so that no kind crowds out the others."""
    kinds: Counter[object] = Counter()
    faded = []
    for repair in sorted(repairs, key=lambda repair: -repair.weight):
        path, cut = repair.edits[0]
        here = (repair.kind, path, cut.start // 8)
        faded.append((repair.weight * 0.985 ** kinds[repair.kind] * 0.95 ** kinds[here], repair))
        kinds.update((repair.kind, here))
    return [repair for _, repair in sorted(faded, key=lambda pair: -pair[0])]
