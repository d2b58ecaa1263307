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


MOST_SCRIPTS, MOST_CHARACTERS = 200, 20_000
"""Of all scripts together."""


class Scripts:
    """The scripts of a `package.json`. In one question each is looked at once, however often the others name it: ten
    that name each other are otherwise a number of ways that grows with the power of their depth."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._known: dict[str, tuple[str, ...]] = {}
        self._commands: dict[str, list[list[str]]] = {}

    @property
    def too_many(self) -> bool:
        return len(self.texts) > MOST_SCRIPTS or sum(map(len, self.texts.values())) > MOST_CHARACTERS

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def commands(self, name: str) -> list[list[str]]:
        """The commands of the script of this name, each as its words."""
        if name not in self._commands:
            self._commands[name] = [*segments(self.text(name))]
        return self._commands[name]

    def all_compiling(self, name: str) -> tuple[str, ...]:
        """The commands in the script of this name that compile something."""
        if name not in self._known:
            found = map(self.compiling, self.commands(name))
            self._known[name] = tuple(command for commands in found for command in commands)
        return self._known[name]

    def compiling(self, words: list[str]) -> tuple[str, ...]:
        """The command in these words, as a shell reads it, if it compiles something; else empty."""
        if not self._compiles(words, set()) or any(SHELLS & {*word} for word in words if ":*" not in word):
            return ()
        if words[0] in MANAGERS[1:]:
            return (shlex.join(["npm", "run", *named(words)]),)
        return (shlex.join(words),)

    def _compiles(self, words: list[str], seen: set[str]) -> bool:
        called = {posixpath.basename(word) for word in words}
        if called & CHECKING:
            return False
        if called & COMPILERS and ("vite" not in called or "build" in words):
            return True
        new = [key for name in named(words) for key in self.texts if key not in seen and fnmatchcase(key, name)]
        seen.update(new)
        return any(self._compiles(one, seen) for key in new for one in self.commands(key))


def named(words: list[str]) -> list[str]:
    """The scripts that `npm run NAME`, `run-s NAME...` and similar commands run."""
    if words[:1] in (["run-s"], ["npm-run-all"], ["run-p"]):
        return [word for word in words[1:] if not word.startswith("-")]
    if words[:1] and words[0] in MANAGERS:
        rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")]
        return ["test" if word == "t" else word for word in rest[:1]]
    return []
