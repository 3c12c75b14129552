"""The health of the API's process."""

from streams.http.exceptions import TokensUnusable
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

    def serves(self) -> None:
        """Marks the API as ready: it answers requests."""
        self._doing = ""

    def ends(self) -> None:
        """Marks the shutdown: no more requests are accepted."""
        self._doing = "shutting down"

    def why_not_live(self) -> list[str]:
        """Always live: slow work runs in threads and has a time limit."""
        return []

    def why_not_ready(self) -> list[str]:
        """Why requests about users fail; None while they work."""
        reasons = [self._doing] if self._doing else []
        try:
            self._tokens.all()
        except TokensUnusable as error:
            reasons.append(str(error))
        if not self._settings.duckdb_file.exists():
            reasons.append("there is no snapshot yet")
        return reasons
