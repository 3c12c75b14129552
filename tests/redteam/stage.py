"""A case played through everything that a worker does with it, by the operators alone, beside its harmless twin."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from operators.attributes import from_fact
from operators.contrast import join_ranking, join_selection
from operators.evolve import CountsReasoner, Proposal, Reasoner, ReasonerUnavailable
from operators.evolve.llm import build_question
from operators.language.corrections import understand
from operators.learning.fold import initial_skill
from operators.rank import RankTask, rank
from operators.rank.listwise import ListwiseRanker
from operators.rank.question import render_prompt
from operators.slim import slim
from operators.statinit import facts_of, parser_for
from operators.steps import EvolveEffects, EvolveState, EvolveStep
from schemas import AttributeSource, Correction, Directive, OpenRankings, Position, Provenance, Stance, Tier, encode
from schemas.commands import Action, SkillCommand, SkillLineInput
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Contrast, Feedback, Ranking, RankRequest, Selection, Signal
from schemas.items import Candidate, Fact, ItemFacts
from schemas.topics import TOPICS
from streams.analytics.records import KafkaRecord
from streams.analytics.rows import read
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY
from streams.policies import DEFAULT_PRIVACY as PRIVACY

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = Position(topic="rankings", partition=0, offset=1, timestamp_ms=0)
USER = {"user_id": "u", "domain": "films", "occurred_at": NOW}
TOKENS = 1_500
EVOLVE = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)


PRIVATE = ("sensitive", "personal")
"""Techniques that no attack on a model is: what they name is private."""
HARMLESS = {"title": "The Quiet Shore", "description": "", "value": "seaside", "key": "place", "instruction": ""}


@dataclass(frozen=True)
class Case:
    """One attack, or something innocent that looks like one.

    Attributes:
        id, language, channel, technique: what it is.
        holds: what must be so afterwards; `same`: as without it; `bounded`: no filter sees it, the bounds hold.
        text: what stands in the channel.
        never: what may stand nowhere afterwards.
        attack: the part that speaks to a model; all of the text unless said.
    """

    id: str
    language: str
    channel: str
    technique: str
    holds: str
    text: str
    never: tuple[str, ...] = ()
    attack: str | None = None

    @property
    def twin(self) -> "Case":
        """The same without the attack."""
        return Case("twin", "en", self.channel, "none", "same", HARMLESS.get(self.channel, ""))


@cache
def cases() -> tuple[Case, ...]:
    """The whole corpus."""
    rows = map(json.loads, (Path(__file__).parent / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Case(**(row | {"never": tuple(row.get("never", ()))})) for row in rows)


@dataclass
class Outcome:
    """What a case left behind.

    Attributes:
        outcome: what became of the choice.
        order: the ranking.
        skill: the lines with their tiers.
        slim: the slim skill's text.
        prompts: what a model would have been asked.
        rows: what DuckDB would hold.
        diffs: what the log holds.
        refused: why proposals were refused.
        stated: what the skill keeps of the person's words, by the statement's id.
    """

    outcome: str = ""
    order: tuple[str, ...] = ()
    skill: dict[str, str] = field(default_factory=dict)
    slim: str = ""
    prompts: list[str] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    diffs: list[SkillDiff] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    stated: dict[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> str:
        """All that stays or goes out, but for ids."""
        diffs = [json.loads(encode(diff)) for diff in self.diffs]
        kept = [self.order, self.skill, self.slim, self.prompts, self.rows, diffs]
        return json.dumps(kept, ensure_ascii=False, default=str).casefold()


def candidates_of(case: Case) -> tuple[Candidate, ...]:
    said = HARMLESS | {case.channel: case.text}
    metadata: dict[str, Any] = {"genre": ["drama", "mystery"], said["key"]: said["value"]}
    # The generic parser takes metadata as they come: nothing but the filter stands before a skill there.
    return (
        Candidate(item_id="noir", title="Night Train", metadata={"genre": ["noir", "crime"]}),
        Candidate(item_id="comedy", title="Two Left Feet", metadata={"genre": ["comedy"]}),
        Candidate(item_id="attacked", title=said["title"], description=said["description"], metadata=metadata),
        Candidate(item_id="war", title="The Long March", metadata={"genre": ["war"]}),
    )


async def play(case: Case, reasoner: Reasoner | None = None, ranker: ListwiseRanker | None = None) -> Outcome:
    """The case from its rank request to the rows, by the rules, or by a model where there is one."""
    if case.channel == "stated":
        return _stated(case)
    if case.channel == "reply":
        return _reply(case)
    if case.channel in ("correction", "form"):
        return _said(case)
    if case.channel == "feedback":
        return disliked(case)
    out = Outcome()
    instruction = (HARMLESS | {case.channel: case.text})["instruction"]
    candidates, parser = candidates_of(case), parser_for("shop", {})

    def parse(candidate: Candidate) -> ItemFacts:
        return DEFAULT_PRIVACY.item(facts_of(candidate, parser), "films")[0]

    skill = initial_skill("u", "films", seed(), _command())
    asked = DEFAULT_PRIVACY.redact(instruction, "films").text
    task = RankTask([parse(c) for c in candidates], asked, slim_skill=slim(skill, gate=OUTPUT_GATE).text, seed="r")
    out.prompts.append(render_prompt("rank-listwise.v1", task, task.items, max_tokens=TOKENS, gate=OUTPUT_GATE))
    out.order = await _order(task, skill, ranker)
    by_id = {candidate.item_id: candidate for candidate in candidates}
    request = RankRequest(event_id="q", request_id="r", instruction=instruction, candidates=candidates, **USER)
    ranking = Ranking(
        event_id="r", ranking_id="r", instruction=asked, candidates=tuple(by_id[i] for i in out.order), **USER
    )
    out.rows += [row(request), row(ranking.model_copy(update={"instruction": instruction}))]
    opened = join_ranking(OpenRankings(user_id="u", slot=0), ranking, parse, AT, wish=DEFAULT_PRIVACY.opt_out(asked))
    selection = Selection(event_id="s", occurred_at=NOW, user_id="u", ranking_id="r", item_id="attacked")
    step = join_selection(opened.state, selection, AT)
    out.outcome = step.outcome.value
    out.rows.append(orjson.loads(encode(opened.state)))
    if step.contrast is None:
        return out
    contrast = EVOLVE.prepare(EvolveState(skill), step.contrast, AT).contrast
    assert contrast is not None
    asked_of_model = build_question(contrast, skill, max_tokens=TOKENS, gate=OUTPUT_GATE)
    out.prompts.append(asked_of_model.prompt if asked_of_model else "")
    apply(
        out,
        EVOLVE.finish(EvolveState(skill), contrast, await _reason(reasoner or CountsReasoner(), contrast, skill), AT),
    )
    out.rows.append(row(step.contrast))
    return out


async def _reason(reasoner: Reasoner, contrast: Contrast, skill: PolicySkill) -> Proposal:
    try:
        return await reasoner.reason(contrast, skill)
    except ReasonerUnavailable:
        return CountsReasoner().propose(contrast, skill)


async def _order(task: RankTask, skill: PolicySkill, ranker: ListwiseRanker | None) -> tuple[str, ...]:
    if ranker is not None:
        try:
            return (await ranker.rank(task)).order
        except ReasonerUnavailable:
            pass
    return tuple(item.item_id for item, _ in rank(task.items, skill.attributes, task.instruction, {}, task.seed))


def apply(out: Outcome, effects: EvolveEffects) -> None:
    diff, evolved = effects.diff, effects.skill
    assert diff is not None
    out.diffs.append(diff)
    out.refused = [refused.why.value for refused in diff.refused]
    out.skill = {line.attribute_id: str(line.tier) for line in evolved.attributes}
    out.stated = {said.statement_id: said.words for said in evolved.stated}
    out.slim = slim(evolved, gate=OUTPUT_GATE).text
    out.rows += [row(diff), row(evolved)]


def seed() -> tuple[Any, ...]:
    facts = (("genre", "noir", Tier.HIGH), ("genre", "drama", Tier.MEDIUM), ("genre", "comedy", Tier.LOW))
    return tuple(from_fact(Fact(dimension=d, value=v), tier, AttributeSource.PRIOR) for d, v, tier in facts)


def _command(**said: Any) -> SkillCommand:
    return SkillCommand(event_id="c", actor="ann", **({"action": Action.FREEZE} | said), **USER)


def _stated(case: Case) -> Outcome:
    out = Outcome(outcome="commanded")
    skill = initial_skill("u", "films", seed(), _command())
    command = _command(action=Action.ADD, line=SkillLineInput(dimension="taste", value=case.text), reason=case.text)
    apply(out, EVOLVE.command(EvolveState(skill), command, AT))
    return out


def _reply(case: Case) -> Outcome:
    """What a model said, whatever it was asked: as its analysis, as a reason, and as a line to bring in."""
    out = Outcome(outcome="matched")
    skill = initial_skill("u", "films", seed(), _command())
    contrast = Contrast(
        event_id="k", ranking_id="r", chosen=ItemFacts(item_id="noir", facts=(Fact(dimension="genre", value="noir"),)),
        chosen_rank=1, **USER,
    )  # fmt: skip
    name = skill.attributes[0].attribute_id
    proposal = Proposal(
        reinforced=(name, case.text) if case.text else (name,),
        discovered=(Fact(dimension="genre", value=case.text),) if case.text else (),
        reasons={name: case.text},
        analysis=case.text,
        reasoned_by=Provenance(reasoner="llm", model="fake"),
    )
    apply(out, EVOLVE.finish(EvolveState(skill), contrast, proposal, AT))
    return out


def _said(case: Case) -> Outcome:
    """What stands in a person's words or in a form, taken as the worker takes it."""
    out, skill = Outcome(), initial_skill("u", "films", seed(), _command())
    candidates, parser = candidates_of(case.twin), parser_for("shop", {})
    form = (Directive(stance=Stance.AVOIDS, dimension="taste", value=case.text),) if case.channel == "form" else ()
    text = "" if form else case.text
    correction = Correction(event_id="c", text=text, directives=form, items=candidates, **USER)
    out.rows.append(row(correction))
    if (wish := DEFAULT_PRIVACY.opt_out(text)) is not None:
        out.outcome = wish.value
        return out
    correction = correction.model_copy(update={"text": DEFAULT_PRIVACY.redact(text, "films").text})
    items = [DEFAULT_PRIVACY.item(facts_of(each, parser), "films")[0] for each in candidates]
    effects = EVOLVE.correct(
        EvolveState(skill), correction, items, understand(correction, items, skill, privacy=PRIVACY, reader=RULES), AT
    )
    out.outcome = effects.outcome.value
    apply(out, effects)
    return out


def disliked(case: Case) -> Outcome:
    """Dislike the item with this attack: a statement about the item names its title."""
    out, skill = Outcome(), initial_skill("u", "films", seed(), _command())
    item = candidates_of(case)[2]
    if case.channel not in HARMLESS:
        item = Candidate(item_id="attacked", title=case.text, metadata={"genre": ["war"]})
    feedback = Feedback(event_id="f", item=item, signal=Signal.DISLIKED, **USER)
    out.rows.append(row(feedback))
    facts = DEFAULT_PRIVACY.item(facts_of(item, parser_for("shop", {})), "films")[0]
    effects = EVOLVE.apply_signal(EvolveState(skill), feedback, facts, AT)
    out.outcome = effects.outcome.value
    apply(out, effects)
    return out


def row(event: Any) -> Any:
    record = KafkaRecord(
        topic=TOPICS[event.TOPIC], partition=0, offset=0, timestamp_ms=0, key=b"u", value=encode(event)
    )
    return list(read(record, privacy=PRIVACY).row.values())  # type: ignore[union-attr]
