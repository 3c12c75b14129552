"""A local copy of the slim skills, which follows their topic."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from .connection import Connection, connection_of
from .errors import BrokerUnreachable
from .follower import TopicFollower
from .schemas import BadRecord, SlimSkill, compound_key, decode

# The wait for the broker at start: short, as an app can run without slim skills.
READY_SECONDS = 5.0
WAIT_SECONDS = 30.0
OnSkill = Callable[[SlimSkill], None]

logger = logging.getLogger("sager_client")


class SlimSkills:
    """All slim skills of a deployment; thread-safe, one per process.

        with SlimSkills() as skills:
            skills.get("ann", "films")  # 'likes: sci-fi | style: prefers 2010s'

    A thread follows the topic without a consumer group, so that any number of apps can. Entering waits up to five
    seconds until the whole topic is read. Without a broker it starts empty and logs a warning; see `ready` and `wait`.

    With asyncio, write `async with`: entering and leaving then wait without blocking the event loop.

    Args:
        bootstrap: Kafka's bootstrap servers; by default `SAGER_BOOTSTRAP`.
        connection: all settings of the connection; by default from the environment.
        on_change: called with every new slim skill, in the reading thread, or in the event loop after `async with`.
            Its errors are logged.
        on_removed: called like `on_change` with every removed slim skill, such as an erased user's.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        connection: Connection | None = None,
        on_change: OnSkill | None = None,
        on_removed: OnSkill | None = None,
    ) -> None:
        self._on_change, self._on_removed = on_change, on_removed
        self._loop: asyncio.AbstractEventLoop | None = None
        # By the record's key.
        self._current: dict[bytes, SlimSkill] = {}
        # The skills of the topic as it is read; another dictionary than `_current` while it is read again.
        self._read = self._current
        self._is_late = False
        self._follower = TopicFollower(
            connection_of(bootstrap, connection),
            SlimSkill.TOPIC,
            self._take,
            on_start=self._reread,
            on_caught_up=self._on_caught_up,
        )

    def get(self, user_id: str, domain: str, session_id: str | None = None) -> str:
        """Return the text for this user's prompt; empty while nothing is known.

        Temporary words are in it until they end, `likes: noir | now: no sci-fi`; those of a session only with its
        `session_id`, while it is the user's newest and lasts.
        """
        skill = self.skill(user_id, domain)
        return "" if skill is None else skill.text_at(datetime.now(UTC), session_id)

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """Return the whole slim skill, with its version and token count."""
        return self._current.get(compound_key(user_id, domain))

    def __len__(self) -> int:
        return len(self._current)

    @property
    def ready(self) -> bool:
        """True once the whole topic was read."""
        return self._follower.ready

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Follow the topic, and wait until all of it is read.

        An unreachable broker is no error: the answers are empty, a warning names the cause, and reading continues.
        """
        self._follower.start()
        try:
            self._follower.wait(seconds)
        except BrokerUnreachable as error:
            self._is_late = True
            logger.warning("%s. Going on with the %d slim skills read so far; reading continues", error, len(self))
        return self

    def wait(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the whole topic is read.

        Raises:
            BrokerUnreachable: it took longer than `seconds`; the message names the cause.
        """
        self._follower.wait(seconds)

    def close(self) -> None:
        """End the reading thread; the skills stay readable."""
        self._follower.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _take(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._put(key, None)
            return
        try:
            skill = decode(SlimSkill, value)
        except BadRecord:
            return  # the materializer dead-letters it
        if key != compound_key(skill.user_id, skill.domain):
            return  # under another key it would outlive the user's tombstone
        read = self._read.get(key)
        if read is None or read.skill_version <= skill.skill_version:  # otherwise a repeated older version
            self._put(key, skill)

    def _put(self, key: bytes, skill: SlimSkill | None) -> None:
        before = self._read.pop(key, None) if skill is None else self._read.get(key)
        if skill is not None:
            self._read[key] = skill
        if self._read is self._current:
            self._report(before, skill)

    def _reread(self) -> None:
        if self._current:
            self._read = {}

    def _on_caught_up(self) -> None:
        before, self._current = self._current, self._read
        if before is not self._current:
            for key in (*before, *(self._current.keys() - before.keys())):
                self._report(before.get(key), self._current.get(key))
        if self._is_late:
            self._is_late = False
            logger.info("the slim skills are read now: %d of them", len(self))

    def _report(self, before: SlimSkill | None, after: SlimSkill | None) -> None:
        callback, skill = (self._on_removed, before) if after is None else (self._on_change, after)
        if callback is None or skill is None or before == after:
            return
        if self._loop is None:
            _call(callback, skill)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_call, callback, skill)


def _call(callback: OnSkill, skill: SlimSkill) -> None:
    try:
        callback(skill)
    except Exception:
        logger.exception("a callback of SlimSkills raised")
