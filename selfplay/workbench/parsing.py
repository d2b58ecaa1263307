"""From the raw log of a test script to outcomes: the artifact's parser runs in its own sandbox.

The tests never share a sandbox with the parser, so they cannot change it; the parser sees only the log, not the
repository. Our own parser needs none (`own_parser.py`). Its output is read strictly: one non-empty JSON object, test id
to "passed" or "failed".
"""

from dataclasses import replace

from selfplay.plain_text import encode
from selfplay.sandbox import WORKDIR, Backend, InsideError, Limits, World
from selfplay.sandbox.kill_detection import starved
from selfplay.untrusted_json import AnswerError, json_value
from selfplay.workbench.own_parser import printed_by_our_own
from selfplay.workbench.result import Outcome

PARSER_SECONDS = 15.0


class ParserError(Exception):
    """A parser gave no outcomes; the message becomes the `error` of a run and never leaves the workbench."""


class ParserKilled(ParserError):
    """Something killed the parser, perhaps from outside."""


def parse_log(backend: Backend, world: World, limits: Limits, parser: str, log: bytes) -> dict[str, Outcome]:
    """Outcomes by test id. Raises `SandboxLost`, and `ParserError` with one line that says what the parser did
    wrong."""
    own = printed_by_our_own(parser, log)
    if own is not None and len(own) <= limits.output_bytes:
        return read_outcomes(own)
    with backend.open(replace(world, tree=()), limits) as sandbox:
        try:
            sandbox.write_file(f"{WORKDIR}/test_parser.py", encode(parser))
            done = sandbox.run([backend.python, "-I", "-S", "test_parser.py"], timeout=PARSER_SECONDS, stdin=log)
        except InsideError as error:
            raise ParserError(f"test_parser.py cannot be run: {error.message}") from error
    if done.was_killed:
        raise ParserKilled("test_parser.py was killed")
    if starved(done.timed_out, done.cpu_seconds, PARSER_SECONDS):
        raise ParserKilled(f"test_parser.py did not get a core within {PARSER_SECONDS:g} s")
    if done.timed_out:
        raise ParserError(f"test_parser.py did not end within {PARSER_SECONDS:g} s")
    if done.exit_code != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1][:300]
        raise ParserError(f"test_parser.py ended with exit code {done.exit_code}" + (f": {last}" if last else ""))
    if done.truncated:
        raise ParserError(f"test_parser.py printed more than {limits.output_bytes} bytes")
    return read_outcomes(done.stdout)


def read_outcomes(printed: bytes) -> dict[str, Outcome]:
    """The outcomes in the JSON that a parser printed. Raises `ParserError` for anything else, including `{}`."""
    try:
        value = json_value(printed, characters="any")
    except AnswerError as error:
        shown = printed[:60].decode("utf-8", "replace")
        raise ParserError(f"test_parser.py printed no JSON: {shown!r} ({error})") from error
    if not isinstance(value, dict):
        raise ParserError(f"test_parser.py printed a JSON {type(value).__name__}, not an object")
    if not value:
        raise ParserError("test_parser.py found no test in the log: it printed {}")
    for test, outcome in value.items():
        if outcome not in ("passed", "failed"):
            raise ParserError(
                f'test_parser.py says {repr(outcome)[:60]} of {test[:200]!r}; only "passed" and "failed" are known'
            )
        if not test.strip() or any("\ud800" <= character <= "\udfff" for character in test):
            raise ParserError(f"test_parser.py names a test {test[:200]!r}, which is not text")
    return value
