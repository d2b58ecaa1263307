"""Bounds of the numeric options of a policy; pydantic refuses other values when options are read."""

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1)]
Times = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
