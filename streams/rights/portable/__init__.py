"""What is held about a person, as a folder that they can take with them, and such a folder taken in.

DIR/manifest.json            what is here, of which deployment, for how long it is kept there
DIR/topics/TOPIC.jsonl       one record a line, of each topic that has any of theirs
DIR/tables/TABLE.jsonl       the rows of the newest DuckDB snapshot, or TABLE.parquet
"""

from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.export import export
from streams.rights.portable.importing import Bundle, Imported, load, take_in
from streams.rights.portable.manifest import Manifest

__all__ = ["Bundle", "Imported", "Manifest", "NotPortable", "export", "load", "take_in"]
