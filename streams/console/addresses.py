"""Addresses of pages. What a page is about is in the query, where no id can be mistaken for a part of the path."""

from typing import Any
from urllib.parse import urlencode

ROOT = "/console"


def address(path: str, **query: Any) -> str:
    """The address of a page.

    >>> address("/person", user="a/b", domain=None)
    '/console/person?user=a%2Fb'
    """
    asked = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{ROOT}{path}?{asked}" if asked else f"{ROOT}{path}"
