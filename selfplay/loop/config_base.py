"""The base class of every section of a training run's configuration, and its kinds of values."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveInt = Annotated[int, Field(ge=1)]


def _refuse_empty(written: str) -> str:
    if not written.strip():
        raise ValueError("it is empty: give it a value, or leave it out if it has a default")
    return written


Text = Annotated[str, AfterValidator(_refuse_empty)]
"""A text with something in it: an empty path or command would be one like any other."""


class ConfigSection(BaseModel):
    """A section of the configuration: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
