"""Go: `go test -json`. Its events do not name a test's file, so the file is found by the line that defines the test."""

import json
import posixpath
from collections.abc import Sequence

from selfplay.repository.inside import text
from selfplay.repository.suites.runners.runner import Runner, RunnerRequest, quoted
from selfplay.repository.suites.script_frame import chosen, heredoc

SETTINGS = 'export SELFPLAY_DIR="$work"'
TESTS_SECONDS = 120
"""Seconds after which the tests of one package are stopped."""
EVERY = "find . -name '*_test.go' -not -path '*/vendor/*' -not -path '*/testdata/*' -not -path '*/.*' | sed 's|^\\./||'"
_DEFINED = "^func (Test|Example|Fuzz)[A-Za-z0-9_]*\\("


def _go(asked: RunnerRequest) -> Sequence[str]:
    files = (
        [*chosen(asked.files), 'printf "%s\\n" "${chosen[@]}" > "$work/files"']
        if asked.files
        else [f'{EVERY} > "$work/files"']
    )
    return [
        SETTINGS,
        *([f"export {quoted(asked.assignments)}"] if asked.assignments else []),
        *heredoc("chosen", _chosen(asked)),
        *files,
        f'tr "\\n" "\\0" < "$work/files" | xargs -0 grep -HE {quoted([_DEFINED])} > "$work/defined"',
        _command(asked) + ' > "$work/events" 2> "$work/errors"',
        "ended=$?",
        'cat "$work/errors" "$work/events"',
        'awk -v module="$(go list -m)" -v chosen="$work/chosen" -f "$work/go_records.awk" '
        '"$work/defined" "$work/events" > "$work/record"',
        '(exit "$ended")',
    ]


def _command(asked: RunnerRequest) -> str:
    packages = sorted({f"./{posixpath.dirname(file)}".rstrip("/") or "." for file in asked.files})
    command = f"go test -json -count=1 -vet=off -timeout={TESTS_SECONDS}s {quoted(asked.words)}"
    tops = sorted({test.partition("::")[2].partition("/")[0] for test in asked.only})
    run = f" -run {quoted(['^(' + '|'.join(tops) + ')$'])}" if tops else ""
    return f"{command.rstrip()}{run} {quoted(packages or asked.places or ['./...'])}"


def _chosen(asked: RunnerRequest) -> str:
    """The ids as Go's JSON spells them, except `<`, `>` and `&`, which the program inside does not escape."""
    marked = [("-", test) for test in sorted(asked.excluded)] + [("+", test) for test in sorted(asked.only)]
    return "".join(f"{mark} {json.dumps(test, ensure_ascii=False)[1:-1]}\n" for mark, test in marked)


GO = Runner("go", "go", {"go_records.awk": text("go_records.awk")}, _go)
