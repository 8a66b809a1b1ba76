"""An agent of ours lives with the rights that `karmadactl register` gives: it may update, and patches little."""

from collections import Counter

import pytest

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeapi.transport import Request
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX
from leeward.manager.choice import Choice
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.migration.karmadactl import RBAC, roles_of_registered
from tests.world.stories import apply, by_weight, deployment, identities, policy, ready_replicas, tasks

AGENT = AGENT_USER_PREFIX + "member3"
WEB = "web-deployment"


class Registered(World):
    """A control plane in which agents have the rights of `karmadactl register`, and nobody gives them others."""

    async def _start_apiserver(self) -> None:
        await super()._start_apiserver()
        kinds = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        resources = {k: Resource.of_manifests(f"{RBAC}/v1", k.lower() + "s", k, k.startswith("Role")) for k in kinds}
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            await self.client.delete(resources[kind], AGENT_GROUP)
        await self.client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name="karmada-es-member3")))
        for manifest in roles_of_registered("member3"):
            await self.client.create(resources[manifest["kind"]], manifest, manifest["metadata"].get("namespace", ""))


@pytest.mark.long
def test_an_agent_of_ours_lives_with_the_rights_of_karmadactl_register() -> None:
    """An agent joins, reports, carries out Works, is lost and comes back, takes back what has moved, lets a Work go."""
    asked: Counter[tuple[str, str]] = Counter()

    def note(request: Request, user: User) -> None:
        if user.name == AGENT:
            asked[request.method, request.path] += 1

    async def main() -> None:
        settings = ManagerSettings(controllers=Choice(("*", "-agentAccess")))
        fleet = {"member1": "Push", "member2": "Push", "member3": "Pull"}
        async with Registered(fleet, Timing.karmada(), manager=settings) as world:  # pyright: ignore[reportArgumentType]
            world.place.witness = note
            await world.until(lambda: all(map(world.is_ready, fleet)), 60)
            await apply(world.client, deployment("web", 4), policy("web", by_weight({"member2": 1, "member3": 1})))
            await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 2}, 60)
            await world.sleep(30)
            assert await ready_replicas(world, "member3", "web") == 2
            before = await identities(world, "web", ["member2"])
            await world.member("member3").stop()
            await world.until(lambda: world.assigned(WEB) == {"member2": 4} and not tasks(world, WEB), 1_200)
            await world.member("member3").start()
            await world.until(lambda: world.is_ready("member3"), 120)
            await world.sleep(60)
            assert await ready_replicas(world, "member3", "web") == -1
            assert await ready_replicas(world, "member2", "web") == 4
            assert (await identities(world, "web", ["member2"]))["member2"][0] == before["member2"][0]

    run_virtual(main())
    status, lease, works = "clusters/member3/status", "leases/member3", "namespaces/karmada-es-member3/works/"
    for what in (status, lease, works):
        assert times(asked, "PUT", what) > 0
    assert times(asked, "PATCH", lease) < times(asked, "PUT", lease) / 5, "what is refused is not asked again each time"
    assert not times(asked, "DELETE", "")


def times(asked: Counter[tuple[str, str]], method: str, what: str) -> int:
    return sum(count for (verb, path), count in asked.items() if verb == method and what in path)
