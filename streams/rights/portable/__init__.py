"""Exports everything held about a person to a portable folder, and imports such a folder.

DIR/index.html               a readable page of the main things, for the person
DIR/manifest.json            what it holds, from which deployment, and how long that keeps it
DIR/topics/TOPIC.jsonl       one record per line, for each topic with records of theirs
DIR/tables/TABLE.jsonl       the rows of the newest DuckDB snapshot, or TABLE.parquet
"""

from streams.rights.portable.archive import pack, unpack
from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.export import export
from streams.rights.portable.importing import Bundle, Imported, Order, interactions_of, load, take_in
from streams.rights.portable.manifest import Manifest
from streams.rights.portable.said import statements_of

__all__ = [
    "Bundle",
    "Imported",
    "Manifest",
    "NotPortable",
    "Order",
    "export",
    "interactions_of",
    "load",
    "pack",
    "statements_of",
    "take_in",
    "unpack",
]
