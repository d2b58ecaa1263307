"""The frame of every test script: what it writes down, the folder it works in, the records and the end it prints."""

import shlex
from collections.abc import Sequence

HEAD = (
    "#!/usr/bin/env bash",
    "# Runs the chosen tests from the repository root; one JSON line per test at the end of the output.",
    "set -u",
    "work=$(mktemp -d) || exit $(($? == 137 ? 137 : 97)); trap 'rm -rf \"$work\"' EXIT",
)
TAIL = (
    "status=$?",
    'printf "\\n"; cat "$work/record" 2>/dev/null; [ $? -ne 137 ] || exit 137',
    'printf "\\nSELFPLAY-END exit=%d\\n" "$status"',
    'exit "$status"',
)


def framed(lines: Sequence[str]) -> str:
    """A whole script around the lines that run the tests and leave their exit status."""
    return "\n".join((*HEAD, *lines, *TAIL)) + "\n"


def heredoc(name: str, content: str) -> list[str]:
    """Lines that write a file into the script's folder. A helper that is killed ends the script as killed (137):
    without its file the run would say what is not so."""
    return [f"cat > \"$work/{name}\" <<'SELFPLAY_EOF' || exit 137", content.rstrip("\n"), "SELFPLAY_EOF"]


def chosen(files: Sequence[str]) -> list[str]:
    """Lines that fill the array `chosen` with those of the files that exist, of which there must be one."""
    return [
        "chosen=()",
        "while IFS= read -r -d '' file; do [ -e \"$file\" ] && chosen+=(\"$file\"); done < <(printf '%s\\0' \\",
        *(f"  {shlex.quote(file)} \\" for file in files[:-1]),
        f"  {shlex.quote(files[-1])})",
        '[ ${#chosen[@]} -gt 0 ] || { echo "no chosen test file is left"; exit 98; }',
    ]
