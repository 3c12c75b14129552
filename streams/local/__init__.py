"""The whole pipeline on one machine: the embedded broker, the processes, their readiness."""

# In the data folder: `sager up` writes the token, and `sager mcp` reads it.
TOKEN_FILE = "token"  # noqa: S105 - a file's name
