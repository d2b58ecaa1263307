"""Decides which sections of a prediction are applied, for both `grade` and `solve`.

Changes of tests, and files that programs leave behind, are left out: the deciding tests are the original's anyway. A
prediction that affects how tests run is refused. Everything else is applied.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle.originals import OriginalFiles
from selfplay.oracle.reasons import Refusal
from selfplay.oracle.screening.import_shadowing import NewName, new_names, refused_name
from selfplay.oracle.screening.paths import PathClass, Places, plain
from selfplay.patches import FilePatch
from selfplay.patches.model import SYMLINK_MODE
from selfplay.plain_text import shown

STEERS = "touches-infrastructure"


@dataclass(frozen=True)
class Screened:
    """`kept`: the sections that are applied. `left_out`: (path, why) of the others. `refused`: why the prediction
    is refused. `names`: new importable names of the kept sections."""

    kept: tuple[FilePatch, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    refused: Refusal | None = None
    names: tuple[NewName, ...] = ()


@dataclass
class _Sorted:
    kept: list[FilePatch] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def screen(sections: Sequence[FilePatch], artifact: Artifact, files: OriginalFiles) -> Screened:
    """Sort the sections of a prediction. A refused section also stays among the kept ones."""
    places, found = Places(artifact, files), _Sorted()
    for section in sections:
        _sort(section, places, found)
    names = new_names(found.kept, artifact, files, places.own)
    found.refused += [Refusal(STEERS, f"{new.path!r} {why}") for new in names if (why := refused_name(new))]
    left_out = tuple((shown(path), why) for path, why in found.left_out)
    return Screened(tuple(found.kept), left_out, next(iter(found.refused), None), tuple(names))


def _sort(section: FilePatch, places: Places, found: _Sorted) -> None:
    old, new = _places(section, places)
    for path, place in ((section.old_path, old), (section.new_path, new)):
        if place.kind == "steers":
            found.refused.append(Refusal(STEERS, f"{path!r} {place.why}"))
    if section.kind == "renamed" and old.out != new.out and not found.refused:
        _moved(section, old, new, places, found)
    elif new.out or (section.new_path is None and old.out):
        found.left_out.append((section.path, new.why or old.why))
    else:
        found.kept.append(section)


def _places(section: FilePatch, places: Places) -> tuple[PathClass, PathClass]:
    """The places of the old and the new path; a side that is missing, or only read, counts as the program's."""
    old, new = PathClass("program"), PathClass("program")
    if section.old_path is not None and section.kind != "copied":
        old = places.of(section.old_path)
    if section.new_path is not None:
        new = places.of(section.new_path, new=section.new_path != section.old_path)
        if new.kind == "program" and section.new_mode == SYMLINK_MODE:
            new = _link(section, section.new_path, places)
    return old, new


def _moved(section: FilePatch, old: PathClass, new: PathClass, places: Places, found: _Sorted) -> None:
    """Treat a file moved into or out of the tests as two changes, one of which is left out."""
    assert section.old_path is not None and section.new_path is not None
    if old.out:
        text = section.text.replace("\nrename from ", "\ncopy from ", 1).replace("\nrename to ", "\ncopy to ", 1)
        found.kept += patches.parse(text)
        found.left_out.append((section.old_path, old.why))
        return
    content = None if places.files.changed(section.old_path) else places.files.text(section.old_path)
    if content is None or "\0" in content:
        found.refused.append(Refusal("touches-tests", f"{section.old_path!r} is moved into the tests"))
        return
    found.kept += patches.parse(patches.deletion(section.old_path, content))
    found.left_out.append((section.new_path, new.why))


def _link(section: FilePatch, path: str, places: Places) -> PathClass:
    """Classify a link by its target. A target with `..` after a folder is refused, since that folder may be a link to
    anywhere."""
    target = next(iter(section.added_lines), "")
    steps = target.split("/")
    down = next((at for at, step in enumerate(steps) if step not in ("..", ".", "")), len(steps))
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if target.startswith("/") or place.startswith("..") or ".." in steps[down:]:
        return PathClass("steers", "is a link that leaves the repository, or may")
    if patches.is_test_file(f"{plain(place)}/x") or places.of(place).kind == "tests":
        return PathClass("tests", "is a link to tests")
    return PathClass("program")
