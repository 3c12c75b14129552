"""Takes out of a file what an older release, or an older privacy filter, has let in: the values of refused commands."""

import duckdb

from operators.privacy import Privacy
from streams.materializer.private import kind_in_line, kind_in_value, withheld

_REFUSED = """
    UPDATE skill_commands SET value = refused.attribute_id
    FROM (SELECT DISTINCT user_id, event_id, attribute_id FROM skill_refusals WHERE why = 'private') AS refused
    WHERE refused.user_id = skill_commands.user_id AND refused.event_id = skill_commands.event_id
      AND starts_with(refused.attribute_id, 'private:')
      AND value IS NOT NULL AND NOT starts_with(value, 'private:')
"""
"""The log says which values were refused, and as what."""
_KEPT = (
    "SELECT DISTINCT domain, attribute_id, value FROM skill_commands WHERE coalesce(attribute_id, value) IS NOT NULL"
)
_CLEANED = """
    UPDATE skill_commands SET attribute_id = $4, value = $5
    WHERE domain = $1 AND attribute_id IS NOT DISTINCT FROM $2 AND value IS NOT DISTINCT FROM $3
"""


def clean(con: duckdb.DuckDBPyConnection, privacy: Privacy) -> int:
    """Put the kind of what is private in the place of the value, inside the caller's transaction; in how many rows.

    Once for each filter: a mark in `meta` says which one has looked. What came later was filtered as it came.

    Args:
        con: the live file.
        privacy: what may be kept; a filter that is switched off takes nothing out.
    """
    if not privacy.on or con.execute("SELECT cleaned_by FROM meta").fetchall() == [(privacy.version,)]:
        return 0
    [(rows,)] = con.execute(_REFUSED).fetchall()
    for domain, name, value in con.execute(_KEPT).fetchall():
        in_line = kind_in_line(privacy, domain, name or "")
        in_value = kind_in_value(privacy, domain, name or "", value) if value is not None else None
        if in_line is None and in_value is None:
            continue
        kept = (name if in_line is None else withheld(in_line), value if in_value is None else withheld(in_value))
        [(count,)] = con.execute(_CLEANED, [domain, name, value, *kept]).fetchall()
        rows += count
    con.execute("UPDATE meta SET cleaned_by = ?", [privacy.version])
    return int(rows)
