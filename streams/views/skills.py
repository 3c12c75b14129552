"""A skill as JSON, and its log in a snapshot."""

from typing import TYPE_CHECKING, Any

from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import PolicySkill, SkillDiff

NEAREST = 5  # names to suggest


class UnknownUser(StreamsError, LookupError):
    """The snapshot has no skill of this user."""


def read_log(con: "DuckDBPyConnection", user: str, domain: str | None) -> "list[SkillDiff]":
    """Return the user's diffs, by domain and version."""
    from streams.analytics import read  # noqa: PLC0415

    diffs = read.diffs(con, user, domain)
    if not diffs:
        raise UnknownUser(why_no_skill(con, user, domain))
    return diffs


def why_no_skill(con: "DuckDBPyConnection", user: str, domain: str | None) -> str:
    """Return why there is no skill, and what to try."""
    domains = [name for (name,) in con.execute("SELECT domain FROM skills WHERE user_id = $1", [user]).fetchall()]
    if domains:
        return f"{user!r} has no skill in the domain {domain!r}, but in {', '.join(sorted(domains))}"
    [(past,)] = con.execute("SELECT count(*) FROM interactions WHERE user_id = $1", [user]).fetchall()
    if past:
        return (
            f"{user!r} has {past} interactions but no skill yet: one starts with the first selection from a ranking. "
            "If there was one just now, the snapshot is some seconds behind"
        )
    nearest = nearest_users(con, user)
    if not nearest:
        return "no user has a skill yet: one starts with the first selection from a ranking. `sager demo` shows how"
    return f"there is no user {user!r}. The nearest ids: {', '.join(nearest)}"


def nearest_users(con: "DuckDBPyConnection", user: str) -> list[str]:
    """Return the ids in the snapshot with the most similar spelling."""
    query = (
        "SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM interactions) WHERE user_id <> $1 "
        "ORDER BY jaro_winkler_similarity(user_id, $1) DESC, user_id LIMIT $2"
    )
    return [name for (name,) in con.execute(query, [user, NEAREST]).fetchall()]


def skill_to_json(skill: "PolicySkill") -> dict[str, Any]:
    """Return a skill as JSON, without the fields of workers.

    Added: each line's counts and proof in words (`counted`), and `unwanted` if a statement silences it; `doubtful` for
    statements from before a change of taste.
    """
    from operators.learning.evidence import describe_counts, describe_proof, is_counted  # noqa: PLC0415
    from operators.stated import avoided_ids, is_doubtful, lasting_statements  # noqa: PLC0415

    silent = avoided_ids(lasting_statements(skill.stated))
    found = skill.model_dump(mode="json", exclude={"last_diff"})
    for line, each in zip(skill.attributes, found["attributes"], strict=True):
        counts = describe_counts(line.taken, line.expected) if is_counted(line) else ""
        each["counted"] = "; ".join(filter(None, (counts, describe_proof(line.proof))))
        each["unwanted"] = line.attribute_id in silent
    for statement, each in zip(skill.stated, found.get("stated", ()), strict=True):
        each["doubtful"] = is_doubtful(skill, statement)
    return found
