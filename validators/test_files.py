"""Check 1. The oracle test files exist in the original and cover every file the weakening touches.

Also: the weakening is a well-formed diff, changes only test files, and applies to the original; this costs no test run.
The path decides what is a test file (`patches.is_test_file`), so that an artifact cannot hide a second bug by listing
code files.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.patches import PatchError, is_test_file, parse
from selfplay.validators.common import count, fails, few, passes
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "test_files"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    try:
        patches = parse(artifact.weakening)
    except PatchError as error:
        return fails(NAME, f"test_weaken.diff: {error.message}")
    touched = {path for patch in patches for path in patch.paths}
    if uncovered := touched - set(artifact.test_files):
        return fails(NAME, f"test_weaken.diff touches {few(uncovered)}, which test_files.txt does not list")
    if code := [path for path in touched if not is_test_file(path)]:
        return fails(NAME, f"test_weaken.diff touches {few(code)}, which is not a test file")
    if links := [patch.path for patch in patches if patch.symlink]:
        return fails(NAME, f"test_weaken.diff makes or changes the symbolic link {few(links)}")
    if code := [path for path in artifact.test_files if not is_test_file(path)]:
        return fails(
            NAME, f"test_files.txt lists {few(code)}, which is not a test file: grading would reset a fix there"
        )
    found = bench.inspect(artifact.test_files, [artifact.weakening])
    if found.missing:
        return fails(NAME, f"test_files.txt lists {few(found.missing)}, which the original does not have")
    if found.refusal:
        return fails(NAME, found.refusal)
    return passes(NAME, f"{count(len(artifact.test_files), 'test file')} exist and cover the weakening")
