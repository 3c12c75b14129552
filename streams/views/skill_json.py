"""A skill as commands and the HTTP API give it to people and programs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schemas import PolicySkill


def skill_to_json(skill: "PolicySkill") -> dict[str, Any]:
    """The skill as JSON, without what only a worker needs.

    Each line has its counts in words (`counted`), and `unwanted` if a statement silences it. Each statement has
    `doubtful`: whether the person's tastes have changed since.
    """
    from operators.learning.evidence import describe_counts, is_counted  # noqa: PLC0415
    from operators.stated import avoided_ids, is_doubtful, lasting_statements  # noqa: PLC0415

    silent = avoided_ids(lasting_statements(skill.stated))
    told = skill.model_dump(mode="json", exclude={"last_diff"})
    for line, each in zip(skill.attributes, told["attributes"], strict=True):
        each["counted"] = describe_counts(line.taken, line.expected) if is_counted(line) else ""
        each["unwanted"] = line.attribute_id in silent
    for said, each in zip(skill.stated, told.get("stated", ()), strict=True):
        each["doubtful"] = is_doubtful(skill, said)
    return told
