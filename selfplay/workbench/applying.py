"""Makes a variant of the original inside a sandbox: applies diffs.

All steps use the sandbox's own programs (`World.own_env`): programs that a build installed come first on the tests'
path, and would otherwise apply the diffs.
"""

from collections.abc import Callable, Sequence

from selfplay.plain_text import encode
from selfplay.sandbox import Completed, InsideError, Sandbox
from selfplay.sandbox.kill_detection import undisturbed

APPLY_SECONDS = 60.0
GIT_ENV = {
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C.UTF-8",
}
_MISSING = 'while IFS= read -r -d "" path; do [ -f "$path" ] || printf "%s\\0" "$path"; done'


class DoesNotApply(Exception):
    """A diff that `git apply` refuses, or a file that could not be restored; becomes the `error` of a run."""


def apply_diffs(sandbox: Sandbox, diffs: Sequence[str], name: Callable[[str], str] = lambda diff: "the diff") -> None:
    """Apply `diffs` in order. Raises `DoesNotApply` with the name (from `name`) of the first that does not apply."""
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    for diff in diffs:
        done = prepare(sandbox, command, encode(diff))
        if done.exit_code != 0 or done.timed_out:
            reason = done.text.strip().partition("\n")[0][:300] or f"exit code {done.exit_code}"
            raise DoesNotApply(f"{name(diff)} does not apply: {reason}")


def missing_files(sandbox: Sandbox, paths: Sequence[str]) -> tuple[str, ...]:
    """The members of `paths` that are not regular files. Raises `InsideError` if the tree cannot be read."""
    stdin = b"".join(encode(path) + b"\0" for path in paths)
    env = {**GIT_ENV, **sandbox.own_env}
    command = ["bash", "-c", _MISSING]
    done = undisturbed(sandbox.run(command, timeout=APPLY_SECONDS, stdin=stdin, env=env), "bash", APPLY_SECONDS)
    if done.exit_code != 0 or done.timed_out:
        raise InsideError("the files of the original cannot be checked", done.text[-300:])
    absent = set(done.stdout.split(b"\0"))
    return tuple(path for path in paths if encode(path) in absent)


def prepare(sandbox: Sandbox, command: list[str], stdin: bytes = b"") -> Completed:
    """Run a step before the script; if a diff filled the sandbox, that counts as the diff's failure. Raises
    `SandboxLost`."""
    try:
        env = {**GIT_ENV, **sandbox.own_env}
        done = sandbox.run(command, timeout=APPLY_SECONDS, stdin=stdin, env=env)
        return undisturbed(done, command[0], APPLY_SECONDS)
    except InsideError as error:
        raise DoesNotApply(error.message) from error
