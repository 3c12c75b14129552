"""How large bodies may be, by path."""

import re

from streams.http.tokens import Scope

BODY_BYTES = 16 * 1024
"""Maximum size of a request body; a command takes a few hundred bytes."""
MIB = 1024 * 1024
LARGER = (
    (re.compile(rb"/v1/events(?:/lint)?|/v1/rank"), MIB, frozenset({Scope.PRODUCE})),
    (re.compile(rb"/v1/users/[^/]+/domains/[^/]+/corrections"), MIB, frozenset({Scope.CHANGE_USER})),
    (re.compile(rb"/v1/users/[^/]+/import"), 16 * MIB, frozenset({Scope.CHANGE_USER})),
    (re.compile(rb"/mcp"), MIB, frozenset(Scope)),
)
"""Paths that take more, how much, and from tokens with which scopes: a stranger fills no memory."""
