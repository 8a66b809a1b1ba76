"""Pictures of a world for stories about answers, and the proof that taking one writes nothing."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.answers.decisions import expected_of, explained, fleet_of, snapshot_of
from leeward.answers.fleet_state import BindingName, FleetState, decode_state, encode_state
from leeward.answers.imagined import ImaginedChange
from leeward.answers.missing_dependencies import DependencyNames
from leeward.answers.reading import read_fleet
from leeward.answers.redaction import redacted_binding, redacted_cluster_binding
from leeward.answers.what_if import what_if
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS, WORKS
from leeward.sim.world import World

SOON, LATER = timedelta(), timedelta(hours=1)


async def picture(world: World) -> FleetState:
    """Picture of the world now, through its file, so that nothing can be said from memory."""
    state = decode_state(encode_state(await read_fleet(world.client, world.clock, "world")))
    await assert_decided_alike(world, state)
    return state


async def assert_decided_alike(world: World, state: FleetState) -> None:
    """Asserts that what pictures leave out of bindings and Works is read by no decision, now or in an outage."""
    works = (await world.client.list(WORKS)).items
    bindings = (await world.client.list(RESOURCE_BINDINGS)).items
    wide = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
    whole, kept = (
        FleetState(msgspec.structs.replace(state.recorded, works=w, bindings=b, cluster_bindings=c))
        for w, b, c in (
            (works, bindings, wide),
            (
                tuple(map(DependencyNames((*bindings, *wide), messages=True).keep, works)),
                tuple(redacted_binding(each, messages=True) for each in bindings),
                tuple(redacted_cluster_binding(each, messages=True) for each in wide),
            ),
        )
    )
    for key in whole.bindings:
        for after in (SOON, LATER):
            assert _decided(kept, key, after) == _decided(whole, key, after), f"{key} is decided by what is left out"
    for name in whole.clusters:
        change = ImaginedChange(fails=frozenset({name}), recover_after_seconds=LATER.total_seconds())
        assert what_if(kept, change) == what_if(whole, change), f"what the loss of {name} does follows from more"


def _decided(state: FleetState, key: BindingName, after: timedelta) -> object:
    fleet = fleet_of(state, expected_of(state).values() if after else None)
    return explained(snapshot_of(state, key, fleet, state.as_of + after)).decision


class Requests:
    """All requests of the administrator to the control plane from now on."""

    def __init__(self, world: World) -> None:
        self.methods: list[str] = []
        world.place.audit = self._audit

    async def _audit(self, request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.headers.get("user-agent") == "leeward":
            self.methods.append(request.method)
        return await answer()
