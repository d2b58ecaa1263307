"""The bug artifact, and its metadata. Knows nothing about sandboxes or models."""

from selfplay.artifact.bug import Bug, load_bug, save_bug
from selfplay.artifact.files import FILE_NAMES, Artifact, ArtifactError, from_texts, load, save
from selfplay.artifact.verdict import Verdict

__all__ = [
    "FILE_NAMES",
    "Artifact",
    "ArtifactError",
    "Bug",
    "Verdict",
    "from_texts",
    "load",
    "load_bug",
    "save",
    "save_bug",
]
