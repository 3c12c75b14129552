"""The health of the API's process."""

from streams.http.exceptions import TokensUnusable
from streams.http.live import Live
from streams.http.tokens import TokensFile
from streams.settings import Settings


class ApiHealth:
    """Answers `/live` and `/ready` for `sager serve`. Thread-safe.

    Args:
        settings: the paths of the tokens file and the snapshot.
        tokens: the tokens file.
    """

    def __init__(self, settings: Settings, tokens: TokensFile) -> None:
        self._settings, self._tokens = settings, tokens
        self._doing = "starting"
        self._live: Live | None = None

    def asks(self, live: Live) -> None:
        """Names what has to be read before slim skills can be answered."""
        self._live = live

    def serves(self) -> None:
        """Marks the API as ready: it answers requests."""
        self._doing = ""

    def ends(self) -> None:
        """Marks the shutdown: no more requests are accepted."""
        self._doing = "shutting down"

    def why_not_live(self) -> list[str]:
        """Why only a restart helps. Slow work runs in threads and has a time limit."""
        return ["topics are not followed any more"] if self._live is not None and self._live.has_failed else []

    def why_not_ready(self) -> list[str]:
        """Why requests about users fail; None while they work."""
        reasons = [self._doing] if self._doing else []
        try:
            self._tokens.all()
        except TokensUnusable as error:
            reasons.append(str(error))
        if not self._settings.duckdb_file.exists():
            reasons.append("there is no snapshot yet")
        if self._live is not None and not self._live.is_ready:
            reasons.append("reading the slim skills")
        return reasons
