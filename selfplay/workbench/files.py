"""Writes test files in a sandbox together with their time and compiled form, and compares them afterwards.

A rewritten file would be compiled again in every run, including pytest's assertion rewriting, which costs more than
most tests. So the compiled form of one run is kept and put beside the file again; the interpreter accepts it only if
size and time match. Compiled forms are checked like the sources: a forged one would run in place of a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay.plain_text import decode, encode
from selfplay.sandbox import WORKDIR, Completed, InsideError, Sandbox
from selfplay.workbench.applying import DoesNotApply, prepare

_FORMS = r"""
shopt -s nullglob
while IFS= read -r -d "" path; do
  folder="./"; [[ "$path" == */* ]] && folder="./${path%/*}/"
  name="${path##*/}"
  for form in "$folder"__pycache__/"${name%.py}".*.pyc; do [ -f "$form" ] && printf '%s\0' "${form#./}"; done
done
"""
# one `rm`, and one `touch` per time: one process per file would cost as much as several tests
_FINISH = r"""
set -e; shopt -s nullglob
gone=(); same=(); last=""
dated() { [ ${#same[@]} -eq 0 ] || touch -d "@$last" -- "${same[@]}"; }
while IFS= read -r -d "" time && IFS= read -r -d "" path; do
  folder="./"; [[ "$path" == */* ]] && folder="./${path%/*}/"
  name="${path##*/}"
  gone+=("$folder"__pycache__/"${name%.py}".*.pyc)
  [ "$time" = "$last" ] || { dated; same=(); last="$time"; }
  same+=("./$path")
done
dated
[ ${#gone[@]} -eq 0 ] || rm -f -- "${gone[@]}"
"""


_SUMS = r"""
while IFS= read -r -d "" path; do
  if [ -f "$path" ]; then printf '%s\0' "$path"; fi
done | xargs -0 -r sha256sum -z --
"""


@dataclass(frozen=True)
class TestFile:
    """The content of a test file after the restore; `mtime`: the original's, in whole seconds."""

    __test__ = False

    content: bytes
    executable: bool = False
    mtime: int = 0


def put(sandbox: Sandbox, files: Mapping[str, TestFile], compiled: Mapping[str, bytes]) -> None:
    """Write `files`, and replace their old compiled forms by those in `compiled`. Raises `InsideError`,
    `SandboxError`."""
    if not files:
        return
    for path, file in files.items():
        sandbox.write_file(f"{WORKDIR}/{path}", file.content, 0o755 if file.executable else 0o644)
    by_time = sorted(files.items(), key=lambda item: item[1].mtime)
    listed = b"".join(b"%d\0%s\0" % (file.mtime, encode(path)) for path, file in by_time)
    _bash(sandbox, _FINISH, listed)
    for path, data in compiled.items():
        sandbox.write_file(f"{WORKDIR}/{path}", data)


def compiled_forms(sandbox: Sandbox, paths: Sequence[str]) -> tuple[str, ...]:
    """The compiled forms that exist for the Python files among `paths`. Raises `InsideError`, `SandboxError`."""
    python = b"".join(encode(path) + b"\0" for path in paths if path.endswith(".py"))
    listed = _bash(sandbox, _FORMS, python).split(b"\0") if python else []
    return tuple(sorted(decode(path) for path in listed if path))


def sums(sandbox: Sandbox, paths: Sequence[str]) -> dict[str, str]:
    """Path -> checksum of its file; what is unreadable or no regular file (a pipe would be waited for) is missing.
    Raises `InsideError`, `SandboxError`."""
    if not paths:
        return {}
    done = _prepared(sandbox, ["bash", "--norc", "-c", _SUMS], b"".join(encode(path) + b"\0" for path in paths))
    found = {}
    for entry in done.stdout.split(b"\0"):
        digest, _, path = entry.partition(b"  ")
        found[decode(path)] = digest.decode("ascii", "replace")
    return found


def _bash(sandbox: Sandbox, script: str, stdin: bytes) -> bytes:
    done = _prepared(sandbox, ["bash", "--norc", "-c", script], stdin)
    if done.exit_code != 0 or done.timed_out:
        raise InsideError(f"the test files cannot be written: {done.text.strip()[-300:]}")
    return done.stdout


def _prepared(sandbox: Sandbox, command: list[str], stdin: bytes = b"") -> Completed:
    try:
        return prepare(sandbox, command, stdin)
    except DoesNotApply as error:
        raise InsideError(str(error)) from error
