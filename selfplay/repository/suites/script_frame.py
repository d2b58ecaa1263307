"""The common frame of all test scripts: the folder they work in, the records and the end mark they print."""

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
    """A whole script around the lines that run the tests and set the exit status."""
    return "\n".join((*HEAD, *lines, *TAIL)) + "\n"


def heredoc(name: str, content: str) -> list[str]:
    """Lines that write a file into the script's folder. If the helper program is killed, the script exits with 137:
    without the file the run would report wrong outcomes."""
    return [f"cat > \"$work/{name}\" <<'SELFPLAY_EOF' || exit 137", content.rstrip("\n"), "SELFPLAY_EOF"]


def chosen(files: Sequence[str]) -> list[str]:
    """Lines that fill the array `chosen` with the files that exist, at least one."""
    return [
        "chosen=()",
        "while IFS= read -r -d '' file; do [ -e \"$file\" ] && chosen+=(\"$file\"); done < <(printf '%s\\0' \\",
        *(f"  {shlex.quote(file)} \\" for file in files[:-1]),
        f"  {shlex.quote(files[-1])})",
        '[ ${#chosen[@]} -gt 0 ] || { echo "no chosen test file is left"; exit 98; }',
    ]
