"""Gives agents tools, resources and prompts over the Model Context Protocol; needs the extra `mcp`.

All of it calls the HTTP API, with the caller's own token: who may do what is the API's to say.
"""
