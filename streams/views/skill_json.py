"""A skill as JSON, for the command line and the HTTP API."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schemas import PolicySkill


def skill_to_json(skill: "PolicySkill") -> dict[str, Any]:
    """Return a skill as JSON, without the fields of workers.

    Added: each line's counts in words (`counted`), and `unwanted` if a statement silences it; `doubtful` for statements
    from before a change of taste.
    """
    from operators.learning.evidence import describe_counts, is_counted  # noqa: PLC0415
    from operators.stated import avoided_ids, is_doubtful, lasting_statements  # noqa: PLC0415

    silent = avoided_ids(lasting_statements(skill.stated))
    found = skill.model_dump(mode="json", exclude={"last_diff"})
    for line, each in zip(skill.attributes, found["attributes"], strict=True):
        each["counted"] = describe_counts(line.taken, line.expected) if is_counted(line) else ""
        each["unwanted"] = line.attribute_id in silent
    for statement, each in zip(skill.stated, found.get("stated", ()), strict=True):
        each["doubtful"] = is_doubtful(skill, statement)
    return found
