"""Plays a plan against a running pipeline like an app: requests a ranking, takes an item, and repeats.

A user's next ranking is requested once the diff of their last choice is out, so that no ranking uses a stale skill;
`Played.behind` counts those that did. The effects of other users arrive asynchronously.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluation.exceptions import QualityError
from evaluation.online.plan import Choice, Plan
from operators.contrast import contrast_id
from operators.global_skill import GlobalLimits
from schemas import Interaction, RankRequest, Selection
from streams.demo.observer import Observer, Stalled
from streams.kafka.events import EventOutbox, envelope
from streams.local.launch import Local
from streams.operations import global_skills

TAKEN_UP_SECONDS = 2.0
"""Workers follow the topic of global skills, but do not report which one they hold."""

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage, how much is done, and how much there is."""


class PlayFailed(QualityError, RuntimeError):
    """The pipeline refused something or stopped answering."""


@dataclass(frozen=True)
class Played:
    """The result of a play.

    Attributes:
        places: by user, the rank of the taken item at each choice, in order, from 1.
        behind: the number of rankings with a skill that had not yet learned from the user's last choice.
        import_seconds: the time to import the history.
        seconds: the time from the first request to the last diff.
    """

    places: dict[str, list[int]]
    behind: int
    import_seconds: float
    seconds: float


class _Player:
    """One user: waits for a ranking, then for the diff of the choice from it."""

    def __init__(self, user_id: str, choices: tuple[Choice, ...]) -> None:
        self.user_id = user_id
        self.places: list[int] = []
        self._coming = iter(choices)
        self.choice: Choice | None = None
        self.request: RankRequest | None = None
        self.taken = ""

    def next(self) -> Choice | None:
        self.choice, self.taken = next(self._coming, None), ""
        return self.choice


class Play:
    """One play of a plan.

    Args:
        plan: the plan.
        local: the running pipeline.
        tell: receives progress.
    """

    def __init__(self, plan: Plan, local: Local, tell: Tell) -> None:
        self._plan = plan
        self._local = local
        self._tell = tell
        self._behind = 0

    def run(self) -> Played:
        """Imports, builds the global skill, and plays all choices.

        Raises:
            PlayFailed: the pipeline refused something or stopped answering.
            StreamsError: one of its processes has died.
        """
        self._observer = Observer(self._local.settings, self._check)
        try:
            with EventOutbox(self._local.settings) as self._events:
                import_seconds = self._import()
                self._build_global_skill()
                began = time.monotonic()
                places = self._choose()
            return Played(places, self._behind, import_seconds, time.monotonic() - began)
        except Stalled as error:
            raise PlayFailed(
                f"the pipeline stalled: {error}; its logs are in {self._local.settings.data_dir}"
            ) from error
        finally:
            self._observer.close()

    def _check(self) -> None:
        self._local.check()
        for letter in self._observer.seen.dead_letters.values():
            raise PlayFailed(
                f"the pipeline refused a record at {letter.stage}: {letter.detail}; its logs are in "
                f"{self._local.settings.data_dir}"
            )

    def _import(self) -> float:
        began, total = time.monotonic(), sum(map(len, self._plan.past.values()))
        for user_id, visits in self._plan.past.items():
            for visit in visits:
                item = self._plan.items[visit.item_id]
                self._events.send(
                    Interaction(**envelope(visit.at), user_id=user_id, domain=self._plan.domain, item=item)
                )
        self._events.flush()

        def counted() -> int:
            return sum(self._observer.seen.interactions.values())

        self._observer.wait(
            lambda: counted() >= total, "profiles", lambda: self._tell("learning the past", counted(), total)
        )
        return time.monotonic() - began

    def _build_global_skill(self) -> None:
        settings = self._local.settings
        found = global_skills.read_populations(settings, self._plan.domain)
        global_skills.publish(
            settings, global_skills.build(found.populations.values(), datetime.now(UTC), GlobalLimits())
        )
        give_up = time.monotonic() + TAKEN_UP_SECONDS
        while time.monotonic() < give_up:
            self._observer.poll(0.1)
            self._check()

    def _choose(self) -> dict[str, list[int]]:
        players = [_Player(user_id, choices) for user_id, choices in self._plan.choices.items()]
        for player in players:
            self._ask(player)
        total, done = self._plan.total, 0
        waiting = players

        def all_played() -> bool:
            nonlocal waiting, done
            for player in waiting:
                done += self._go_on(player)
            waiting = [player for player in waiting if player.choice is not None]
            return not waiting

        self._observer.wait(all_played, "rankings or diffs", lambda: self._tell("choosing", done, total))
        self._tell("choosing", done, total)
        return {player.user_id: player.places for player in players}

    def _go_on(self, player: _Player) -> bool:
        """Takes the player's next step if its input has arrived; returns whether a choice is complete."""
        seen, choice, request = self._observer.seen, player.choice, player.request
        if choice is None or request is None:
            return False
        if player.taken:
            if player.taken not in seen.diffs:
                return False
            self._ask(player)
            return True
        ranking = seen.rankings.get(choice.request_id)
        if ranking is not None:
            order: list[str] = [item.item_id for item in ranking.candidates]
            self._behind += ranking.injected.skill_version < len(player.places)
            player.places.append(1 + order.index(choice.taken.item_id))
            self._events.send(
                Selection(
                    **envelope(choice.taken.at),
                    user_id=player.user_id,
                    ranking_id=request.request_id,
                    item_id=choice.taken.item_id,
                )
            )
            player.taken = contrast_id(player.user_id, choice.request_id)
        return False

    def _ask(self, player: _Player) -> None:
        choice = player.next()
        if choice is None:
            return
        player.request = self._events.send(
            RankRequest(
                **envelope(choice.taken.at),
                request_id=choice.request_id,
                user_id=player.user_id,
                domain=self._plan.domain,
                candidates=tuple(self._plan.items[item_id] for item_id in choice.candidates),
            )
        )
