"""The recorded conversations with a kube-apiserver, all of them, against the embedded one."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.contract import TOKEN, Player, conversations, script

TOPICS = sorted({conversation["topic"] for conversation in conversations()})


async def _play(topic: str) -> dict[str, list[str]]:
    async with Supervisor("contract") as supervisor:
        store = await Store.open(MemoryMedium(), supervisor)
        server = await start_apiserver(
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


@pytest.mark.parametrize(("first", "second", "differs"), [("tool", "other", False), ("other", "other", True)])
def test_managers_are_compared_by_name_where_a_second_has_passed_between_them(
    first: str, second: str, differs: bool
) -> None:
    recorded = _managed(("other", "<time>"), ("tool", "<time>"))
    later = _managed((first, "2026-01-01T00:00:00Z"), (second, "2026-01-01T00:00:01Z"))
    assert bool(script.compare({"response": recorded}, later, script.Binder(), True)) == differs


def _managed(*managers: tuple[str, str]) -> dict[str, Any]:
    entries = [{"manager": name, "operation": "Update", "time": time} for name, time in managers]
    return {"status": 200, "headers": {}, "body": {"metadata": {"managedFields": entries}}}
