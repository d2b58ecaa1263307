"""The prompts of the roles: strict-undefined Jinja templates, written from the constraints of SSR (sections 2 to 6).

A missing variable is an error; a model never reads "undefined". Only `tools.j2` explains the call format;
`observation.j2` and `malformed.j2` are what a model reads after a turn.
"""

from functools import cache
from typing import Any

import jinja2


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, package_path=""),
        auto_reload=False,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # plain text for a model: nothing here is markup
    )


@cache
def _template(name: str) -> jinja2.Template:
    return _environment().get_template(f"{name}.j2")


def render(name: str, **variables: Any) -> str:
    """The template `name` (`solver`, `staged/plant`, ...) with these variables, without outer blank lines.

    Raises `jinja2.UndefinedError` for a missing variable, `jinja2.TemplateNotFound` for an unknown name.
    """
    return _template(name).render(variables).strip()
