"""Django projects whose tests run by `manage.py test`: pytest-django runs the same tests with manage.py's settings.

In this way they are measured, traced and graded like all others; a run of `manage.py test` could not be.
"""

import re
from collections.abc import Iterator

from selfplay.repository.suites.pytest_suite import ATTEMPTS, render_script

PLUGIN = "pytest-django"
MOST_BYTES = 64 * 1024
_SETTINGS = re.compile(rb"DJANGO_SETTINGS_MODULE['\"], {0,4}['\"]([A-Za-z_][\w.]{0,200})['\"]")


def settings_in(manage: bytes) -> str:
    """The settings module that a `manage.py` names; empty if it names none."""
    found = _SETTINGS.search(manage[:MOST_BYTES])
    return found[1].decode("ascii", "replace") if found else ""


def collections(settings: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """pytest's options, and the script that collects the tests with them, in the order in which they are tried; the
    last pairs are for Django projects. `settings`: their settings module, empty for other projects."""
    own = [(*options, f"--ds={settings}") for options in ATTEMPTS[2:]] if settings else []
    for options in (*ATTEMPTS, *own):
        yield options, render_script((), options=(*options, "--collect-only"))
