"""The whole pipeline on one machine."""

# In the data folder: `sager up` writes the token, and `sager mcp` reads it.
TOKEN_FILE = "token"  # noqa: S105 - a file's name
