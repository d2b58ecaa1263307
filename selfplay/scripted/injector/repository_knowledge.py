"""What the scripted injector learns about a repository before its first episode, by language."""

from dataclasses import replace

from selfplay.formatting import Say, count, shortened
from selfplay.repository import Prepared, Suite
from selfplay.repository.copies import copies_of
from selfplay.sandbox import Backend
from selfplay.scripted.injector.sources import Sources, read_sources
from selfplay.scripted.injector.survey import Survey, survey_of
from selfplay.syntax.grammar import FAMILIES

LANGUAGES = ("python", *FAMILIES)
"""The languages in which the scripted injector can plant a bug."""


def known_of(
    prepared: Prepared,
    suite: Suite,
    backend: Backend,
    say: Say = lambda line: None,
) -> Survey | Sources:
    """The survey of a Python repository; the sources of another. Raises as `survey_of`."""
    copies = copies_of(prepared, backend, runs=True)
    if copies.places:
        say(f"{copies.places[0]!a} seems to be another copy of the project: what it tells is no bug")
    if prepared.language == "python":
        return replace(survey_of(prepared, suite, backend, say=say), copies=copies)
    sources = replace(read_sources(prepared.tree, prepared.language), copies=copies)
    if sources.unparsed:
        path, why = min(sources.unparsed.items())
        files = count(len(sources.unparsed), "file of code or tests", "files of code or tests")
        say(f"not read: {files} that cannot be parsed, first {shortened(ascii(path))}: {why}")
    return sources
