"""Tools, resources and prompts for agents over the Model Context Protocol; needs the extra `mcp`.

Each calls the HTTP API with the caller's own token: its scopes decide.
"""
