"""Parameters of paths and queries: typed, and read in one way only.

Paths are routed in their percent-encoded form, so that a `/` within an id stays within it; a parameter is decoded here.
"""

import re
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import BeforeValidator, Field

from schemas.fields import DomainField, UserIdField

_DIGITS = re.compile(r"-?[0-9]{1,9}")


def _decoded(value: Any) -> Any:
    return unquote(value, errors="strict") if isinstance(value, str) else value


def _number(value: Any) -> Any:
    """A number of a query. Its form is checked first, as pydantic also reads "1_0" and " 1 "."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


DECODED = BeforeValidator(_decoded)
"""For a path parameter of a type of its own."""

UserPath = Annotated[UserIdField, DECODED, Path(alias="user", description="The user's id, percent-encoded.")]
DomainPath = Annotated[DomainField, DECODED, Path(alias="domain", description="Such as `films`.")]
DomainQuery = Annotated[DomainField | None, Query(alias="domain", description="Only this domain.")]
UserQuery = Annotated[UserIdField | None, Query(description="Begin after this id.")]
Whole = Annotated[int, BeforeValidator(_number), Field(strict=True)]
"""A whole number of a query; its bounds are the route's."""
