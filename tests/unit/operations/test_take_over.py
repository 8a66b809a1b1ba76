"""A take-over does not wait for members one after the other: those that are silent keep no standby from serving."""

import asyncio
import json

import pytest

from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, Request, Response
from leeward.api.cluster import Cluster
from leeward.core.hub_generation import ANOTHER_HUB, HUB_FENCE_CONDITION, HUB_GENERATION_ANNOTATION, NOT_FENCED
from leeward.operations.errors import OperationFailed
from leeward.operations.take_over import ALTOGETHER_SECONDS, take_over
from leeward.runtime.hub_fence import PATH
from tests.kubecluster.runtime.small_world import CLOCK, ScriptedTransport, response
from tests.unit.runtime.test_hub_fence import DONE, hub, member


class Hub(ScriptedTransport):
    """A control plane with these clusters."""

    def __init__(self, *names: str, reason: str = "", mode: str = "Push") -> None:
        super().__init__()
        told = {"conditions": [{"type": HUB_FENCE_CONDITION, "status": "False", "reason": reason}]} if reason else {}
        items = [{"metadata": {"name": name}, "spec": {"syncMode": mode}, "status": told} for name in names]
        self._clusters = response({"metadata": {}, "items": items})
        self.generation = "0"

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method == "PATCH":
            self.generation = json.loads(request.body)["metadata"]["annotations"][HUB_GENERATION_ANNOTATION]
        return hub(self.generation) if request.path == PATH else self._clusters


@pytest.mark.parametrize(("silent", "fenced"), [(150, ("alive",)), (450, ())])
def test_silent_members_are_asked_together_and_within_one_deadline(silent: int, fenced: tuple[str, ...]) -> None:
    async def reach(cluster: Cluster) -> Client:
        return Client(ScriptedTransport([member(), DONE] if cluster.name == "alive" else ()))

    async def main() -> None:
        started = asyncio.get_running_loop().time()
        plane = Hub(*(f"silent{number}" for number in range(silent)), "alive")
        done = await take_over(Client(plane), reach, CLOCK, Randomness(0), force=True)
        assert asyncio.get_running_loop().time() - started <= 2 * ALTOGETHER_SECONDS
        assert done.fenced == fenced
        assert len(done.away) == silent + 1 - len(fenced)

    run_virtual(main())


def test_a_member_that_answers_the_mark_with_an_error_is_not_told_as_fenced() -> None:
    async def reach(_: Cluster) -> Client:
        return Client(ScriptedTransport([member(), Response(500, b"")]))

    async def main() -> None:
        done = await take_over(Client(Hub("broken")), reach, CLOCK, Randomness(0), force=True)
        assert (done.fenced, list(done.away)) == ((), ["broken"])
        assert "HTTP 500" in done.away["broken"]

    run_virtual(main())


def test_a_member_that_obeys_another_hub_by_now_is_told_apart() -> None:
    """Another standby took over from the same copy, between the look at the member and the mark."""
    looks = iter([member(), member(hub="1/2:1999-01-01T00:00:00Z-x")])

    async def reach(_: Cluster) -> Client:
        return Client(ScriptedTransport([next(looks)]))

    async def main() -> None:
        done = await take_over(Client(Hub("member1")), reach, CLOCK, Randomness(0))
        assert (done.fenced, list(done.refusing), done.away) == ((), ["member1"], {})
        assert "from the same copy, and saw more members" in done.refusing["member1"]

    run_virtual(main())


def test_a_silent_member_that_is_said_to_obey_another_hub_is_taken_over_by_force_alone() -> None:
    """The hub before has come back; its members are behind a proxy that passes nothing on to it any more."""

    async def reach(_: Cluster) -> Client:
        return Client(ScriptedTransport())

    async def main() -> None:
        plane = Hub("member1", reason=ANOTHER_HUB)
        with pytest.raises(OperationFailed, match=r"obey another hub.*member1.*--force"):
            await take_over(Client(plane), reach, CLOCK, Randomness(0))
        assert plane.generation == "0", "nothing is raised"
        forced = await take_over(Client(plane), reach, CLOCK, Randomness(0), force=True)
        assert (list(forced.refusing), forced.away) == (["member1"], {}), "it may be fenced there as before"
        assert "silent now" in forced.refusing["member1"]
        told = await take_over(Client(Hub("member1", reason=NOT_FENCED)), reach, CLOCK, Randomness(0), force=True)
        assert list(told.away) == ["member1"]

    run_virtual(main())


@pytest.mark.parametrize(
    ("alive", "silent", "mode", "is_refused"),
    [(2, 1, "Push", False), (1, 1, "Push", True), (0, 1, "Push", True), (0, 2, "Pull", False), (0, 0, "Push", False)],
)
def test_a_machine_to_which_most_members_are_silent_may_be_the_one_that_is_cut_off(
    alive: int, silent: int, mode: str, *, is_refused: bool
) -> None:
    """The hub before may serve there, which this machine cannot reach, too."""

    async def reach(cluster: Cluster) -> Client:
        return Client(ScriptedTransport([member(), DONE] if cluster.name.startswith("alive") else ()))

    async def main() -> None:
        names = (*(f"alive{number}" for number in range(alive)), *(f"silent{number}" for number in range(silent)))
        plane = Hub(*names, mode=mode)
        if is_refused:
            with pytest.raises(OperationFailed, match=rf"^{alive} of {alive + silent} members answer.*give --force"):
                await take_over(Client(plane), reach, CLOCK, Randomness(0))
            assert plane.generation == "0", "nothing is raised"
        done = await take_over(Client(plane), reach, CLOCK, Randomness(0), force=is_refused)
        assert plane.generation.startswith(f"1/{alive}:")
        assert len(done.fenced) == alive

    run_virtual(main())
