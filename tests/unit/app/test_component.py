"""A component beside an API server that is not ours waits for it, and not in a tight loop."""

import asyncio
import logging

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from kubecluster.network import LinkedTransport, Place
from kubeserver.inprocess import ADMIN
from leeward.app.component import meet
from tests.kubeserver.api_world import api_world
from tests.world.test_detection import answers, status


def test_l5_a_control_plane_that_refuses_is_asked_seldom_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "leeward.app.component")

    async def story() -> None:
        async with api_world() as world:
            place, asked = Place(), list[str]()
            place.put(world.server)
            place.witness = lambda request, _: asked.append(request.path)
            answers(place, lambda _: status(403, "Forbidden"))
            meeting = asyncio.ensure_future(meet(Client(LinkedTransport(place, ADMIN))))
            await asyncio.sleep(600)
            assert not meeting.done()
            assert len(asked) == 1 + 5 + (600 - 31) // 30, "pauses of 1, 2, 4, 8, 16 and then 30 s"
            place.audit = None
            await asyncio.sleep(30)
            assert meeting.done()

    run_virtual(story())
    assert caplog.messages == [
        "waiting for the control plane: Forbidden",
        "waiting for the control plane: it works again",
    ]
