"""What the roles are told: strict-undefined Jinja templates, written from the constraints of SSR (sections 2 to 6).

A template that lacks a variable fails; it never says "undefined" to a model. `tools.j2` is the one text
about the call format, `observation.j2` and `malformed.j2` what a model reads after a turn.
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

    Raises `jinja2.UndefinedError` for a variable that is missing, `jinja2.TemplateNotFound` for a name that is.
    """
    return _template(name).render(variables).strip()
