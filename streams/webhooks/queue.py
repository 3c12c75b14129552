"""What an endpoint has not been told yet: the newest of each person and domain, and one of these at a time."""

from collections.abc import Iterable

from streams.webhooks.messages import News


class Queue:
    """Bounded, and in the order in which keys came.

    Args:
        most: how many keys it holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[bytes, News] = {}
        self._flying: dict[bytes, News] = {}
        self._refused: dict[bytes, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self._waiting) + len(self._flying)

    @property
    def is_full(self) -> bool:
        """Whether no further key has room."""
        return len(self._waiting) >= self._most

    def offer(self, news: News) -> bool:
        """Takes news, in the place of older news of that key; False if there is no room."""
        known = self._waiting.get(news.key)
        if known is not None and known.offset >= news.offset:
            return True
        if known is None and self.is_full:
            return False
        flying = self._flying.get(news.key)
        if flying is None or flying.offset < news.offset:
            self._waiting[news.key] = news
            self._refused.pop(news.key, None)
        return True

    def take(self, now: float) -> News | None:
        """The next to be sent: none whose key is on its way, or waits after a refusal; `now` is monotonic seconds."""
        for key, news in self._waiting.items():
            if key not in self._flying and (key not in self._refused or self._refused[key][1] <= now):
                del self._waiting[key]
                self._flying[key] = news
                return news
        return None

    def done(self, news: News) -> None:
        """It was delivered, or given up on."""
        self._flying.pop(news.key, None)
        self._refused.pop(news.key, None)

    def again(self, news: News) -> None:
        """It was not delivered, and is tried again unless there is newer news."""
        self._flying.pop(news.key, None)
        if news.key not in self._waiting:
            self._waiting = {news.key: news, **self._waiting}

    def refused(self, news: News, due: float) -> None:
        """It was refused, and is tried again at that moment unless there is newer news."""
        self._flying.pop(news.key, None)
        if news.key not in self._waiting:
            self._waiting[news.key] = news
            self._refused[news.key] = (self.refusals(news) + 1, due)

    def refusals(self, news: News) -> int:
        """How often it was refused."""
        return self._refused.get(news.key, (0, 0.0))[0]

    def clear(self) -> None:
        """Drops what waits; what is on its way ends by itself."""
        self._waiting.clear()
        self._refused.clear()

    def lowest(self, following: dict[int, int]) -> dict[int, int]:
        """The offset of each partition before which everything was told.

        Args:
            following: the next offset to be read of each partition.
        """
        lowest = dict(following)
        for news in self._all():
            lowest[news.partition] = min(news.offset, lowest.get(news.partition, news.offset))
        return lowest

    def oldest_ms(self) -> int | None:
        """When the oldest news was first read, in milliseconds since 1970; None if there is none."""
        return min((news.heard_ms for news in self._all()), default=None)

    def _all(self) -> Iterable[News]:
        yield from self._waiting.values()
        yield from self._flying.values()
