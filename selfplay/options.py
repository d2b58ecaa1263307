"""Options as a user types them, NAME=VALUE, as typed values."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from selfplay.errors import SelfplayError


def not_finite(options: Any) -> list[str]:
    """The names of a dataclass's fields that are infinite or NaN."""
    found = {field.name: getattr(options, field.name) for field in fields(options)}
    return [name for name, value in found.items() if isinstance(value, float) and not math.isfinite(value)]


def read_options(
    options: Mapping[str, str], *kinds: type[Any], refusal: type[SelfplayError] = SelfplayError
) -> list[Any]:
    """Read `options` as one value of each of `kinds` (dataclasses with defaults). Raises `refusal`."""
    known = {field.name: kind for kind in kinds for field in fields(kind)}
    assert len(known) == sum(len(fields(kind)) for kind in kinds), "two options of one name"
    strange = [name for name in options if name not in known]
    if strange:
        raise refusal(f"there is no option {strange[0]!r}", f"The options are: {', '.join(sorted(known))}.")
    values = []
    for kind in kinds:
        mine = {name: value for name, value in options.items() if known[name] is kind}
        try:
            values.append(TypeAdapter(kind).validate_python(mine))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise refusal(f"the option {where}: {first['msg']}, not {first['input']!r}") from error
    return values
