"""What the API's process knows of itself."""

from streams.http.exceptions import TokensUnusable
from streams.http.tokens import TokensFile
from streams.settings import Settings


class ApiHealth:
    """Asked by the threads that tell of health.

    Args:
        settings: where the tokens and the snapshot are.
        tokens: the file of tokens.
    """

    def __init__(self, settings: Settings, tokens: TokensFile) -> None:
        self._settings, self._tokens = settings, tokens
        self._doing = "starting"

    def serves(self) -> None:
        """Requests are answered."""
        self._doing = ""

    def ends(self) -> None:
        """No more requests are taken."""
        self._doing = "shutting down"

    def why_not_live(self) -> list[str]:
        """It is never stuck for good: what takes long is in threads, and has an end."""
        return []

    def why_not_ready(self) -> list[str]:
        """Why users cannot be asked for."""
        reasons = [self._doing] if self._doing else []
        try:
            self._tokens.all()
        except TokensUnusable as error:
            reasons.append(str(error))
        if not self._settings.duckdb_file.exists():
            reasons.append("there is no snapshot yet")
        return reasons
