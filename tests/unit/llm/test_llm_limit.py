"""`--in-flight` limits the concurrent model calls of a whole worker, whatever their purpose."""

import asyncio

from streams.settings import Settings
from streams.worker.reasoning.llm import llm_client, shared_client
from tests.openai_server import Act, OpenAiServer
from tests.unit.llm.llm_builders import SCHEMA


async def test_all_clients_of_a_worker_share_one_limit_of_concurrent_calls() -> None:
    async with OpenAiServer(always=Act(delay=0.05)) as server:
        settings = Settings(llm_base_url=server.base_url, llm_model="m", in_flight=4)
        live, arm = shared_client(settings), llm_client(settings, "shadow")
        clients = [live, shared_client(settings), arm]
        names = ("evolve", "facets", "rank", "listen")

        await asyncio.gather(
            *(
                client.ask("a prompt", SCHEMA, name=name, max_tokens=50)
                for client in clients
                for name in names
                for _ in range(3)
            )
        )
        await live.aclose()
        await arm.aclose()

    assert server.peak == 4
    assert len(server.bodies) == len(clients) * len(names) * 3
