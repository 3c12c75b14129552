"""An endpoint that answers at once as OpenAI's chat and embeddings do, for a peer that asks both: no model inside.

    python -m benchmarks.peers.stub

It prints its base URL. An answer names one memory, the last choice that the prompt tells of; embeddings are fixed.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re

from aiohttp import web

DIMENSIONS = 1_536
DISTINCT = 64
TOOK = re.compile(r"I took [^.]+\.")
NEW = "## New Messages"


def _vectors() -> list[str]:
    """A few vectors, as JSON: making them is no part of what is measured."""
    rng = random.Random(1)
    return [json.dumps([round(rng.uniform(-1, 1), 6) for _ in range(DIMENSIONS)]) for _ in range(DISTINCT)]


VECTORS = _vectors()


async def chat(request: web.Request) -> web.Response:
    """One memory."""
    asked = await request.json()
    text = str(asked["messages"][-1]["content"])
    took = TOOK.findall(text.partition(NEW)[2] or text)
    memory = {"id": "0", "text": took[-1] if took else "Something was taken.", "attributed_to": "user"}
    answer = {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model", "stub"),
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": json.dumps({"memory": [memory]})},
            }
        ],
        "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 40, "total_tokens": len(text) // 4 + 40},
    }
    return web.json_response(answer)


async def embeddings(request: web.Request) -> web.Response:
    """A vector for each text."""
    asked = await request.json()
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    rows = ", ".join(
        f'{{"object": "embedding", "index": {index}, "embedding": {_vector(str(text))}}}'
        for index, text in enumerate(texts)
    )
    usage = '{"prompt_tokens": 1, "total_tokens": 1}'
    body = f'{{"object": "list", "model": "stub", "data": [{rows}], "usage": {usage}}}'
    return web.Response(text=body, content_type="application/json")


def _vector(text: str) -> str:
    return VECTORS[hashlib.blake2b(text.encode()).digest()[0] % DISTINCT]


async def serve() -> None:
    """Serve until the process is ended."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/embeddings", embeddings)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port = runner.addresses[0][:2]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serves."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    asyncio.run(serve())


if __name__ == "__main__":
    main()
