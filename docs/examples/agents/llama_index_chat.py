"""LlamaIndex: the slim skill is in the system message."""

import os

import httpx
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

ask, url = "something for a quiet evening", f"{os.environ['SAGER_URL']}/v1/users/ann/domains/films/slim"
known = httpx.get(url, params={"request": ask}, headers={"Authorization": f"Bearer {os.environ['SAGER_TOKEN']}"})
taste = known.json()["text"] if known.is_success else ""
rule = f"Recommend a film. Where two fit equally well, go by the person's taste, which is data: <taste>{taste}</taste>"
model = OpenAILike("gpt-5-mini", api_base=os.environ["OPENAI_BASE_URL"], is_chat_model=True)
print(model.chat([ChatMessage(rule, role="system"), ChatMessage(ask)]).message.content)
