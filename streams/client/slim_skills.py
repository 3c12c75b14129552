"""A local copy of the slim skills: follows the compacted topic, answers from memory."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from schemas import BadRecord, SlimSkill, decode
from streams.kafka.follower import READY_SECONDS, Follower
from streams.settings import Settings


class SlimSkills:
    """All slim skills of a deployment, as of now. Use it as a context manager, one per process.

    It reads the topic from its beginning in a thread, without a consumer group, so that any number of apps can
    follow it. Entering waits until all that was there has been read.

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        settings: the whole configuration.
        on_change: called with every slim skill that is new, in the reading thread.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        settings: Settings | None = None,
        on_change: Callable[[SlimSkill], None] | None = None,
    ) -> None:
        chosen = settings or Settings()
        chosen = chosen.model_copy(update={"bootstrap": bootstrap}) if bootstrap else chosen
        self._on_change = on_change
        self._held: dict[bytes, SlimSkill] = {}
        self._by_user: dict[tuple[str, str], SlimSkill] = {}
        self._follower = Follower(chosen, SlimSkill.TOPIC, self._take)

    def get(self, user_id: str, domain: str) -> str:
        """The text to inject into this user's prompt; empty while nothing is known of them."""
        held = self._by_user.get((user_id, domain))
        return held.text if held else ""

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """The whole slim skill, with its version and token count."""
        return self._by_user.get((user_id, domain))

    def __len__(self) -> int:
        return len(self._by_user)

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Begin to follow, and wait until all that is on the topic has been read.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self._follower.start(seconds)
        return self

    def stop(self) -> None:
        """End the reading thread; what was read can still be asked for."""
        self._follower.stop()

    def _take(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            gone = self._held.pop(key, None)
            if gone is not None:
                self._by_user.pop((gone.user_id, gone.domain), None)
            return
        try:
            skill = decode(SlimSkill, value)
        except BadRecord:
            # Not ours to dead-letter: the materializer, which reads this topic too, does that.
            return
        held = self._held.get(key)
        if held is not None and held.skill_version > skill.skill_version:
            return
        self._held[key] = skill
        self._by_user[skill.user_id, skill.domain] = skill
        if self._on_change is not None and held != skill:
            self._on_change(skill)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
