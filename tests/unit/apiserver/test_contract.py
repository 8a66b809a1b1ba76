"""The recorded conversations with a kube-apiserver, all of them, against the embedded one."""

import pytest
from prometheus_client import CollectorRegistry

from leeward.apiserver.handler import ADMIN_GROUP, User
from leeward.apiserver.server import ApiServer
from leeward.apiserver.store import Store
from leeward.apiserver.store.memory import MemoryMedium
from leeward.loop.clock import VirtualClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.loop.virtual import run_virtual
from tests.contract import TOKEN, Player, conversations

TOPICS = sorted({conversation["topic"] for conversation in conversations()})


async def _play(topic: str) -> dict[str, list[str]]:
    async with Supervisor("contract") as supervisor:
        store = await Store.open(MemoryMedium(), supervisor)
        server = await ApiServer.start(
            store,
            VirtualClock(),
            Randomness(1),
            supervisor,
            metrics=CollectorRegistry(),
            tokens={TOKEN: User("admin", (ADMIN_GROUP,))},
            collectors=False,
        )
        player = Player(server, supervisor)
        await player.load_fixtures()
        chosen = [c for c in conversations() if c["topic"] == topic and not c.get("requires")]
        found = {conversation["id"]: await player.play(conversation) for conversation in chosen}
        await store.close()
        return {name: differences for name, differences in found.items() if differences}


@pytest.mark.parametrize("topic", TOPICS)
def test_it_answers_as_the_recorded_server_does(topic: str) -> None:
    assert run_virtual(_play(topic)) == {}
