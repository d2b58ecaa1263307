"""A framework's runner: a name, the programs that its script contains, and the lines that call it."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from selfplay.repository.suites.script_frame import heredoc


@dataclass(frozen=True)
class RunnerRequest:
    """What one script should run. `files`: test files; empty if `places`, or the framework itself, choose them.

    `options`: words of the framework's command line, which may begin with assignments (`NAME=value`). Tests in
    `excluded` are not recorded; with `only`, just those are. `before`: commands that compile the tested code.
    """

    files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def assignments(self) -> tuple[str, ...]:
        return self.options[: self._assigned()]

    @property
    def words(self) -> tuple[str, ...]:
        """The options, without the assignments."""
        return self.options[self._assigned() :]

    def _assigned(self) -> int:
        return next((at for at, word in enumerate(self.options) if not is_assignment(word)), len(self.options))

    def selection(self) -> str:
        """The selection, in the form that the programs inside read."""
        return json.dumps(
            {"files": sorted(self.files), "excluded": sorted(self.excluded), "only": sorted(self.only)}, indent=0
        )


@dataclass(frozen=True)
class Runner:
    """A framework. `programs`: name -> text of a file that the script writes into its folder; `call`: the lines that
    run the framework, the last of which sets the exit status. `ignoring`: the option that leaves out a file, for
    frameworks where one unloadable file ends the whole run."""

    name: str
    language: str
    programs: dict[str, str]
    call: Callable[[RunnerRequest], Sequence[str]]
    ignoring: str = ""

    def lines(self, asked: RunnerRequest) -> list[str]:
        """This framework's part of the script."""
        written = [line for name, text in self.programs.items() for line in heredoc(name, text)]
        return [*written, *heredoc("selection.json", asked.selection()), *self.call(asked)]


@dataclass(frozen=True)
class RunnerCall:
    """How a repository calls its framework. `places`: the files, folders and patterns it names. `before`: commands that
    compile the tested code (`compiling.py`)."""

    runner: Runner
    options: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


def is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def quoted(words: Sequence[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)
