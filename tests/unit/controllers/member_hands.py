"""The objects of one member in the hands of their controller, with what it tells of them."""

from collections.abc import Awaitable, Callable
from typing import Any

from kubeapi.meta import Manifest
from leeward.api.names import WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution.member_objects import MemberObjects
from leeward.controllers.execution.object_removal import ObjectRemoval
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.core.execution.ownership import stamp
from leeward.core.execution.settled import is_carried_out
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CONFIG_MAPS, MEMBER, SPACE, Desk, play

PATH = "/api/v1/namespaces/default/configmaps"
OF_WORK = {WORK_NAMESPACE_ANNOTATION: SPACE, WORK_NAME_ANNOTATION: "web"}


class Hands:
    """The objects of the member, and what was told of them."""

    def __init__(self, desk: Desk, works: MemberWorks) -> None:
        self.desk = desk
        self.added: list[str] = []
        self.written: list[str] = []
        self.works = works
        self.failing: set[str] = set()
        backlinks = works.backlinks(self._add, self.failing.__contains__, is_carried_out)
        self.objects = MemberObjects(
            desk.plane, desk.member, works, backlinks, lambda work: self.written.append(work.name)
        )
        self.removal = ObjectRemoval(
            desk.plane, desk.member, works, backlinks, self.objects, ReturnedCopies(desk.plane)
        )

    def _add(self, name: str, _: bool) -> None:
        self.added.append(name)

    async def work(self, *, color: str = "red", name: str = "web", **fields: Any) -> tuple[Work, Manifest]:
        """A Work with one ConfigMap `colors`, and that."""
        manifest = stamp(colors(color), SPACE, name)
        work = await self.desk.work(name, workload={"manifests": [manifest]}, **fields)
        return work, manifest

    async def change(self, color: str, name: str = "web") -> tuple[Work, Manifest]:
        """Changes the contents of the Work."""
        manifest = stamp(colors(color), SPACE, name)
        patch = {"spec": {"workload": {"manifests": [manifest]}}}
        return await self.desk.client.patch(WORKS, name, patch, SPACE), manifest

    async def going(self, name: str = "web") -> Work:
        """The Work is being deleted from now on."""
        await self.desk.client.patch(WORKS, name, {"metadata": {"finalizers": ["example.com/keep"]}}, SPACE)
        await self.desk.client.delete(WORKS, name, SPACE)
        return await self.desk.seen(name)

    async def there(self) -> Manifest:
        """The ConfigMap as it is in the member."""
        return await self.desk.there.get(CONFIG_MAPS, "colors", "default")

    def counted(self, write: str, result: str = "success") -> float:
        labels = {"result": result, "apiversion": "v1", "kind": "ConfigMap", "member_cluster": MEMBER}
        way = "from" if write == "delete" else "to"
        found = self.desk.plane.metrics.registry.get_sample_value(f"{write}_resource_{way}_cluster", labels)
        return found or 0.0


def colors(color: str = "red", **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colors", "namespace": "default", **metadata},
        "data": {"color": color},
    }


def tell(story: Callable[[Hands], Awaitable[None]]) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        works = MemberWorks(desk.plane, desk.member)
        await works.get("web")
        await desk.member.server.informers.of(CONFIG_MAPS).wait_synced()
        hands = Hands(desk, works)
        desk.wire.writes()
        desk.line.writes()
        await story(hands)

    play(prepared)
