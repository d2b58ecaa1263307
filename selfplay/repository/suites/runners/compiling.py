"""Finds what a JavaScript repository compiles before its tests: each script compiles it again, since a bug may be in
it."""

import posixpath
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase

from selfplay.repository.suites.runners.command_line import segments

COMPILERS = frozenset(
    ["tsc", "babel", "rollup", "webpack", "esbuild", "swc", "tsup", "tshy", "unbuild", "microbundle", "bunchee", "vite"]
)
CHECKING = frozenset(["--noEmit", "-w", "--watch", "--version", "--help"])
"""Options with which a compiler writes nothing, or does not exit."""
MANAGERS = ("npm", "yarn", "pnpm", "bun")
SHELLS = frozenset("<>$`*?(){}~")
"""Characters that a shell interprets. A command with such a word is left out: quoted, it would mean something else."""


def compiling(words: list[str], scripts: Mapping[str, str], deep: int) -> tuple[str, ...]:
    """The command in these words, as a shell reads it, if it compiles something; else empty."""
    if not _compiles(words, scripts, deep) or any(SHELLS & {*word} for word in words if ":*" not in word):
        return ()
    if words[0] in MANAGERS[1:]:
        return (shlex.join(["npm", "run", *named(words)]),)
    return (shlex.join(words),)


def _compiles(words: list[str], scripts: Mapping[str, str], deep: int) -> bool:
    called = {posixpath.basename(word) for word in words}
    if called & CHECKING:
        return False
    if called & COMPILERS and ("vite" not in called or "build" in words):
        return True
    inner = [text for name in (named(words) if deep else ()) for key, text in scripts.items() if fnmatchcase(key, name)]
    return any(_compiles(one, scripts, deep - 1) for text in inner for one in segments(text))


def named(words: list[str]) -> list[str]:
    """The scripts that `npm run NAME`, `run-s NAME...` and similar commands run."""
    if words[:1] in (["run-s"], ["npm-run-all"], ["run-p"]):
        return [word for word in words[1:] if not word.startswith("-")]
    if words[:1] and words[0] in MANAGERS:
        rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")]
        return ["test" if word == "t" else word for word in rest[:1]]
    return []
