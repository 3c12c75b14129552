"""OpenAI Agents SDK with MCP: the agent itself asks for the skill, and records what was taken."""

import asyncio
import os

from agents import Agent, Runner, set_default_openai_api
from agents.mcp import MCPServerStdio


async def _recommend(url: str, token: str) -> None:
    set_default_openai_api("chat_completions")
    env = {"SAGER_URL": url, "SAGER_TOKEN": token}
    async with MCPServerStdio({"command": "sager", "args": ["mcp"], "env": env}) as sager:
        agent = Agent("films", "Recommend a film. The domain is films.", model="gpt-5-mini", mcp_servers=[sager])
        print((await Runner.run(agent, "something for a quiet evening")).final_output)


asyncio.run(_recommend(os.environ["SAGER_URL"], os.environ["SAGER_TOKEN"]))
