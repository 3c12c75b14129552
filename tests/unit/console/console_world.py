"""A snapshot of people, items and words that are all meant to harm whoever looks at them in a browser."""

import re
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlencode

from operators.cards.fold import apply_diff
from operators.learning.fold import initial_skill, merge
from schemas import Card, CardChange, CardChangeKind, CardDiff, CardLine, Contrast, Event, NotKept
from schemas.diffs import PolicySkill, SkillChange, SkillChangeKind, SkillDiff
from schemas.skills import Attribute, AttributeKind, AttributeSource, Evidence, Tier
from schemas.statements import Stance, Statement, StatementChange, StatementChangeKind
from tests.builders import NOW, a_contrast
from tests.unit.http.http_world import Reply, Served, snapshot

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "../../../etc/passwd?user=bob&x=#",
    "*<b>stars</b>*",
    "\u202eevil\u202c",
    "Ünïcödé 漢字 🎬 " + "x" * 60,
)
"""Texts in several scripts; none has a control character, which no schema lets through."""
DOMAIN = "films"
USERS = (*HOSTILE, "..", ".", "%2e%2e", "a/b", "a?b=c&d#e", " ", "ann")


def _line(text: str, number: int) -> Attribute:
    return Attribute(
        attribute_id=f"preference:x:{number}{text[:40]}",
        kind=AttributeKind.PREFERENCE,
        dimension=text[:40],
        value=text,
        tier=Tier.HIGH,
        source=AttributeSource.DISCOVERED,
        taken=4_000,
        expected=1_000,
        support=3,
    )


def person(user: str, domain: str) -> tuple[PolicySkill, list[SkillDiff], Contrast]:
    """A skill whose every word is hostile, its log, and the choice that it came of."""
    lines = [_line(text, number) for number, text in enumerate(HOSTILE)]
    contrast = a_contrast(user_id=user, domain=domain)
    said = Statement(
        statement_id="avoids:x:" + HOSTILE[0],
        stance=Stance.AVOIDS,
        attribute_id="preference:x:" + HOSTILE[0],
        dimension="genre",
        value=HOSTILE[1],
        words=HOSTILE[0],
        stated_at=NOW,
        evidence=Evidence(event_id="e"),
    )
    diff = SkillDiff(
        event_id=contrast.event_id,
        occurred_at=NOW,
        user_id=user,
        domain=domain,
        base_version=0,
        version=1,
        seed=(),
        changes=tuple(
            SkillChange(
                kind=SkillChangeKind.DISCOVERED,
                attribute_id=line.attribute_id,
                after=line.tier,
                discovered=line,
                reason=HOSTILE[0],
            )
            for line in lines
        ),
        stated=(
            StatementChange(
                kind=StatementChangeKind.STATED, statement_id=said.statement_id, statement=said, reason=HOSTILE[1]
            ),
        ),
        evidence=Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id),
        analysis=HOSTILE[0],
    )
    skill = merge(initial_skill(user, domain, (), diff), diff)
    return skill, [diff], contrast


def card(user: str) -> tuple[Card, CardDiff]:
    """A card whose every word is hostile, and its log; the first line was overtaken by the second."""
    known = {"stance": Stance.PREFERS, "weight": 1_024, "since": NOW, "confirmed_at": NOW, "version": 1}
    lines = [
        CardLine(line_id=f"prefers:stated:{number}{text[:40]}", value=text[:100], words=text, **known)
        for number, text in enumerate(HOSTILE)
    ]
    lines[0] = lines[0].model_copy(update={"overtaken_by": lines[1].line_id, "overtaken_at": NOW})
    kinds = [CardChangeKind.OVERTAKEN] + [CardChangeKind.ADDED] * (len(lines) - 1)
    diff = CardDiff(
        event_id="chunk",
        occurred_at=NOW,
        user_id=user,
        version=1,
        conversation_id=HOSTILE[0],
        changes=tuple(
            CardChange(kind=kind, line_id=line.line_id, line=line, reason=HOSTILE[1])
            for kind, line in zip(kinds, lines, strict=True)
        ),
        not_kept=(NotKept(kind=HOSTILE[0][:40]),),
    )
    return apply_diff(None, diff), diff


@cache
def published() -> Path:
    """The snapshot, the same at every call."""
    events: list[Event] = []
    for user in USERS:
        skill, diffs, contrast = person(user, DOMAIN)
        events += [contrast, skill, *diffs, *card(user)]
    return snapshot(Path(mkdtemp(prefix="sager-hostile-")) / "sager.duckdb", events)


_HIDDEN = re.compile(r'<input type="hidden" name="csrf" value="([^"]+)">')


@dataclass
class Visitor:
    served: Served
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.served.port}"

    def get(self, path: str, **headers: str) -> Reply:
        return self._heard(self.served.request(path, **self._sent(), **headers))

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        sent = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded", **self._sent(), **headers}
        return self._heard(self.served.request(path, method="POST", body=urlencode(fields).encode(), **sent))

    def sign_in(self, token: str) -> Reply:
        return self.post("/console/login", {"token": token})

    def csrf(self, path: str = "/console/people") -> str:
        found = _HIDDEN.search(self.get(path).text)
        return unescape(found[1]) if found else ""

    def _sent(self) -> dict[str, str]:
        return {**self.headers, **({"Cookie": self.cookie} if self.cookie else {})}

    def _heard(self, reply: Reply) -> Reply:
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply


def page(path: str, **query: object) -> str:
    return f"/console{path}?{urlencode(query)}"
