"""Clients that controllers are made with: a write that waits for its turn is begun on the strength of a lease that
still holds when its turn comes (S8)."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from unittest import mock

import pytest

from controller_runtime.leader import Leadership, NotLeading
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from kubeclient.limits import Limit, RequestPace
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.app import assembly
from leeward.app.assembly import Assembly
from leeward.app.flags.settings import Limits, defaults_of
from leeward.manager.choice import Choice
from leeward.runtime.metrics import Metrics
from leeward.runtime.work_share import WHOLE
from tests.transports import Sent

ONE_IN_FIVE_SECONDS = Limit(per_second=0.2, burst=1)
MEMBER = Cluster(spec=ClusterSpec(sync_mode="Push"))
LIMITS = Limits(control_plane=ONE_IN_FIVE_SECONDS, members=ONE_IN_FIVE_SECONDS)


def clients_of(leadership: Leadership, sent: Sent, supervisor: Supervisor) -> tuple[Client, Client]:
    """Clients of the control plane and of a member, which are limited, as controllers have them."""
    settings = replace(defaults_of("serve"), limits=LIMITS)
    made = Assembly(settings, sent, RequestPace.of(LIMITS.control_plane), Metrics())
    with mock.patch.object(assembly, "ControllerManager") as manager, mock.patch.object(assembly, "transport_to") as to:
        to.return_value = sent
        made.make("test", {"lease": leadership}, Choice((), frozenset()), WHOLE, supervisor, AsyncExitStack())
        plane, connect, _ = manager.call_args.args
        return plane.client, connect(MEMBER, None)


@pytest.mark.parametrize("which", [0, 1], ids=["to the control plane", "to a member"])
def test_s8_a_write_whose_turn_comes_after_the_lease_has_ended_is_not_begun(which: int) -> None:
    async def story() -> None:
        sent, leadership = Sent(), Leadership(VirtualClock())
        async with Supervisor("test") as supervisor:
            client = clients_of(leadership, sent, supervisor)[which]
            leadership.extend(3)
            await client.raw("POST", "/first")
            with pytest.raises(NotLeading):
                await client.raw("POST", "/second")
            assert asyncio.get_running_loop().time() == 5
            assert sent.methods == ["POST"]

    run_virtual(story())


def test_the_limit_of_the_control_plane_is_shared_by_all_whom_the_process_makes() -> None:
    async def story() -> None:
        sent, leadership = Sent(), Leadership(VirtualClock())
        leadership.extend(60)
        pace = RequestPace.of(LIMITS.control_plane)
        made = Assembly(replace(defaults_of("serve"), limits=LIMITS), sent, pace, Metrics())
        async with Supervisor("test") as supervisor:
            with mock.patch.object(assembly, "ControllerManager") as manager:
                for name in ("one", "other"):
                    choice = Choice((), frozenset())
                    made.make(name, {name: leadership}, choice, WHOLE, supervisor, AsyncExitStack())
            for call in manager.call_args_list:
                await call.args[0].client.raw("POST", "/x")
            assert sent.instants == [0, 5]

    run_virtual(story())
