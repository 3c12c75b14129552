"""A local copy of the slim skills: follows the compacted topic, answers from memory."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from .connection import Connection
from .events import reached_by
from .follower import Follower
from .schemas import BadRecord, SlimSkill, compound_key, decode

READY_SECONDS = 30.0
OnSkill = Callable[[SlimSkill], None]

logger = logging.getLogger("sager_client")


class SlimSkills:
    """All slim skills of a deployment, as of now. One per process, for its life; safe to share between threads.

        with SlimSkills() as skills:
            skills.get("ann", "films")  # 'likes: sci-fi | style: prefers 2010s'

    It reads the topic from its beginning in a thread, without a consumer group, so that any number of apps can follow
    it. Entering waits until all that was there has been read.

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        connection: all of how the deployment is reached, instead; by default what the environment says.
        on_change: called with every slim skill that is new, in the reading thread. What it raises is logged.
        on_removed: called with every slim skill that is gone, as when its person was forgotten.

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
        """What `get` answers, by domain and user: with a million users, whatever else it touched would be out of the
        processor's cache."""
        self._unseen: set[bytes] = set()
        """Keys that the topic had before it was made anew, and has not had since."""
        self.follower = Follower(
            reached_by(bootstrap, connection),
            SlimSkill.TOPIC,
            self._take,
            anew=self._doubt_all,
            caught_up=self._remove_the_unseen,
        )

    def get(self, user_id: str, domain: str, session_id: str | None = None) -> str:
        """The text to inject into this user's prompt; empty while nothing is known of them.

        With a session: long term and session together, `likes: noir | now: westerns`, while it is the user's newest
        and lasts. Else the long term alone.
        """
        if session_id is not None and (said := self._of_session(user_id, domain, session_id)):
            return said
        users = self._texts.get(domain)
        return users.get(user_id, "") if users else ""

    def _of_session(self, user_id: str, domain: str, session_id: str) -> str:
        """What the slim skill says within this session; empty where it says no more than otherwise."""
        skill = self.skill(user_id, domain)
        if skill is None or skill.session_id != session_id or skill.session_until is None:
            return ""
        return skill.session_text if datetime.now(UTC) < skill.session_until else ""

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """The whole slim skill, with its version and token count."""
        return self._held.get(compound_key(user_id, domain))

    def __len__(self) -> int:
        return len(self._held)

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Begin to follow, and wait until all that is on the topic has been read.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
            Closed: `close` was called.
        """
        self.follower.start()
        try:
            self.follower.wait(seconds)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the reading thread; what was read can still be asked for."""
        self.follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._remove(key)
            return
        try:
            skill = decode(SlimSkill, value)
        except BadRecord:
            # Not ours to dead-letter: the materializer, which reads this topic too, does that.
            return
        if key != compound_key(skill.user_id, skill.domain):
            # Under another's key it would stand for two people, and outlive the tombstone of either.
            return
        held = self._held.get(key)
        known = held is not None and key not in self._unseen
        self._unseen.discard(key)
        # A repeated delivery of an older one. In a topic that was made anew, versions begin anew.
        if known and held is not None and held.skill_version > skill.skill_version:
            return
        self._held[key] = skill
        self._texts.setdefault(skill.domain, {})[skill.user_id] = skill.text
        if held != skill:
            self._tell(self._on_change, skill)

    def _remove(self, key: bytes) -> None:
        self._unseen.discard(key)
        gone = self._held.pop(key, None)
        if gone is not None:
            users = self._texts[gone.domain]
            users.pop(gone.user_id, None)
            if not users:
                del self._texts[gone.domain]
            self._tell(self._on_removed, gone)

    def _doubt_all(self) -> None:
        self._unseen = set(self._held)

    def _remove_the_unseen(self) -> None:
        for key in tuple(self._unseen):
            self._remove(key)

    @staticmethod
    def _tell(whom: OnSkill | None, skill: SlimSkill) -> None:
        if whom is None:
            return
        try:
            whom(skill)
        except Exception:
            logger.exception("a callback of SlimSkills raised")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
