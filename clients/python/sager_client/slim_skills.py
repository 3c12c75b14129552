"""A local copy of the slim skills: follows the compacted topic, answers from memory."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from .connection import Connection
from .errors import BrokerUnreachable
from .follower import Follower
from .producer import connection_of
from .schemas import BadRecord, SlimSkill, compound_key, decode

READY_SECONDS = 5.0
"""How long a start waits for the broker: enough for one that answers, short for an app that can run without one."""
WAIT_SECONDS = 30.0
OnSkill = Callable[[SlimSkill], None]

logger = logging.getLogger("sager_client")


class SlimSkills:
    """All slim skills of a deployment, as of now. One per process, for its life; safe to share between threads.

        with SlimSkills() as skills:
            skills.get("ann", "films")  # 'likes: sci-fi | style: prefers 2010s'

    It reads the topic from its beginning in a thread, without a consumer group, so that any number of apps can follow
    it. Entering waits up to five seconds until the whole topic is read. Without a broker it starts empty, logs a
    warning with the cause, and fills when the broker is there; see `ready` and `wait`.

    Args:
        bootstrap: Kafka's bootstrap servers; by default `SAGER_BOOTSTRAP`.
        connection: all settings of the connection, instead; by default those of the environment.
        on_change: called with every new slim skill, in the reading thread. Its errors are logged.
        on_removed: called with every slim skill that is gone, as when its user was erased.

    Raises:
        Misconfigured: a setting is wrong.
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
        self._held: dict[bytes, SlimSkill] = {}
        self._texts: dict[str, dict[str, str]] = {}
        """The answers of `get` by domain and user: with a million users, more look-ups miss the processor's cache."""
        self._passing: set[tuple[str, str]] = set()
        """Domain and user of each skill with temporary words, which end by the clock."""
        self._unseen: set[bytes] = set()
        """Keys of the topic before it was replaced that have not come again."""
        self.follower = Follower(
            connection_of(bootstrap, connection),
            SlimSkill.TOPIC,
            self._take,
            on_replaced=self._on_replaced,
            on_caught_up=self._on_caught_up,
        )
        self._is_late = False

    def get(self, user_id: str, domain: str, session_id: str | None = None) -> str:
        """Return the text to inject into this user's prompt; empty while nothing is known about them.

        Temporary words are in it until they end, `likes: noir | now: no sci-fi`; those of a session only with its
        `session_id`, while it is the user's newest and lasts.
        """
        if session_id is not None or (self._passing and (domain, user_id) in self._passing):
            skill = self.skill(user_id, domain)
            return "" if skill is None else skill.text_at(datetime.now(UTC), session_id)
        users = self._texts.get(domain)
        return users.get(user_id, "") if users else ""

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """Return the whole slim skill, with its version and token count."""
        return self._held.get(compound_key(user_id, domain))

    def __len__(self) -> int:
        return len(self._held)

    @property
    def ready(self) -> bool:
        """True once the whole topic has been read; until then users may be missing."""
        return self.follower.ready

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Follow the topic, and wait up to `seconds` until all of it is read.

        An unreachable broker is no error: the answers are empty, a warning names the cause, and reading continues.

        Raises:
            Closed: `close` was called.
        """
        self.follower.start()
        try:
            self.follower.wait(seconds)
        except BrokerUnreachable as error:
            self.on_late(error)
        except BaseException:
            self.close()
            raise
        return self

    def wait(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the whole topic is read, for programs that must not answer earlier.

        Raises:
            BrokerUnreachable: it took longer than `seconds`; the message names the cause.
        """
        self.follower.wait(seconds)

    def on_late(self, error: BrokerUnreachable) -> None:
        """Log that the start continues without all slim skills."""
        self._is_late = True
        logger.warning("%s. Going on with the %d slim skills read so far; reading continues", error, len(self))

    def close(self) -> None:
        """End the reading thread; the skills stay readable."""
        self.follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._remove(key)
            return
        try:
            skill = decode(SlimSkill, value)
        except BadRecord:
            return  # the materializer, which reads this topic too, dead-letters it
        if key != compound_key(skill.user_id, skill.domain):
            return  # under another user's key it would outlive the tombstone
        held = self._held.get(key)
        known = held is not None and key not in self._unseen
        self._unseen.discard(key)
        # A repeated older one. In a topic that was replaced, versions start again.
        if known and held is not None and held.skill_version > skill.skill_version:
            return
        self._held[key] = skill
        self._texts.setdefault(skill.domain, {})[skill.user_id] = skill.text
        if skill.session_id is None and skill.session_text:
            self._passing.add((skill.domain, skill.user_id))
        else:
            self._passing.discard((skill.domain, skill.user_id))
        if held != skill:
            self._notify(self._on_change, skill)

    def _remove(self, key: bytes) -> None:
        self._unseen.discard(key)
        gone = self._held.pop(key, None)
        if gone is not None:
            users = self._texts[gone.domain]
            users.pop(gone.user_id, None)
            self._passing.discard((gone.domain, gone.user_id))
            if not users:
                del self._texts[gone.domain]
            self._notify(self._on_removed, gone)

    def _on_replaced(self) -> None:
        self._unseen = set(self._held)

    def _on_caught_up(self) -> None:
        for key in tuple(self._unseen):
            self._remove(key)
        if self._is_late:
            self._is_late = False
            logger.info("the slim skills are read now: %d of them", len(self))

    @staticmethod
    def _notify(callback: OnSkill | None, skill: SlimSkill) -> None:
        if callback is None:
            return
        try:
            callback(skill)
        except Exception:
            logger.exception("a callback of SlimSkills raised")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
