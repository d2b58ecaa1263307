"""Check 4. The bug changes enough files, only code files, and leaves no hint of what it changed.

The paper only asks for this in its prompt. Here it is enforced: no test file (by path or by `test_files.txt`), no
symbolic link (it is not code, and could replace a test file), no commented-out original. The next check finds out
whether the diff applies.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.patches import PatchError, is_test_file, parse
from selfplay.validators.common import fails, few, passes
from selfplay.validators.hints import find_hint
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "scope"
PROJECT_SETTINGS = frozenset(
    [
        "pyproject.toml",
        "setup.cfg",
        "package.json",
        "package-lock.json",
        "Cargo.toml",
        "pom.xml",
        "build.gradle",
        ".env",
        "setup.py",
        "MANIFEST.in",
        "requirements.txt",
        "go.mod",
        "go.sum",
        "tsconfig.json",
        "babel.config.js",
        ".babelrc",
        "yarn.lock",
        "pnpm-lock.yaml",
        "Makefile",
    ]
)
"""Files that configure the project and, in some sections, its test runner."""


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    try:
        patches = parse(artifact.bug_inject)
    except PatchError as error:
        return fails(NAME, f"bug_inject.diff: {error.message}")
    touched = {path for patch in patches for path in patch.paths}
    listed = set(artifact.test_files)
    if tests := [path for path in touched if path in listed or is_test_file(path)]:
        return fails(NAME, f"bug_inject.diff touches the test file {few(tests)}")
    if settings := [path for path in touched if path.rsplit("/", 1)[-1] in PROJECT_SETTINGS]:
        return fails(NAME, f"bug_inject.diff touches {few(settings)}, which is not code and can change which tests run")
    if links := [patch.path for patch in patches if patch.symlink]:
        return fails(NAME, f"bug_inject.diff makes or changes the symbolic link {few(links)}")
    files = {patch.path for patch in patches}
    if len(files) < thresholds.min_changed_files:
        changed = count(len(files), "file")
        return fails(NAME, f"bug_inject.diff changes {changed}; at least {thresholds.min_changed_files} are required")
    if len(files) > thresholds.max_changed_files:
        most = thresholds.max_changed_files
        return fails(
            NAME, f"bug_inject.diff changes {count(len(files), 'file')}; at most {most} are checked one by one"
        )
    if hint := find_hint(patches):
        return fails(NAME, f"bug_inject.diff {hint}")
    lines = sum(patch.added + patch.removed for patch in patches)
    reason = f"{count(len(files), 'code file')} and {count(lines, 'line')} changed"
    return passes(NAME, reason, files=len(files), lines=lines)
