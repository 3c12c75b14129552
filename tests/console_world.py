"""One deployment for all tests of the console: real processes, and people who have chosen films for weeks."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from schemas import Correction, Item, Ranking, Selection
from streams.analytics import MaterializerError, read
from streams.kafka.producer import RecordWriter, envelope
from streams.local.broker import free_port
from streams.local.demo.scenario import Scenario
from streams.local.pipeline import LocalPipeline
from streams.settings import Settings
from tests.waiting import until

PEOPLE = ("ann", "bruno", "cleo", "dora", "emil", "fay")
SAID = (("ann", "please nothing with horror"), ("ann", "I love westerns"), ("bruno", "no thrillers"))
ROUNDS = 26
SEED = 11


@dataclass
class World:
    local: LocalPipeline

    @property
    def url(self) -> str:
        assert self.local.url is not None
        return self.local.url.replace("127.0.0.1", "localhost")

    @property
    def token(self) -> str:
        assert self.local.token is not None
        return self.local.token

    def link(self) -> str:
        link = self.local.link()
        assert link is not None
        return link.replace("127.0.0.1", "localhost")

    def versions(self, user: str) -> int:
        try:
            con = read.connect(self.local.settings)
        except MaterializerError:
            return 0
        try:
            return max((skill.version for skill in read.skill(con, user)), default=0)
        finally:
            con.close()


@contextmanager
def console_world(folder: Path) -> Iterator[World]:
    settings = Settings(data_dir=folder, publish_seconds=0.5, batch_seconds=0.2, http_rate=10_000, http_burst=10_000)
    local = LocalPipeline(settings, http_port=free_port())
    try:
        local.start()
        local.wait_until_ready(180)
        world = _fill(local)
        yield world
    finally:
        local.stop(at_once=True)


def _fill(local: LocalPipeline) -> World:
    scenario = Scenario(len(PEOPLE), ROUNDS, SEED)
    names = {person.user_id: name for person, name in zip(scenario.people, PEOPLE, strict=True)}
    with RecordWriter(local.settings) as events:
        for domain, item in scenario.catalogue():
            events.send_event(Item(**envelope(scenario._start), domain=domain, item=item))
        for past in scenario.past():
            events.send_event(past.model_copy(update={"user_id": names[past.user_id]}))
    start, versions = scenario._start, dict.fromkeys(PEOPLE, 0)
    with RecordWriter(local.settings) as events:
        for turn in scenario.rounds():
            for choice in turn:
                start = choice.at
                user = names[choice.user_id]
                about = {"user_id": user, "domain": choice.domain}
                shown = tuple(random.Random(choice.choice_id).sample(choice.candidates, len(choice.candidates)))
                ranking = Ranking(**envelope(choice.at), **about, ranking_id=choice.choice_id, candidates=shown)
                events.send_event(ranking)
                versions[user] += 1
                taken = {"ranking_id": choice.choice_id, "item_id": choice.target}
                events.send_event(Selection(**envelope(choice.at + timedelta(seconds=40)), **about, **taken))
    domains = {names[person.user_id]: str(person.domain) for person in scenario.people}
    world = World(local)
    _wait(world, versions)
    with RecordWriter(local.settings) as events:
        for hours, (user, text) in enumerate(SAID):
            at = start + timedelta(days=1, hours=hours)
            events.send_event(Correction(**envelope(at), user_id=user, domain=domains[user], text=text))
            versions[user] += 1
    _wait(world, versions)
    return world


def _wait(world: World, versions: dict[str, int]) -> None:
    for user, wanted in versions.items():
        until(lambda user=user, wanted=wanted: world.versions(user) >= wanted, f"{user}'s version {wanted}")
