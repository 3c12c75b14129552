"""Some weeks of a small deployment, made by the operators in the order in which a worker calls them, without a broker.

Two domains and people with hidden policies. A quarter of the rankings are made without a skill, by chance, so that
arms compare; an LLM stands behind some of the diffs and rankings. A few say more than what they take.
"""

import pickle
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from operators.admission import contrast_id
from operators.contrast import arm_of, join_ranking, join_selection
from operators.evolve.proposals import CountsReasoner, Proposal, RulesReasoner, validate
from operators.global_skill import Population
from operators.graph.facets import retrieve
from operators.graph.items import GraphLimits, add_taken, add_touch, neighbour_of, takers_of, touch_items
from operators.graph.neighbours import ItemSummary, Neighbourhood, neighbourhood_of
from operators.language.corrections import understand
from operators.learning.commands import resolve_command
from operators.learning.evidence import to_fixed_point
from operators.learning.feedback import resolve_abstention
from operators.learning.fold import initial_skill, merge
from operators.learning.limits import fit_seed
from operators.learning.prior import observe, statinit
from operators.learning.update import resolve_choice
from operators.seals import seal_record
from operators.slim.rules import slim
from operators.statinit import facts_of, parser_for
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.rank import NO_STATEMENTS, RankStep
from schemas import Abstention, Action, AttributeSource, BadRecord, Event, Position, Provenance, SkillCommand, encode
from schemas.diffs import Judgement, PolicySkill, SkillDiff, Verdict
from schemas.events import Contrast, Feedback, Injected, Interaction, RankedBy, Ranking, RankRequest, Selection
from schemas.items import Candidate, Fact, Item, ItemFacts
from schemas.statements import Correction, Directive, Stance
from schemas.topics import topic_of
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.run import dead_letter
from streams.analytics.snapshot import copy_and_rename
from streams.analytics.store import DuckDBStore
from streams.language import RULES
from streams.local.demo import catalogue, people
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.analytics_talks import talks
from tests.shared_files import make_once

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
SUNDAY = datetime(2026, 2, 15)  # noqa: DTZ001 - as the file has it
"""When it is published."""
DOMAINS = ("books", "films")
USERS, CHOICES, PAST, CANDIDATES = 28, 14, 10, 10
TALKS = (7, 3)
"""Every seventh person lets be known more than what they take, from the fourth on."""
NOTHING_SUITS = (4, 8, 10)
"""At which turns they take nothing of a first list."""
PRICES = (0.15, 0.6)
BUDGET = 30
EVOLVE, RANK = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE), RankStep(privacy=PRIVACY, gate=OUTPUT_GATE)


@dataclass
class AnalyticsWorld:
    rankings: list[Ranking] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)
    diffs: list[SkillDiff] = field(default_factory=list)
    skills: dict[tuple[str, str], PolicySkill] = field(default_factory=dict)
    records: list[KafkaRecord] = field(default_factory=list)

    def fill(self, store: DuckDBStore) -> None:
        for start_at in range(0, len(self.records), 500):
            batch = ChangeSet()
            for record in self.records[start_at : start_at + 500]:
                batch.add(read(record, privacy=PRIVACY))
            store.write(batch, {})
        store.use_prices(*PRICES)


@cache
def build() -> AnalyticsWorld:
    def make(file: Path) -> None:
        file.write_bytes(pickle.dumps(_Builder().run(), pickle.HIGHEST_PROTOCOL))

    made: AnalyticsWorld = pickle.loads(make_once("analytics.pickle", make).read_bytes())
    return made


@cache
def published() -> Path:
    """The world as `sager materialize` publishes it; one file for all processes."""

    def make(folder: Path) -> None:
        folder.mkdir()
        with DuckDBStore(folder / "live.duckdb", "sager.") as store:
            build().fill(store)
            store.checkpoint(SUNDAY, SUNDAY)
            copy_and_rename(store.path, folder / "sager.duckdb")
        (folder / "live.duckdb").unlink()

    return make_once("analytics", make) / "sager.duckdb"


class _Builder:
    def __init__(self) -> None:
        self._world = AnalyticsWorld()
        self._items = {domain: catalogue.load()[domain] for domain in DOMAINS}
        facts = {
            item.item_id: facts_of(item, parser_for(domain, {})) for domain in DOMAINS for item in self._items[domain]
        }
        self._read = lambda candidate: facts[candidate.item_id]
        self._people = people.simulate(USERS, 7, self._items, self._facts)
        self._rng = random.Random(7)
        self._profiles, self._memories, self._heard, self._said = {}, {}, {}, {}
        self._usual: dict[str, dict[str, int]] = {}

    def run(self) -> AnalyticsWorld:
        for domain, items in self._items.items():
            for item in items:
                self._send(Item(event_id=f"item-{item.item_id}", occurred_at=MONDAY, domain=domain, item=item), MONDAY)
        for person in self._people[: USERS - 5]:  # the last five are newcomers
            self._past(person)
        for domain in DOMAINS:
            population = Population(domain)
            for profile in self._profiles.values():
                if profile.domain == domain:
                    population.add(profile)
            self._usual[domain] = to_fixed_point(population.usual(floor=5))
        turns = [
            (MONDAY + timedelta(days=7 * (number % 3) + 1.6 * turn, minutes=13 * number), number, turn)
            for number in range(USERS)
            for turn in range(CHOICES)
        ]
        for at, number, turn in sorted(turns):
            self._choice(number, turn, at)
            if (number, turn) in ((2, 9), (5, 9)):
                self._command(number, at + timedelta(hours=1))
        for version, card in talks([str(person.user_id) for person in self._people[:3]], MONDAY):
            self._send(version, version.occurred_at)
            self._send(card, version.occurred_at)
        bad = KafkaRecord(topic_of(PolicySkill), 0, 1, _ms(MONDAY), b"ann", b"no json")
        for offset, why in enumerate(("not-json", "not-json", "invalid")):
            moved = KafkaRecord(bad.topic, 0, offset, bad.timestamp_ms, bad.key, bad.value)
            letter = dead_letter(moved, BadRecord(why, "at character 1"), "sager.", MONDAY)
            self._add(letter, MONDAY)
        return self._world

    def _facts(self, candidate: Candidate) -> tuple[Fact, ...]:
        return self._read(candidate).facts

    def _past(self, person: people.Person) -> None:
        rng = random.Random(f"past {person.user_id}")
        taken = people.history(person, self._items, self._facts, rng, PAST)
        key = (str(person.user_id), str(person.domain))
        for place, item in enumerate(taken):
            at = MONDAY - timedelta(days=PAST - place)
            event = Interaction(
                event_id=f"past-{person.user_id}-{place}", occurred_at=at, user_id=key[0], domain=key[1], item=item
            )
            self._send(event, at)
            facts = self._read(item)
            self._profiles[key] = observe(self._profiles.get(key), event, facts.facts, _position(place))
            self._remember(key, facts, at, event.event_id)

    def _choice(self, number: int, turn: int, at: datetime) -> None:
        person = self._people[number]
        common = {"user_id": str(person.user_id), "domain": str(person.domain)}
        key = (common["user_id"], common["domain"])
        shown = tuple(self._rng.sample(self._items[person.domain], CANDIDATES))
        asked = f"something {self._rng.choice(self._facts(shown[0])).value}" if turn % 4 == 3 else ""
        talks, session = number % TALKS[0] == TALKS[1], None
        if talks:
            session = f"visit-{person.user_id}-{turn:02}"
            if turn in NOTHING_SUITS:
                self._nothing_suits(person, turn, at - timedelta(minutes=3), session)
        name = f"{person.user_id}-{turn:02}"
        request = RankRequest(
            event_id=f"ask-{name}", occurred_at=at, request_id=name, instruction=asked, candidates=shown,
            session_id=session, **common,
        )  # fmt: skip
        ranking = self._ranking(request, with_skill=self._rng.random() >= 0.25, by_llm=number % 9 == 4)
        taken = person.choose(shown, self._facts, self._rng).item_id
        later = at + timedelta(seconds=40)
        selection = Selection(
            event_id=f"take-{name}", occurred_at=later, user_id=key[0], ranking_id=name, item_id=taken,
            session_id=session,
        )  # fmt: skip
        for event, when in ((request, at), (ranking, at), (selection, later)):
            self._send(event, when)
        if turn % 7 == 3:
            # A producer's retry under a new id, some seconds later.
            self._send(selection.model_copy(update={"event_id": f"again-{name}"}), later + timedelta(seconds=5))
        self._world.rankings.append(ranking)
        self._world.selections.append(selection)
        opened = join_ranking(None, ranking, self._read, _position(2 * turn)).state
        contrast = join_selection(opened, selection, _position(2 * turn + 1)).contrast
        assert contrast is not None
        self._send(contrast, later)
        self._world.contrasts.append(contrast)
        self._remember(key, contrast.chosen, later, contrast.event_id)
        self._evolve(key, contrast, by_llm=number % 3 == 1, fails=number == 7 and turn == 5)
        if talks:
            self._talk(person, turn, later + timedelta(minutes=5), ranking, taken, session)

    def _ranking(self, request: RankRequest, *, with_skill: bool, by_llm: bool) -> Ranking:
        key = (request.user_id, request.domain)
        skill = self._skill(key, request) if with_skill else None
        found = retrieve(
            self._memories.get(key), self._near(key), request.domain, request.occurred_at, gate=OUTPUT_GATE
        )
        items = [self._read(candidate) for candidate in request.candidates]
        lines = RANK.lines(skill) if skill else ()
        heard = NO_STATEMENTS
        if skill is not None:
            heard = RANK.statements_for(skill, items, request.occurred_at, request.session_id, asks=request.clarify)
        spoken = RANK.features_of(items, lines, found)
        order = RANK.order(items, spoken, request.instruction, request.request_id, heard=heard).order
        by = Provenance(reasoner="deterministic")
        if by_llm and with_skill:
            by = _llm("rank-listwise.v2", 620 + 3 * len(lines), 45, latency_ms=900)
        by_id = {candidate.item_id: candidate for candidate in request.candidates}
        injected = Injected(
            skill_version=skill.version if skill else 0,
            slim_skill=slim(skill, BUDGET, gate=OUTPUT_GATE).text if skill else "", reasoner=by.reasoner,
            facets=tuple(f.model_copy(update={"supporting_neighbors": ()}) for f in found.facets[:3]),
            ranked_by=by, fit=heard.fit_in_order(items, order),
        )  # fmt: skip
        name, at, asked = request.request_id, request.occurred_at, request.instruction
        ranking = Ranking(
            event_id=f"rank-{name}", occurred_at=at, ranking_id=name, user_id=request.user_id, domain=request.domain,
            instruction=asked, candidates=tuple(by_id[item_id] for item_id in order), session_id=request.session_id,
            ranked_by=RankedBy.SAGER, injected=injected,
        )  # fmt: skip
        return seal_record(ranking)

    def _nothing_suits(self, person: people.Person, turn: int, at: datetime, session: str) -> None:
        key, name = (str(person.user_id), str(person.domain)), f"{person.user_id}-{turn:02}-none"
        rng = random.Random(name)
        shown = tuple(rng.sample(self._items[person.domain], CANDIDATES))
        request = RankRequest(
            event_id=f"ask-{name}", occurred_at=at, request_id=name, candidates=shown, clarify=True, session_id=session,
            user_id=key[0], domain=key[1],
        )  # fmt: skip
        ranking = self._ranking(request, with_skill=True, by_llm=False)
        abstention = Abstention(
            event_id=contrast_id(key[0], name), occurred_at=at + timedelta(seconds=20), user_id=key[0], domain=key[1],
            ranking_id=name, shown=tuple(self._read(item) for item in ranking.candidates), session_id=session,
            skill_version=ranking.injected.skill_version, arm=arm_of(ranking.injected),
        )  # fmt: skip
        nothing = Selection(
            event_id=f"none-{name}", occurred_at=abstention.occurred_at, user_id=key[0], ranking_id=name,
            none_taken=True, session_id=session,
        )  # fmt: skip
        for event in (request, ranking, nothing, abstention):
            self._send(event, event.occurred_at)
        self._world.rankings.append(ranking)
        skill = self._skill(key, abstention)
        self._learn(key, skill, resolve_abstention(skill, abstention))
        fit = ranking.injected.fit
        if fit is not None and fit.question is not None and turn != NOTHING_SUITS[0]:
            wanted = fit.question.options[0]
            said = Directive(stance=Stance.PREFERS, dimension=fit.question.dimension, value=wanted.value)
            self._say(key, f"answer-{name}", at + timedelta(minutes=1), wanted.value, (said,), ranking)

    def _talk(
        self, person: people.Person, turn: int, at: datetime, ranking: Ranking, taken: str, session: str | None
    ) -> None:
        key, name = (str(person.user_id), str(person.domain)), f"{person.user_id}-{turn:02}"
        left = [item for item in ranking.candidates if item.item_id != taken]
        late = [want for want in person.wants if not want.early]
        wanted = {item.item_id: people.utility(late, self._facts(item)) for item in ranking.candidates}
        [item] = [item for item in ranking.candidates if item.item_id == taken]
        signals: list[tuple[Candidate, str, float | None]] = []
        if turn % 3 == 1:
            signals.append((item, "rated", 5.0 if wanted[taken] == max(wanted.values()) else 2.0))
        if turn % 4 == 2:
            signals += [(left[0], "skipped", None), (left[1], "dwelled", 25.0)]
        if turn == 7:
            signals.append((min(left, key=lambda each: wanted[each.item_id]), "hidden", None))
        if turn == 12:
            signals.append((item, "shared", None))
        for number, (about, signal, value) in enumerate(signals):
            self._signal(
                key, f"{signal}-{name}-{number}", at + timedelta(seconds=number), about, signal, value, session
            )
        if turn == 6:
            unwanted = self._facts(min(left, key=lambda each: wanted[each.item_id]))[0].value
            changed = person.domain == "films"
            said = f"I used to like {unwanted}, but not any more" if changed else f"I don't want {unwanted}"
            self._say(key, f"said-{name}", at + timedelta(minutes=1), said, (), ranking)
        if turn == 11:
            said = "well, surprise me" if person.domain == "films" else "my daughter likes horror"
            self._say(key, f"said-{name}", at + timedelta(minutes=1), said, (), ranking)

    def _signal(
        self, key: tuple[str, str], name: str, at: datetime, item: Candidate, signal: str, value: float | None,
        session: str | None,
    ) -> None:  # fmt: skip
        feedback = Feedback(
            event_id=name, occurred_at=at, user_id=key[0], domain=key[1], item=item, signal=signal, value=value,
            session_id=session,
        )  # fmt: skip
        self._send(feedback, at)
        skill, facts = self._skill(key, feedback), self._read(item)
        if (
            version := EVOLVE.apply_signal(EvolveState(skill, usual=self._usual[key[1]]), feedback, facts).version
        ) is not None:
            self._learn(key, skill, version.diff)

    def _say(
        self, key: tuple[str, str], name: str, at: datetime, text: str, says: tuple[Directive, ...], ranking: Ranking
    ) -> None:
        fit = ranking.injected.fit
        correction = Correction(
            event_id=name, occurred_at=at, user_id=key[0], domain=key[1], text=text, language="en", directives=says,
            items=ranking.candidates, ranking_id=ranking.ranking_id, session_id=ranking.session_id,
            answers=fit.question.question_id if fit is not None and fit.question is not None else None,
        )  # fmt: skip
        self._send(correction, at)
        skill, items = self._skill(key, correction), [self._read(item) for item in ranking.candidates]
        understood = understand(correction, items, skill, privacy=PRIVACY, reader=RULES)
        state = EvolveState(skill, usual=self._usual[key[1]])
        if (version := EVOLVE.correct(state, correction, items, understood).version) is not None:
            self._learn(key, skill, version.diff)

    def _evolve(self, key: tuple[str, str], contrast: Contrast, *, by_llm: bool, fails: bool) -> None:
        skill = self._skill(key, contrast)
        proposal = CountsReasoner().propose(contrast, skill)
        if fails:
            told = Provenance(reasoner="counts", fallback="timeout: no answer within 30 s")
            proposal = replace(proposal, reasoned_by=told)
        elif by_llm:
            proposal = RulesReasoner().propose(contrast, skill)
            told = _llm("evolve.v3", 540 + 12 * len(skill.attributes), 80 + len(proposal.discovered) * 9, 1_400)
            proposal = replace(proposal, reasoned_by=told, analysis=f"{contrast.chosen.title} stands out.")
            proposal = replace(proposal, judged=_judged(proposal, skill, contrast))
            if skill.version % 6 == 5:
                proposal = replace(proposal, reinforced=(*proposal.reinforced, "preference:mood:uplifting-reads"))
        source = _position(skill.version)
        validated = validate(proposal, skill, contrast, privacy=PRIVACY)
        self._learn(key, skill, resolve_choice(skill, validated, contrast, source, self._usual[key[1]]))

    def _command(self, number: int, at: datetime) -> None:
        person = self._people[number]
        key = (str(person.user_id), str(person.domain))
        skill = self._world.skills[key]
        action = Action.PIN if number == 2 else Action.REMOVE
        chosen = max(
            skill.attributes, key=lambda line: (line.source is AttributeSource.PRIOR, line.confirmed_at > 0, line.tier)
        )
        command = SkillCommand(
            event_id=f"command-{number}", occurred_at=at, user_id=key[0], domain=key[1], action=action,
            attribute_id=chosen.attribute_id, actor="support", reason="the user asked for it",
        )  # fmt: skip
        self._send(command, at)
        self._learn(key, skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    def _learn(self, key: tuple[str, str], skill: PolicySkill, diff: SkillDiff) -> None:
        evolved = merge(skill, diff)
        short = slim(evolved, BUDGET, gate=OUTPUT_GATE)
        self._world.skills[key] = evolved
        self._world.diffs.append(diff)
        self._send(diff, diff.occurred_at)
        self._send(evolved, diff.occurred_at)
        if self._said.get(key) != short.text:
            self._said[key] = short.text
            self._send(short, diff.occurred_at)

    def _skill(self, key: tuple[str, str], event: Event) -> PolicySkill:
        if key not in self._world.skills:
            return initial_skill(*key, fit_seed(statinit(self._profiles.get(key), self._usual[key[1]])), event)
        return self._world.skills[key]

    def _remember(self, key: tuple[str, str], item: ItemFacts, at: datetime, event_id: str) -> None:
        memory = add_taken(self._memories.get(key), *key, item, at, event_id)
        self._memories[key] = memory
        for item_id, taker in takers_of(touch_items(memory, item.item_id)):
            known = add_touch(self._heard.get((key[1], item_id)), key[1], item_id, taker)
            if known is not None:
                self._heard[key[1], item_id] = known

    def _near(self, key: tuple[str, str]) -> Neighbourhood:
        memory = self._memories.get(key)
        held = (self._heard.get((key[1], taken.item_id)) for taken in memory.taken) if memory else ()
        return neighbourhood_of(
            (ItemSummary(item, GraphLimits()) for item in held if item is not None), neighbour_of(key[0])
        )

    def _send(self, event: Event, at: datetime) -> None:
        self._add(event, at + timedelta(seconds=1))

    def _add(self, event: Event, at: datetime) -> None:
        topic = topic_of(type(event))
        offset = len(self._world.records)
        key = b"ann" if topic.base == "dead-letters" else topic.key_of(event)
        self._world.records.append(KafkaRecord(topic, 0, offset, _ms(at), key, encode(event)))


def _judged(proposal: Proposal, skill: PolicySkill, contrast: Contrast) -> tuple[Judgement, ...]:
    verdicts = dict.fromkeys(proposal.reinforced, Verdict.SUPPORTS)
    verdicts |= dict.fromkeys(proposal.weakened, Verdict.CONTRADICTS)
    said = [(line.attribute_id, verdicts.get(line.attribute_id, Verdict.UNRELATED)) for line in skill.attributes]
    quoted = {Verdict.UNRELATED: None}
    fact = contrast.chosen.facts[0]
    return tuple(Judgement(attribute_id=name, verdict=v, quoted=quoted.get(v, fact)) for name, v in said)


def _llm(prompt: str, prompt_tokens: int, completion_tokens: int, latency_ms: int) -> Provenance:
    return Provenance(
        reasoner="llm", model="small-model", prompt=prompt, prompt_hash=f"hash-of-{prompt}", calls=1,
        prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, latency_ms=latency_ms,
    )  # fmt: skip


def _position(offset: int) -> Position:
    return Position(topic="t", partition=0, offset=offset, timestamp_ms=0)


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
