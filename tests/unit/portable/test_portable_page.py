"""The readable page of an export: complete, escaped, and without anything from elsewhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from schemas import Correction, Model, PolicySkill, SlimSkill
from streams.rights.portable import Manifest
from streams.rights.portable.archive import TopicFile
from streams.rights.portable.page import page_of
from tests.builders import DOMAIN, NOW, a_contrast, a_skill, an_attribute

HOSTILE = "<script>alert(1)</script><img src=https://evil.example/x>\"'"


def an_export(folder: Path, **events: Model) -> Manifest:
    """A folder with one record per topic."""
    (folder / "topics").mkdir(parents=True)
    for base, event in events.items():
        line = json.dumps({"value": event.model_dump(mode="json")})
        (folder / "topics" / f"{base.replace('_', '-')}.jsonl").write_text(line + "\n")
    files = {base.replace("_", "-"): TopicFile(records=1, sha256="0" * 64, kept_days=30) for base in events}
    return Manifest(user_id="ann", prefix="sager.", exported_at=NOW, topics=files)


class Seen(HTMLParser):
    """The elements and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "action", "style")]


def test_the_page_has_learned_tastes_own_words_and_choices(tmp_path: Path) -> None:
    common = {"event_id": "1", "occurred_at": NOW, "user_id": "ann", "domain": DOMAIN}
    manifest = an_export(
        tmp_path,
        skills=a_skill(an_attribute("genre: noir")),
        slim_skills=SlimSkill.model_validate({**common, "skill_version": 1, "text": "likes: noir", "tokens": 3}),
        corrections=Correction.model_validate({**common, "text": "no horror, please"}),
        contrasts=a_contrast(),
    )

    text = re.sub(r"\s+", " ", page_of(tmp_path, manifest))

    assert "<h1>Everything held about ann</h1>" in text
    assert "<q>likes: noir</q>" in text
    assert "<td>noir</td><td>genre</td>" in text
    assert "<td>no horror, please</td>" in text
    assert "topics/contrasts</td><td>1</td><td>30 days</td>" in text
    assert text.count("<td>Choice</td>") == 0
    assert "Nothing." not in text


def test_the_page_shows_hostile_content_as_text_only(tmp_path: Path) -> None:
    skill = a_skill(an_attribute("genre: noir"))
    line = skill.attributes[0].model_copy(update={"value": HOSTILE[:100]})
    common = {"event_id": "1", "occurred_at": NOW, "user_id": "ann", "domain": DOMAIN}
    hostile = an_export(
        tmp_path,
        skills=PolicySkill.model_validate({**skill.model_dump(), "attributes": [line.model_dump()]}),
        corrections=Correction.model_validate({**common, "text": HOSTILE}),
    ).model_copy(update={"user_id": HOSTILE})

    text = page_of(tmp_path, hostile)

    seen = Seen(text)
    assert seen.tags.isdisjoint({"script", "img", "link", "iframe", "a", "form"})
    assert seen.addresses == []
    assert "default-src 'none'" in text
    assert "&lt;script&gt;alert(1)" in text
