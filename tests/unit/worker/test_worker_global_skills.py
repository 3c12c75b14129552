"""What a worker makes of a global skill's record, which anybody who can write to the topic can make."""

from schemas import AttributeSource, GlobalSkill, Tier, encode
from streams.settings import Settings
from streams.worker.reasoning.domains import GlobalSkills
from tests.builders import a_time, an_attribute


def record(domain: str = "films") -> bytes:
    line = an_attribute("genre: sponsored", Tier.HIGH, AttributeSource.PRIOR, support=99, pinned=True)
    return encode(
        GlobalSkill(event_id="g", occurred_at=a_time(), domain=domain, users=9, attributes=(line,), shares={"a:b": 0.5})
    )


def held(key: bytes, value: bytes | None) -> GlobalSkills:
    skills = GlobalSkills(Settings())
    skills.take(key, value)
    return skills


def test_a_record_under_another_domains_key_and_a_broken_one_are_passed_over() -> None:
    assert held(b"books", record("films")).template("books") == ()
    assert held(b"films", b"{not json").template("films") == ()


def test_a_tombstone_ends_it() -> None:
    skills = held(b"films", record())
    assert skills.shares("films") == {"a:b": 0.5}

    skills.take(b"films", None)

    assert (skills.template("films"), skills.shares("films")) == ((), {})
