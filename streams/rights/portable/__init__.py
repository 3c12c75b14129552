"""Exports everything held about a person to a portable folder, and imports such a folder.

DIR/index.html               a readable page of the main things, for the person
DIR/manifest.json            the files, their deployment, and how long it keeps such records
DIR/topics/TOPIC.jsonl       one record per line, for each topic with records of theirs
DIR/tables/TABLE.jsonl       the rows of the newest DuckDB snapshot
"""

from streams.rights.portable.archive import Manifest, NotPortable, pack, unpack
from streams.rights.portable.export import export
from streams.rights.portable.importing import (
    Bundle,
    Imported,
    Order,
    SkillCame,
    interactions_of,
    load,
    statements_of,
    take_in,
)

__all__ = [
    "Bundle",
    "Imported",
    "Manifest",
    "NotPortable",
    "Order",
    "SkillCame",
    "export",
    "interactions_of",
    "load",
    "pack",
    "statements_of",
    "take_in",
    "unpack",
]
