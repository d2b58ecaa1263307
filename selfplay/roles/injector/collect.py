"""Collects the artifact from the injector's sandbox after its episode."""

from selfplay.agent import Trajectory
from selfplay.artifact import FILE_NAMES, Artifact, ArtifactError, from_texts
from selfplay.sandbox import InsideError, Sandbox


def collect(trajectory: Trajectory, sandbox: Sandbox) -> Artifact:
    """The artifact of the last submission. Raises `ArtifactError` unless it is five valid files, and `SandboxLost`."""
    if trajectory.submission is None:
        raise ArtifactError(f"nothing was submitted ({trajectory.ending})")
    texts = {}
    for name in FILE_NAMES.values():
        try:
            texts[name] = sandbox.read_file(f"{trajectory.submission}/{name}")
        except FileNotFoundError:
            continue
        except InsideError as error:
            raise ArtifactError(f"{name} cannot be read: {error.message}") from error
    return from_texts(texts)
