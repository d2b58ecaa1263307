"""Options as a user types them, NAME=VALUE, as typed values; and what is wrong with a value, in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from selfplay.errors import SelfplayError
from selfplay.formatting import count, shortened

WORDS = {
    "int": "a whole number is needed",
    "float": "a number is needed",
    "finite_number": "a finite number is needed",
    "bool": "true or false is needed",
    "string": "a text is needed",
    "string_too_long": "at most {max_length} characters are needed",
    "string_too_short": "at least {min_length} characters are needed",
    "string_pattern_mismatch": "a text of the form {pattern} is needed",
    "path": "a path is needed",
    "dict": "{table}",
    "mapping": "{table}",
    "model": "{table}",
    "dataclass": "{table}",
    "list": "a list is needed",
    "tuple": "a list is needed",
    "too_long": "a length of at most {max_length} is needed",
    "too_short": "a length of at least {min_length} is needed",
    "none": "null is needed",
    "literal": "{expected} is needed",
    "greater_than_equal": "at least {ge} is needed",
    "greater_than": "more than {gt} is needed",
    "less_than_equal": "at most {le} is needed",
    "less_than": "less than {lt} is needed",
}
"""What a value must be, by the beginning of pydantic's name for the error; the longest beginning counts."""
LONGEST = 1000
"""Characters of a value that are looked at for a message."""
TABLE = "settings are needed (NAME: VALUE)"
MISSED = ("missing", "missing_argument")


def fault(error: ValidationError, value: object, table: str = TABLE) -> tuple[str, str]:
    """The place of the first error in `value`, as `a.b`, and what is wrong there, in our words: pydantic's never reach
    a reader. `table`: what is said where names with values are needed."""
    found = [(_place(one["loc"], value, one["type"] in MISSED), one) for one in error.errors(include_url=False)]
    place, first = max((one for one in found if one[0][:1] == found[0][0][:1]), key=lambda one: len(one[0]))
    return ".".join(place), _said(
        first["type"], first["msg"], {**first.get("ctx", {}), "table": table}, first.get("input")
    )


def _said(kind: str, message: str, context: Mapping[str, Any], value: object) -> str:
    if kind in MISSED:
        return "it is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "there is no such setting"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    known = [name for name in WORDS if kind == name or kind.startswith(f"{name}_")]
    said = WORDS[max(known, key=len)].format(**context) if known else "another value is needed"
    return f"{said}, not {_shown(value)}"


def _place(parts: Sequence[int | str], value: object, missed: bool) -> list[str]:
    """The parts of a place that the user wrote; pydantic adds the name of each kind of value that it tried."""
    place = []
    for at, part in enumerate(parts):
        if isinstance(value, Mapping) and (part in value or (missed and at == len(parts) - 1)):
            place.append(str(part))
            value = value.get(part)
        elif isinstance(value, list | tuple) and isinstance(part, int):
            place.append(str(part))
            value = value[part] if part < len(value) else None
    return place


def _shown(value: object) -> str:
    """A value for a message, as a user wrote it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping | list | tuple):
        return f"{'a list' if isinstance(value, list | tuple) else 'a table'} of {count(len(value), 'value')}"
    return shortened(repr(value[:LONGEST] if isinstance(value, str | bytes) else value))


def not_finite(options: Any) -> list[str]:
    """The names of a dataclass's fields that are infinite or NaN."""
    found = {field.name: getattr(options, field.name) for field in fields(options)}
    return [name for name, value in found.items() if isinstance(value, float) and not math.isfinite(value)]


def read_options(
    options: Mapping[str, str], *kinds: type[Any], refusal: type[SelfplayError] = SelfplayError, under: str = ""
) -> list[Any]:
    """Read `options` as one value of each of `kinds` (dataclasses with defaults). `under`: the setting that they are
    below, for messages. Raises `refusal`."""
    known = {field.name: kind for kind in kinds for field in fields(kind)}
    assert len(known) == sum(len(fields(kind)) for kind in kinds), "two options of one name"
    for name in options:
        if name not in known:
            said = f"setting {f'{under}.{name}'!r}" if under else f"option {name!r}"
            raise refusal(f"there is no {said}", f"The options are: {', '.join(sorted(known))}.")
    values = []
    for kind in kinds:
        mine = {name: value for name, value in options.items() if known[name] is kind}
        try:
            values.append(TypeAdapter(kind).validate_python(mine))
        except ValidationError as error:
            name, what = fault(error, mine)
            said = f"{under}.{name}" if under else f"the option {name}"
            raise refusal(f"{said}: {what}", _default(kind, name)) from error
    return values


def _default(kind: type[Any], name: str) -> str:
    """The hint that tells an option's default, if it is a plain one."""
    value = next((field.default for field in fields(kind) if field.name == name), MISSING)
    return "" if value is MISSING or value is None else f"Without it, it is {_shown(value)}."
