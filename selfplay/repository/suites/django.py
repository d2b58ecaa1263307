"""Django projects whose tests run by `manage.py test`: pytest-django runs the same tests with manage.py's settings.

In this way they are measured, traced and graded like all others; a run of `manage.py test` could not be.
"""

import re
from collections.abc import Iterator, Sequence

from selfplay.repository.suites.pytest_suite import ATTEMPTS, render_script

PLUGIN = "pytest-django"
INSTALLED = f"{PLUGIN} was installed for the tests of manage.py"
"""The beginning of the note of an environment whose tests run so."""
MOST_BYTES = 64 * 1024
_SETTINGS = re.compile(rb"DJANGO_SETTINGS_MODULE['\"], {0,4}['\"]([A-Za-z_][\w.]{0,200})['\"]")


def settings_in(manage: bytes) -> str:
    """The settings module that a `manage.py` names; empty if it names none."""
    found = _SETTINGS.search(manage[:MOST_BYTES])
    return found[1].decode("ascii", "replace") if found else ""


def collecting(options: Sequence[str] = (), places: Sequence[str] = ()) -> str:
    """The script that only collects the tests, of all files or in these places."""
    return render_script((), options=(*options, "--collect-only", *places))


def collections(settings: str, pattern: str = "", *, first: bool = False) -> Iterator[tuple[str, ...]]:
    """pytest's options, in the order in which they are tried.

    `settings`: a Django project's settings module, empty for others; tried last, or `first`. `pattern`: of the files'
    names."""
    plain = [(*options, *(("-o", f"python_files={pattern}") if pattern else ())) for options in ATTEMPTS]
    own = [(*options, f"--ds={settings}") for options in plain[2:]] if settings else []
    yield from (*own, *plain) if first else (*plain, *own)
