"""The base class of every section of a training run's configuration."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveInt = Annotated[int, Field(ge=1)]


class ConfigSection(BaseModel):
    """A section of the configuration: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
