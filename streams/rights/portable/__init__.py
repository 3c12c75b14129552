"""Exports everything held about a person to one file, and imports such a file."""

from streams.rights.portable.export import Exported, Header, export
from streams.rights.portable.importing import (
    Bundle,
    Imported,
    NotPortable,
    Order,
    SkillCame,
    load,
    statements_of,
    take_in,
)

__all__ = [
    "Bundle",
    "Exported",
    "Header",
    "Imported",
    "NotPortable",
    "Order",
    "SkillCame",
    "export",
    "load",
    "statements_of",
    "take_in",
]
