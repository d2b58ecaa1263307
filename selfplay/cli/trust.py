"""Asks the user once, on a terminal, to allow what a shared run wants beyond a build in a sandbox."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.plain_text import told

if TYPE_CHECKING:
    from selfplay.curriculum.trust import Wish

TrustOption = Annotated[
    bool, typer.Option("--trust", help="Allow what the run wants to run or fetch: its setup command, its source.")
]


def trusted(path: Path, trust: bool) -> bool:
    """Whether all that a run wants is allowed (`--trust`). Else, on a terminal, each wish of the bugs at `path` is
    shown and asked for, and a yes remembered; the command refuses what is not allowed. Raises `SelfplayError`."""
    if trust or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return trust
    from selfplay.artifact import ArtifactError
    from selfplay.curriculum.stored_bugs import bug_folders, wishes_of
    from selfplay.curriculum.trust import allow, require, unsettled

    for folder in bug_folders(path):
        try:
            wanted = unsettled(wishes_of(folder))
        except ArtifactError:
            continue  # the command says what is wrong with this bug
        for wish in wanted:
            if not (wish.shown_whole and asked(wish)):  # a yes to a part would be one to the rest
                require([wish], trust=False)
            allow(wish)
    return False  # each is asked for again where it is needed: a yes to one is none to another


def asked(wish: "Wish") -> bool:
    """Whether the user says yes."""
    print(f"selfplay: {told(wish.words())}", file=sys.stderr)
    return typer.confirm("Allow it, now and later?", default=False, err=True)
