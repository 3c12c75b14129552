"""What tells who a person is, by finders that each yield spans of a text, in bounded time.

The text is as `reading.line` gives it. Where a hostile text holds more numbers than are worth a look, what is left
of them counts as found: a filter that gives up must not let through.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from operators.privacy import (
    contacts,
    devices,
    labelled,
    minors,
    numbered,
    papers,
    persons,
    residents,
    secrets,
    streets,
)
from operators.privacy.digits import Span

Finder = Callable[[str], Iterator[Span]]

_OF_ANYTHING: Final[tuple[tuple[str, Finder], ...]] = (
    ("secret", secrets.secrets),
    ("e-mail", contacts.emails),
    ("handle", contacts.handles),
    ("wallet", devices.wallets),
    ("device", devices.hardware),
    (numbered.IBAN, partial(numbered.numbered, numbered.IBAN)),
    (numbered.CARD, partial(numbered.numbered, numbered.CARD)),
    ("phone", contacts.phones),
    (numbered.DEVICE, partial(numbered.numbered, numbered.DEVICE)),
    (numbered.ID, partial(numbered.numbered, numbered.ID)),
    (numbered.ID, labelled.ids),
    ("coordinates", devices.points),
    ("address", streets.addresses),
)
_OF_PEOPLE: Final[tuple[tuple[str, Finder], ...]] = (
    ("birth", persons.births),
    ("ip", devices.networks),
    (numbered.ID, papers.near_papers),
    ("plate", labelled.plates),
    ("minor", minors.minors),
    ("name", residents.residents),
    ("name", persons.names),
)

IN_WORKS: Final = _OF_ANYTHING
"""What is looked for in titles and descriptions: a work may be called "My Name Is Earl" and bear a date."""
FINDERS: Final = (*_OF_ANYTHING[:3], *_OF_PEOPLE[:2], *_OF_ANYTHING[3:], *_OF_PEOPLE[2:])
"""In the order in which they have their say: a key may hold what looks like a number."""
