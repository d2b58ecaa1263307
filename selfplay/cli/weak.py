"""`--weak`: how resolved but weakly assured grades are treated; the same for every command that grades."""

from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.conflicts import refuse

if TYPE_CHECKING:
    from selfplay.oracle.assurance import Weak

WeakOption = Annotated[
    str, typer.Option("--weak", help="Grades that are weakly assured: count them as resolved, or refuse them.")
]


def weak_chosen(word: str) -> "Weak":
    """The setting of that name. Raises `typer.BadParameter` for any other."""
    from selfplay.oracle.assurance import CHOICES

    found = next((one for one in CHOICES if one == word), None)
    refuse(found is None, "--weak", f"{word!r} is neither {' nor '.join(CHOICES)}")
    assert found is not None
    return found
