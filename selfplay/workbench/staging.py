"""Makes a variant of the original inside a sandbox: diffs applied, files put back as in the original.

Everything here runs before any code of the repository does, and uses only programs of the system.
"""

from collections.abc import Callable, Sequence

from selfplay.plain import encode
from selfplay.sandbox import Completed, Mount, Sandbox, SandboxError, World

ORIGINAL = "/original"
APPLY_SECONDS = 60.0
GIT_ENV = {
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C.UTF-8",
}
_MISSING = 'while IFS= read -r -d "" path; do [ -f "$path" ] || printf "%s\\0" "$path"; done'
# each file as the topmost layer has it; a link or file in the place of one of its folders is removed first. One `rm`
# for all and one `cp` per layer: one process per file would cost more than the copying
_RESTORE = r"""
set -e -o pipefail
here="$PWD"; paths=()
while IFS= read -r -d "" path; do
  prefix=""; rest="$path"
  while [[ "$rest" == */* ]]; do
    prefix+="${rest%%/*}"; rest="${rest#*/}"
    if [ -L "$prefix" ] || { [ -e "$prefix" ] && [ ! -d "$prefix" ]; }; then rm -f -- "$prefix"; fi
    prefix+="/"
  done
  paths+=("$path")
done
printf '%s\0' "${paths[@]}" | xargs -0 rm -rf --
for layer in "$@"; do
  found=(); left=()
  for path in "${paths[@]}"; do
    if [ -e "$layer/$path" ] || [ -L "$layer/$path" ]; then found+=("$path"); else left+=("$path"); fi
  done
  cd "$layer"
  if [ ${#found[@]} -gt 0 ]; then printf '%s\0' "${found[@]}" | xargs -0 cp -dp --parents -t "$here" --; fi
  paths=("${left[@]}")
done
"""


class DoesNotApply(Exception):
    """A diff that `git apply` refuses, or a file that could not be restored; becomes the `error` of a run."""


def original_mounts(world: World) -> list[Mount]:
    """The layers of the world, mounted where `restore_files` looks for them."""
    return [Mount(layer, f"{ORIGINAL}/{index}") for index, layer in enumerate(world.tree)]


def apply_diffs(sandbox: Sandbox, diffs: Sequence[str], name: Callable[[str], str] = lambda diff: "the diff") -> None:
    """Apply `diffs` in order. Raises `DoesNotApply` with the name (from `name`) of the first that does not apply."""
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    for diff in diffs:
        done = prepare(sandbox, command, encode(diff))
        if done.exit_code != 0 or done.timed_out:
            reason = done.text.strip().partition("\n")[0][:300] or f"exit code {done.exit_code}"
            raise DoesNotApply(f"{name(diff)} does not apply: {reason}")


def restore_files(sandbox: Sandbox, paths: Sequence[str], layers: int) -> None:
    """Put `paths` back as in the topmost of the `layers` mounted by `original_mounts`. Raises `DoesNotApply`."""
    if not paths:
        return
    mounted = [f"{ORIGINAL}/{index}" for index in reversed(range(layers))]
    stdin = b"".join(encode(path) + b"\0" for path in paths)
    done = prepare(sandbox, ["bash", "-c", _RESTORE, "restore", *mounted], stdin)
    if done.exit_code != 0 or done.timed_out:
        raise DoesNotApply(f"the test files cannot be restored: {done.text.strip()[-300:]}")


def missing_files(sandbox: Sandbox, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` that are not regular files. Raises `SandboxError` when the tree cannot be looked at."""
    stdin = b"".join(encode(path) + b"\0" for path in paths)
    done = sandbox.run(["bash", "-c", _MISSING], timeout=APPLY_SECONDS, stdin=stdin)
    if done.exit_code != 0 or done.timed_out:
        raise SandboxError("the files of the original cannot be looked at", done.text[-300:])
    absent = set(done.stdout.split(b"\0"))
    return tuple(path for path in paths if encode(path) in absent)


def prepare(sandbox: Sandbox, command: list[str], stdin: bytes = b"") -> Completed:
    """Run a step before the script; if a diff filled or broke the sandbox, that counts as the diff's failure."""
    try:
        return sandbox.run(command, timeout=APPLY_SECONDS, stdin=stdin, env=GIT_ENV)
    except SandboxError as error:
        raise DoesNotApply(error.message) from error
