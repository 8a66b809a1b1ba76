"""Pictures of a world for stories about answers, and the proof that taking one writes nothing."""

from collections.abc import Callable

from kubeserver.handler import Response, StreamResponse
from leeward.answers.fleet_state import FleetState, decode_state, encode_state
from leeward.answers.reading import read_fleet
from leeward.client import Request
from leeward.sim.network import Answering
from leeward.sim.world import World


async def picture(world: World) -> FleetState:
    """Picture of the world now, through its file, so that nothing can be said from memory."""
    return decode_state(encode_state(await read_fleet(world.client, world.clock, "world")))


class Requests:
    """All requests of the administrator to the control plane from now on."""

    def __init__(self, world: World) -> None:
        self.methods: list[str] = []
        world.place.audit = self._audit

    async def _audit(self, request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.headers.get("user-agent") == "leeward":
            self.methods.append(request.method)
        return await answer()
